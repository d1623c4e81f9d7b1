"""Revisions: the history of a WebApp's spec as ControllerRevisions, and the ConfigMaps that they need."""

import json
from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually


def revisions(scene: Scene, webapp: str = "web") -> dict[int, dict[str, Any]]:
    """Return the revisions of a WebApp by number."""
    found = scene.list("controllerrevision", f"coxswain.dev/webapp={webapp}")
    return {each["revision"]: each for each in sorted(found, key=lambda each: int(each["revision"]))}


def note(revision: dict[str, Any], name: str) -> str | None:
    """Return an annotation of the operator on a revision."""
    found: str | None = revision["metadata"]["annotations"].get(f"coxswain.dev/{name}")
    return found


def test_a_revision_records_the_spec_as_the_user_gave_it(scene: Scene) -> None:
    mark = scene.cluster.audit()
    webapp = scene.apply_ready()
    scene.settled(mark)
    (revision,) = revisions(scene).values()
    spec = {name: value for name, value in webapp["spec"].items() if name != "paused"}
    assert (revision["revision"], revision["data"]) == (1, {"spec": spec})
    assert revision["metadata"]["ownerReferences"][0]["uid"] == webapp["metadata"]["uid"]
    assert note(revision, "changed-by") == "kubectl-client-side-apply"
    assert note(revision, "changed-at") == webapp["metadata"]["creationTimestamp"]
    assert (note(revision, "render"), note(revision, "failed")) == ("1", None)
    assert note(revision, "ready-at") is not None
    assert scene.get("webapp")["status"]["revision"] == 1
    (entry,) = revision["metadata"]["managedFields"]
    assert (entry["manager"], entry["fieldsV1"]["f:data"]) == ("coxswain", {}), "the data is one value"


def test_a_creation_costs_two_requests_and_a_reconcile_without_differences_none(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    sent = scene.settled(mark)
    assert sent["patch controllerrevisions"] == 2, "the spec, and that it was Ready"
    again = scene.cluster.audit()
    scene.kubectl("annotate", "webapp", "web", "example.com/note=1")
    assert not scene.settled(again)


def test_going_back_takes_the_old_revision_to_the_newest_number(scene: Scene) -> None:
    scene.apply_ready()
    scene.apply_ready(spec={**SPEC, "config": {"GREETING": "hi"}})
    old = revisions(scene)[1]
    webapp = scene.apply_ready()
    found = revisions(scene)
    assert list(found) == [2, 3]
    assert found[3]["metadata"]["uid"] == old["metadata"]["uid"]
    assert (webapp["status"]["revision"], webapp["status"]["previousRevision"]) == (3, 2)


@pytest.mark.slow
def test_the_cause_of_a_change_is_not_that_of_the_next_one(scene: Scene) -> None:
    def cause(number: int) -> str | None:
        found: str | None = revisions(scene)[number]["metadata"]["annotations"].get("kubernetes.io/change-cause")
        return found

    scene.apply_ready()
    scene.apply_ready(spec={**SPEC, "config": {"GREETING": "hi"}})
    scene.kubectl("annotate", "webapp", "web", "kubernetes.io/change-cause=a shorter greeting")
    eventually(lambda: cause(2) == "a shorter greeting", "the cause follows")
    scene.apply_ready()
    assert cause(3) is None


def test_scaling_makes_no_revision_and_rejects_no_write(scene: Scene) -> None:
    scene.apply_ready()
    before = revisions(scene)
    scene.kubectl("scale", "webapp", "web", "--replicas=2")
    scene.ready()
    assert revisions(scene) == before
    scene.kubectl("annotate", "webapp", "web", "kubernetes.io/change-cause=two of them")
    cause = "kubernetes.io/change-cause"
    eventually(lambda: revisions(scene)[1]["metadata"]["annotations"].get(cause) == "two of them", "the cause follows")
    assert revisions(scene)[1]["data"] == before[1]["data"]


def _config_maps_named_by(scene: Scene) -> set[str]:
    """Return the ConfigMaps of the WebApp that the templates of its ReplicaSets name."""
    templates = json.dumps([each["spec"]["template"] for each in scene.list("replicaset")])
    every = {each["metadata"]["name"] for each in scene.list("configmap")} | set(_names_in(templates))
    return {name for name in every if f'"{name}"' in templates and name.startswith("web-")}


def _names_in(templates: str) -> list[str]:
    found: list[str] = []
    for template in json.loads(templates):
        for container in template["spec"]["containers"]:
            for variable in container.get("env", []):
                reference = variable.get("valueFrom", {}).get("configMapKeyRef")
                found += [reference["name"]] if reference else []
    return found


@pytest.mark.slow
def test_the_pods_of_each_old_replica_set_can_start(scene: Scene) -> None:
    for number in range(4):
        scene.apply_ready(spec={**SPEC, "config": {"GREETING": f"hello {number}"}})
    named = _config_maps_named_by(scene)
    assert len(named) == 4
    assert named == set(scene.names("configmap"))
    old = min(scene.list("replicaset"), key=lambda each: each["metadata"]["creationTimestamp"])
    # The Deployment's controller scales it down again; its pods exist meanwhile and start.
    scene.kubectl("scale", "replicaset", old["metadata"]["name"], "--replicas=1")
    mark = scene.cluster.audit()
    scene.settled(mark)
    assert set(scene.names("configmap")) == named


@pytest.mark.slow
def test_the_limit_bounds_revisions_and_config(scene: Scene) -> None:
    limited = {**SPEC, "rollout": {"revisionHistoryLimit": 1}}
    for number in range(4):
        scene.apply_ready(spec={**limited, "config": {"GREETING": f"hello {number}"}})
    eventually(lambda: list(revisions(scene)) == [3, 4], "old revisions are pruned")
    eventually(lambda: len(scene.names("configmap")) == 2, "their ConfigMaps are removed")
    assert _config_maps_named_by(scene) == set(scene.names("configmap"))


@pytest.mark.slow
def test_the_operator_records_nothing_twice_after_a_restart(scene: Scene) -> None:
    scene.apply_ready()
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    before = revisions(scene)
    scene.operator.stop()
    scene.operator.start()
    mark = scene.cluster.audit()
    scene.kubectl("annotate", "webapp", "web", "example.com/note=1")
    scene.settled(mark)
    assert revisions(scene) == before
