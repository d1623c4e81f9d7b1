"""Deletion of WebApps and namespaces, and recreation of WebApps with the same name."""

import json
from collections import Counter

from integration.scene import CHILDREN, SPEC, Scene, eventually, manifest


def uids(scene: Scene) -> dict[str, str]:
    return {kind: child["metadata"]["uid"] for kind, child in scene.children().items()}


def owners(scene: Scene) -> set[str]:
    return {child["metadata"]["ownerReferences"][0]["uid"] for child in scene.children().values()}


def test_children_go_with_their_webapp(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    scene.kubectl("delete", "webapp", "web")
    eventually(lambda: all(not scene.names(kind) for kind in (*CHILDREN, "pod")), "all children are gone")
    assert scene.settled(mark) == Counter(), "the operator sends nothing"


def test_foreground_deletion_is_not_undone_while_the_webapp_is_going(scene: Scene) -> None:
    scene.apply_ready()
    # A foreign finalizer keeps the WebApp after the deletion of its children.
    scene.patch("webapp", {"metadata": {"finalizers": ["other.example/slow"]}})
    mark = scene.cluster.audit()
    scene.kubectl("delete", "webapp", "web", "--cascade=foreground", "--wait=false")
    eventually(lambda: all(not scene.names(kind) for kind in (*CHILDREN, "pod")), "all children are gone")
    assert scene.settled(mark) == Counter(), "nothing is created, no status is written"
    assert "deletionTimestamp" in scene.get("webapp")["metadata"]
    scene.patch("webapp", {"metadata": {"finalizers": None}})
    eventually(lambda: scene.find("webapp") is None, "the WebApp is gone")


def test_the_finalizer_of_a_child_is_named(scene: Scene) -> None:
    scene.apply_ready()
    scene.patch("service", {"metadata": {"finalizers": ["other.example/slow"]}})
    old = scene.get("service")["metadata"]["uid"]
    scene.kubectl("delete", "service", "web", "--wait=false")
    message = scene.not_ready("Terminating")["message"]
    assert "these finalizers: other.example/slow" in message
    assert f"kubectl describe service web -n {scene.namespace}" in message
    scene.patch("service", {"metadata": {"finalizers": None}})
    scene.ready()
    assert scene.get("service")["metadata"]["uid"] != old


def test_orphans_are_adopted_by_a_new_webapp(scene: Scene) -> None:
    old = scene.apply_ready()["metadata"]["uid"]
    before = uids(scene)
    scene.kubectl("delete", "webapp", "web", "--cascade=orphan")
    eventually(
        lambda: all("ownerReferences" not in child["metadata"] for child in scene.children().values()),
        "the children are orphans",
    )
    assert uids(scene) == before
    new = scene.apply_ready()["metadata"]["uid"]
    assert new != old
    assert owners(scene) == {new}
    assert uids(scene) == before


def test_a_recreated_webapp_gets_new_children(scene: Scene) -> None:
    old = scene.apply_ready()["metadata"]["uid"]
    before = uids(scene)
    scene.kubectl("delete", "webapp", "web")
    scene.kubectl("create", "-f", "-", input=json.dumps(manifest("web", SPEC)))
    new = scene.ready()["metadata"]["uid"]
    assert new != old

    def all_new() -> bool:
        found = [scene.list(kind, "coxswain.dev/webapp=web") for kind in CHILDREN]
        return all(len(items) == 1 and items[0]["metadata"]["uid"] not in before.values() for items in found)

    eventually(all_new, "no child of the old WebApp is left")
    assert owners(scene) == {new}
    scene.ready()


def test_a_namespace_goes_with_the_webapps_in_it(scene: Scene) -> None:
    quick = {**SPEC, "terminationGracePeriodSeconds": 1}
    scene.apply_all({f"web-{number}": quick for number in range(5)})
    scene.all_ready(5)
    mark = scene.cluster.audit()
    scene.cluster.kubectl("delete", "namespace", scene.namespace)
    # Each WebApp may report its terminating pods, and may miss one child deleted before it: one lookup, one retry.
    sent = scene.settled(mark)
    statuses, looks = sent.pop("patch webapps/status", 0), sent.pop("get webapps", 0)
    assert sum(sent.values()) <= 5, sent
    assert statuses <= 5 * 3
    assert looks <= 5 * 2
    scene.cluster.kubectl("create", "namespace", scene.namespace)
    scene.apply_ready("web-1")
