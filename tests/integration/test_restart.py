"""The operator stops and starts again: this costs no writes, and changes in the meantime are processed."""

import json
from collections import Counter
from signal import SIGKILL, SIGTERM, Signals
from urllib.parse import unquote

import pytest

from cluster import AuditEvent, AuditLog
from integration.scene import OPERATOR, SPEC, Scene, eventually, manifest, show

CHILDREN_AND_THEIRS = {
    *("serviceaccounts", "configmaps", "services", "networkpolicies", "deployments", "ingresses", "httproutes"),
    "controllerrevisions",
    *("replicasets", "pods"),
}
UNFILTERED = {"webapps", "poddisruptionbudgets", "horizontalpodautoscalers"}
STEADY = UNFILTERED | CHILDREN_AND_THEIRS
ENDED = {SIGTERM: 0, SIGKILL: -9}


def about_kinds(mark: AuditLog) -> list[AuditEvent]:
    """Return the operator's cluster-scoped requests, except discovery.

    Further pages of a LIST are left out: their number depends on the objects that other tests have left.
    """
    events = [event for event in mark.events() if event.user == OPERATOR and "continue=" not in event.uri]
    return [event for event in events if event.resource and not event.namespace]


@pytest.mark.parametrize("number", [SIGTERM, SIGKILL], ids=lambda number: number.name)
def test_a_restart_costs_a_converged_webapp_nothing(scene: Scene, number: Signals) -> None:
    mark = scene.cluster.audit()
    before = scene.apply_ready()
    scene.settled(mark)
    mark, everywhere = scene.cluster.audit(), scene.cluster.audit()
    assert scene.operator.stop(number) == ENDED[number]
    if number == SIGTERM:
        assert "ended" in scene.operator.logged().splitlines()[-1]
    scene.operator.start()
    assert scene.settled(mark) == Counter()
    events = about_kinds(everywhere)
    requests = Counter((event.verb, event.resource) for event in events)
    show(f"a restart after {number.name}", Counter({" ".join(key): count for key, count in requests.items()}))
    assert {resource for _, resource in requests} == STEADY
    assert {verb for verb, _ in requests} == {"list", "watch"}
    assert all(count <= 2 for count in requests.values())
    listed = [event for event in events if event.verb == "list"]
    versions = Counter(
        event.resource for event in listed if "fieldSelector=metadata.name=NOTHING" in unquote(event.uri)
    )
    assert versions == Counter(STEADY), "Kopf's LIST, used only for its version"
    assert Counter(event.resource for event in listed) == versions + versions, "and the resync's"
    # Of other kinds the operator reads only labelled objects. A user's autoscaler or disruption budget for our pods has
    # no label, so those kinds are read completely.
    unfiltered = [event for event in events if "labelSelector=coxswain.dev/webapp" not in unquote(event.uri)]
    assert {event.resource for event in unfiltered} == UNFILTERED
    assert scene.get("webapp") == before


def test_changes_while_the_operator_is_stopped_are_processed_at_the_start(scene: Scene) -> None:
    names = ["changed", "child-deleted", "child-edited", "recreated", "deleted"]
    scene.apply_all(dict.fromkeys(names, SPEC))
    scene.all_ready(len(names))
    old = scene.get("webapp", "recreated")["metadata"]["uid"]
    scene.operator.stop()
    scene.apply("changed", {**SPEC, "image": "registry.example/web:2"})
    scene.apply("created")
    scene.kubectl("delete", "service", "child-deleted")
    scene.kubectl("set", "image", "deployment/child-edited", "app=registry.example/other:1")
    scene.kubectl("label", "service", "child-edited", "coxswain.dev/webapp-")
    scene.kubectl("delete", "webapp", "deleted", "recreated")
    scene.kubectl("create", "-f", "-", input=json.dumps(manifest("recreated", SPEC)))
    scene.operator.start()
    scene.all_ready(len(names))
    eventually(lambda: image(scene, "changed") == "registry.example/web:2", "the new image")
    eventually(lambda: image(scene, "child-edited") == SPEC["image"], "the image is corrected")
    eventually(lambda: scene.names("service", "child-edited") == ["child-edited"], "the label is corrected")
    eventually(lambda: scene.find("service", "child-deleted"), "the Service is created again")
    eventually(lambda: scene.find("deployment", "deleted") is None, "children of a deleted WebApp are deleted")
    new = scene.ready("recreated")["metadata"]["uid"]
    assert new != old
    assert {child["metadata"]["ownerReferences"][0]["uid"] for child in scene.children("recreated").values()} == {new}
    scene.all_ready(len(names))


def image(scene: Scene, name: str) -> str:
    found: str = scene.get("deployment", name)["spec"]["template"]["spec"]["containers"][0]["image"]
    return found
