"""Rollback after a failed rollout on the real API server, with the real Deployment controller."""

import json
from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually
from integration.test_pods import set_container
from integration.test_revisions import note, revisions

ROLLBACK = {"onFailure": "Rollback", "progressDeadlineSeconds": 2}
GOOD: dict[str, Any] = {**SPEC, "rollout": ROLLBACK}
BAD: dict[str, Any] = {
    **GOOD,
    "image": "registry.example/web:bad",
    "annotations": {"kwok.test/fate": "image-missing"},
    "config": {"GREETING": "broken"},
    "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
}


def rolled_back(scene: Scene) -> dict[str, Any]:
    """Wait until the WebApp is rolled back and its pods are complete; return it."""
    scene.not_ready("RolledBack")

    def complete() -> dict[str, Any] | None:
        webapp, counts = scene.get("webapp"), scene.get("deployment")["status"]
        done = counts.get("replicas") == counts.get("updatedReplicas") == counts.get("availableReplicas")
        return webapp if done and "is not healthy" not in scene.condition("Ready")["message"] else None

    return eventually(complete, "the earlier revision runs")


def template(scene: Scene) -> Any:
    return scene.get("deployment")["spec"]["template"]


def test_everything_goes_back_together_and_stays(scene: Scene) -> None:
    scene.apply_ready(spec=GOOD)
    before, service = template(scene), scene.get("service")["spec"]
    old = scene.list("replicaset")[0]["metadata"]["uid"]
    pods = {pod["metadata"]["uid"] for pod in scene.list("pod")}
    scene.apply(spec=BAD)
    status = rolled_back(scene)["status"]
    assert template(scene) == before
    assert scene.get("service")["spec"] == service
    assert pods <= {pod["metadata"]["uid"] for pod in scene.list("pod")}, "the old pods served all the time"
    (running,) = [each for each in scene.list("replicaset") if each["status"]["replicas"]]
    assert running["metadata"]["uid"] == old
    assert (status["revision"], status["previousRevision"], status["runningRevision"]) == (2, 1, 1)
    found = revisions(scene)
    assert "not found" in (note(found[2], "failed") or "")
    assert (note(found[2], "ready-at"), note(found[1], "failed")) == (None, None)
    assert scene.condition("RolledBack")["status"] == "True"
    assert scene.condition("Available")["status"] == "True"
    assert "kubectl coxswain undo web" in scene.condition("Ready")["message"]
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=3), "nothing flaps"
    assert [event["reason"] for event in scene.events()].count("RolledBack") == 1


@pytest.mark.slow
def test_a_new_spec_ends_it_and_an_undo_is_ready(scene: Scene) -> None:
    scene.apply_ready(spec=GOOD)
    scene.apply(spec=BAD)
    rolled_back(scene)
    webapp = scene.apply_ready(spec=GOOD)
    assert scene.condition("RolledBack") == {}
    assert (webapp["status"]["revision"], "runningRevision" in webapp["status"]) == (3, False)
    scene.apply(spec=BAD)
    assert rolled_back(scene)["status"]["runningRevision"] == 3


def test_a_command_that_cannot_be_started_is_rolled_back_at_once(scene: Scene) -> None:
    patient = {**GOOD, "rollout": {"onFailure": "Rollback"}}
    scene.apply_ready(spec=patient)
    bad = {**patient, "command": ["/nothing"], "annotations": {"kwok.test/fate": "never-ready"}}
    scene.apply(spec=bad)
    hash_of = "pod-template-hash"

    def new_pod() -> str | None:
        replica_sets = scene.list("replicaset")
        newest = max(replica_sets, key=lambda each: int(each["metadata"]["annotations"][REVISION]))
        pods = scene.list("pod", f"{hash_of}={newest['metadata']['labels'][hash_of]}")
        runs = [pod["status"].get("phase") for pod in pods] == ["Running"]
        return str(pods[0]["metadata"]["name"]) if runs and len(replica_sets) == 2 else None

    pod = eventually(new_pod, "the new revision has a pod")
    message = 'failed to create containerd task: exec: "/nothing": stat /nothing: no such file or directory'
    set_container(scene, pod, state={"waiting": {"reason": "RunContainerError", "message": message}}, restartCount=1)
    assert rolled_back(scene)["status"]["runningRevision"] == 1
    assert (note(revisions(scene)[2], "failed") or "").startswith("RunContainerError: Deployment web: ")


REVISION = "deployment.kubernetes.io/revision"


@pytest.mark.slow
def test_the_operator_restarts_during_a_rollback(scene: Scene) -> None:
    scene.apply_ready(spec=GOOD)
    before = template(scene)
    scene.apply(spec=BAD)
    eventually(lambda: scene.names("controllerrevision")[1:], "the new spec is recorded")
    scene.operator.stop()
    eventually(lambda: _timed_out(scene), "the rollout fails while no operator runs")
    scene.operator.start()
    rolled_back(scene)
    assert template(scene) == before
    scene.operator.stop()
    scene.operator.start()
    mark = scene.cluster.audit()
    scene.kubectl("annotate", "webapp", "web", "example.com/note=1")
    sent = scene.settled(mark)
    assert set(sent) <= {"get controllerrevisions"}, "the recorded spec is read again, and nothing is written"
    assert template(scene) == before


def _timed_out(scene: Scene) -> bool:
    conditions = scene.get("deployment")["status"].get("conditions", [])
    return any(each.get("reason") == "ProgressDeadlineExceeded" for each in conditions)


def test_an_undo_of_the_deployment_alone_is_reverted_with_the_right_command(scene: Scene) -> None:
    scene.apply_ready()
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    mark = scene.cluster.audit()
    scene.settled(mark)
    before = template(scene)["spec"]
    scene.kubectl("rollout", "undo", "deployment", "web")
    eventually(lambda: template(scene)["spec"] == before, "it is reverted")

    def event() -> str | None:
        notes = [each["note"] for each in scene.events() if each["reason"] == "DriftCorrected"]
        return next((each for each in notes if f"kubectl coxswain undo web -n {scene.namespace}" in each), None)

    assert "`kubectl rollout undo` changes the pods alone" in eventually(event, "an Event names the command")
    assert json.loads(scene.kubectl("get", "webapp", "web", "-o", "json"))["spec"]["image"] == "registry.example/web:2"
