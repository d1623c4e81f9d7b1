"""Adoption: a WebApp adopts annotated objects of other tools without a pod restart."""

import time
from typing import Any

import pytest

from integration.adoptions import ADOPT, OUR_LABEL, TOOLS, Endpoints, command_in, learned, pod_uids, put, relabelled
from integration.scene import CHILDREN, SPEC, Scene, eventually

OURS = f"{OUR_LABEL}=web"
FULL: dict[str, Any] = {**SPEC, "replicas": 2, "rollout": {"progressDeadlineSeconds": 300}}
PORTS = [{"port": 8080, "targetPort": 8080, "name": "http"}]


def reasons(scene: Scene) -> list[str]:
    return [event["reason"] for event in scene.events()]


@pytest.mark.parametrize("tool", TOOLS)
def test_objects_of_a_tool_are_adopted_with_their_pods(scene: Scene, tool: str) -> None:
    children = learned(scene, FULL)
    before = {kind: put(scene, children[kind], tool) for kind in CHILDREN}
    pods, endpoints, mark = pod_uids(scene, OURS), Endpoints(scene, 2), scene.cluster.audit()
    assert len(pods) == 2
    webapp = scene.apply_ready(spec=FULL)
    scene.settled(mark)
    for kind, child in scene.children().items():
        assert child["metadata"]["uid"] == before[kind]["metadata"]["uid"]
        assert [owner["uid"] for owner in child["metadata"]["ownerReferences"]] == [webapp["metadata"]["uid"]]
    assert pod_uids(scene, OURS) == pods
    assert "Adopted" in reasons(scene)
    assert "DriftCorrected" not in reasons(scene)
    status = scene.get("webapp")["status"]
    assert not {"drift", "conflicts"} & status.keys()
    # Fields that the WebApp gives up are removed, unless another manager still applies them.
    scene.apply_ready(spec={**FULL, "rollout": {}})
    scene.settled(mark)
    kept = tool.endswith("--server-side")
    assert scene.get("deployment")["spec"]["progressDeadlineSeconds"] == (300 if kept else 600)
    assert pod_uids(scene, OURS) == pods
    assert endpoints.fewest() >= 1


def test_an_object_of_another_controller_is_not_adopted(scene: Scene) -> None:
    scene.kubectl("create", "configmap", "owner")
    uid = scene.get("configmap", "owner")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    scene.create({**account, "metadata": {"name": "web", "annotations": ADOPT, "ownerReferences": [owner]}})
    before = scene.get("serviceaccount")
    scene.apply()
    message = scene.not_ready("NameTaken")["message"]
    assert "coxswain.dev/adopt has no effect while the object has a controller" in message
    assert scene.get("serviceaccount") == before


@pytest.mark.slow
def test_the_annotation_is_noticed_without_a_resync(scene: Scene) -> None:
    """The test runs the command from the message, and then only waits."""
    scene.kubectl("create", "serviceaccount", "web")
    before = scene.get("serviceaccount")["metadata"]["uid"]
    scene.apply()
    scene.kubectl(*command_in(scene.not_ready("NameTaken")["message"]))
    mark, since = scene.cluster.audit(), time.monotonic()
    eventually(lambda: scene.condition("Ready").get("status") == "True", "it was adopted", timeout=120, pause=0.5)
    print(f"\nan annotation on an object without our label was noticed after {time.monotonic() - since:.0f} s")
    assert scene.get("serviceaccount")["metadata"]["uid"] == before
    assert scene.requests(mark)["get serviceaccounts"] <= 3


def by_expression(selector: dict[str, str]) -> dict[str, Any]:
    """Return a selector that cannot be kept: the pods can only keep labels."""
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in selector.items()]}


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False], ids=["the same template", "another template"])
def test_a_deployment_with_another_selector_goes_over_with_its_pods(scene: Scene, same: bool) -> None:
    """Its pods have our label too. The new Deployment adopts the ReplicaSets and so the pods."""
    children = learned(scene, FULL)
    selector = {"app.kubernetes.io/name": "web"} if same else {"app": "old"}
    theirs = relabelled(
        children["deployment"], selector, lambda labels: labels if same else {**labels, "app": "old", "more": "x"}
    )
    theirs["spec"]["selector"] = by_expression(selector)
    put(scene, children["serviceaccount"], "helm")
    before = put(scene, theirs, "helm")
    service = put(scene, {**children["service"], "spec": {"selector": selector, "ports": PORTS}}, "helm")
    (replica_set,) = scene.list("replicaset", OURS)
    pods, endpoints, mark = pod_uids(scene, OURS), Endpoints(scene, 2), scene.cluster.audit()
    scene.apply_ready(spec=FULL)
    scene.settled(mark)
    after = scene.get("deployment")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["selector"] == {"matchLabels": {OUR_LABEL: "web"}}
    (kept,) = [
        item for item in scene.list("replicaset", OURS) if item["metadata"]["name"] == replica_set["metadata"]["name"]
    ]
    assert [owner["uid"] for owner in kept["metadata"]["ownerReferences"]] == [after["metadata"]["uid"]]
    eventually(lambda: len(pod_uids(scene, OURS)) == 2, "no extra pod is left")
    assert (pod_uids(scene, OURS) == pods) is same
    assert scene.get("service")["metadata"]["uid"] == service["metadata"]["uid"]
    assert scene.get("service")["spec"]["selector"] == {OUR_LABEL: "web"}
    assert "Replaced" in reasons(scene)
    assert endpoints.fewest() >= 1


@pytest.mark.slow
def test_pods_without_our_label_serve_until_a_person_says_when(scene: Scene) -> None:
    """A person runs the command from the message. The Service switches to the new pods when they are available."""
    children = learned(scene, FULL)
    selector = {"app": "old"}
    put(scene, children["serviceaccount"], "kubectl apply")
    theirs = relabelled(children["deployment"], selector, lambda _: dict(selector))
    theirs["spec"]["selector"] = by_expression(selector)
    before = put(scene, theirs, "kubectl apply")
    put(scene, {**children["service"], "spec": {"selector": selector, "ports": PORTS}}, "kubectl apply")
    pods, endpoints = pod_uids(scene, "app=old"), Endpoints(scene, 2)
    scene.apply(spec=FULL)
    message = scene.not_ready("Immutable")["message"]
    assert scene.condition("Stalled")["status"] == "True"
    assert "Deployment web: spec.selector cannot be changed in place" in message
    assert scene.get("deployment")["metadata"]["managedFields"] == before["metadata"]["managedFields"]
    service = next(child for child in scene.get("webapp")["status"]["children"] if child["kind"] == "Service")
    assert "will be adopted when Deployment web belongs to the WebApp" in service["message"]
    scene.kubectl(*command_in(message))
    eventually(lambda: scene.condition("Ready").get("status") == "True", "it is Ready", timeout=120, pause=0.5)
    assert scene.get("service")["spec"]["selector"] == {OUR_LABEL: "web"}
    assert pod_uids(scene, "app=old") == pods, "the old pods are left for their owner to delete"
    assert endpoints.fewest() >= 1


@pytest.mark.slow
def test_a_service_is_adopted_when_its_pods_are_there(scene: Scene) -> None:
    scene.kubectl("create", "deployment", "old", "--image=registry.example/old:1")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    put(scene, {**service, "spec": {"selector": {"app": "old"}, "ports": PORTS}}, "kubectl create")
    endpoints = Endpoints(scene, 1)
    scene.apply(spec={**SPEC, "annotations": {"kwok.test/delay": "4s"}})

    def waits() -> bool:
        children = (scene.find("webapp") or {}).get("status", {}).get("children", [])
        return any("will be adopted when Deployment web is available" in child.get("message", "") for child in children)

    eventually(waits, "the Service waits")
    assert scene.get("service")["spec"]["selector"] == {"app": "old"}
    scene.ready()
    assert scene.get("service")["spec"]["selector"] == {OUR_LABEL: "web"}
    assert endpoints.fewest() >= 1


def test_an_adoption_removes_an_unnamed_port_of_the_service(scene: Scene) -> None:
    """A Service made by `kubectl expose`: the WebApp wants another port, and two ports need names (K35)."""
    scene.kubectl("create", "deployment", "old", "--image=registry.example/old:1")
    scene.kubectl("expose", "deployment", "old", "--name=web", "--port=80", "--target-port=8080")
    assert [port.get("name") for port in scene.get("service")["spec"]["ports"]] == [None]
    scene.kubectl("annotate", "service", "web", "coxswain.dev/adopt=web")
    uid = scene.get("service")["metadata"]["uid"]
    scene.apply()
    scene.ready()
    service = scene.get("service")
    assert service["metadata"]["uid"] == uid
    assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == [("http", 8080)]
    assert service["spec"]["selector"] == {OUR_LABEL: "web"}
