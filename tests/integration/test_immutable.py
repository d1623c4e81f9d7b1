"""Immutable fields: objects are replaced if no traffic is lost, otherwise the status names the command for it."""

import json
from typing import Any

import pytest

from integration.adoptions import OUR_LABEL, command_in, pod_uids, relabelled, whole
from integration.scene import SPEC, Scene, eventually

OURS = f"{OUR_LABEL}=web"


def headless(wanted: bool, **more: Any) -> dict[str, Any]:
    return {**SPEC, "service": {"headless": wanted, **more}}


@pytest.mark.parametrize("first", [True, False], ids=["headless first", "headless later"])
def test_a_service_is_unchanged_until_a_person_deletes_it(scene: Scene, first: bool) -> None:
    scene.apply_ready(spec=headless(first))
    before = scene.get("service")
    assert (before["spec"]["clusterIP"] == "None") is first
    scene.apply(spec=headless(not first, sessionAffinity="ClientIP"))
    message = scene.not_ready("Immutable")["message"]
    assert "spec.clusterIP cannot be changed in place" in message
    assert scene.condition("Stalled")["status"] == "True"
    mark = scene.cluster.audit()
    assert scene.settled(mark).total() <= 2, "it stops writing"
    after = scene.get("service")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["clusterIP"] == before["spec"]["clusterIP"]
    assert after["spec"]["sessionAffinity"] == "ClientIP", "all other fields are applied"
    scene.kubectl(*command_in(message))
    webapp = scene.ready()
    assert (scene.get("service")["spec"]["clusterIP"] == "None") is not first
    assert webapp["status"]["url"] == f"http://web.{scene.namespace}.svc:8080"


def _made_anew(scene: Scene, kind: str, thing: dict[str, Any]) -> dict[str, Any]:
    """Replace a child by another object with its labels and owner reference, while no operator runs."""
    scene.operator.stop()
    before = scene.child(kind)
    metadata = {key: before["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    scene.kubectl("delete", kind, before["metadata"]["name"], "--cascade=orphan")
    scene.kubectl("create", "-f", "-", input=json.dumps({**thing, "metadata": metadata}))
    if kind == "deployment":
        eventually(
            lambda: scene.get(kind).get("status", {}).get("availableReplicas") == thing["spec"]["replicas"],
            "its controller has its pods",
        )
    return scene.get(kind, metadata["name"])


def _body(scene: Scene, kind: str) -> dict[str, Any]:
    return {key: value for key, value in whole(scene, kind).items() if key not in ("metadata", "status")}


@pytest.mark.slow
def test_a_config_map_with_another_content_is_recreated(scene: Scene) -> None:
    scene.apply_ready()
    before, pods = scene.child("configmap"), pod_uids(scene, OURS)
    other = _made_anew(scene, "configmap", {**_body(scene, "configmap"), "data": {"GREETING": "another"}})
    scene.operator.start()
    eventually(lambda: _data(scene) == before["data"], "the data is restored")
    scene.ready()
    assert scene.child("configmap")["metadata"]["uid"] != other["metadata"]["uid"]
    assert pod_uids(scene, OURS) == pods
    assert scene.awaited_events("Replaced")


def _data(scene: Scene) -> dict[str, str]:
    found = scene.list("configmap", OURS)
    return found[0]["data"] if found else {}


def test_a_deployment_with_another_selector_is_replaced_around_its_pods(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "replicas": 2})
    pods, mark = pod_uids(scene, OURS), scene.cluster.audit()
    theirs = relabelled(_body(scene, "deployment"), {"app.kubernetes.io/name": "web"}, lambda labels: labels)
    other = _made_anew(scene, "deployment", theirs)
    assert pod_uids(scene, OURS) == pods
    scene.operator.start()
    eventually(lambda: _selector(scene) == {OUR_LABEL: "web"}, "it was replaced")
    scene.ready()
    scene.settled(mark)
    after = scene.get("deployment")
    assert after["metadata"]["uid"] != other["metadata"]["uid"]
    assert pod_uids(scene, OURS) == pods
    (replica_set,) = scene.list("replicaset", OURS)
    assert [owner["uid"] for owner in replica_set["metadata"]["ownerReferences"]] == [after["metadata"]["uid"]]
    reasons = [event["reason"] for event in scene.events()]
    assert "Replaced" in reasons
    assert "DriftCorrected" not in reasons


def _selector(scene: Scene) -> dict[str, str] | None:
    found = scene.find("deployment")
    return found["spec"]["selector"]["matchLabels"] if found else None


@pytest.mark.slow
def test_a_deployment_whose_pods_would_be_left_behind_stays(scene: Scene) -> None:
    scene.apply_ready()
    theirs = relabelled(_body(scene, "deployment"), {"app": "old"}, lambda _: {"app": "old"})
    other = _made_anew(scene, "deployment", theirs)
    scene.operator.start()
    message = scene.not_ready("Immutable")["message"]
    assert command_in(message)[:4] == ["delete", "deployment", "web", "--cascade=orphan"]
    mark = scene.cluster.audit()
    scene.settled(mark)
    assert scene.get("deployment")["metadata"]["uid"] == other["metadata"]["uid"]
    scene.kubectl(*command_in(message))
    scene.ready()
    assert _selector(scene) == {OUR_LABEL: "web"}
