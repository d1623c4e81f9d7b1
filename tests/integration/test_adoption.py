"""Adoption: what other tools have made becomes the WebApp's, if its owner says so, and no pod is restarted."""

import time
from typing import Any

import pytest

from integration.scene import CHILDREN, SPEC, Scene, eventually
from integration.takeover import ADOPT, OUR_LABEL, TOOLS, Endpoints, command_in, learned, pod_uids, put, relabelled

OURS = f"{OUR_LABEL}=web"
FULL: dict[str, Any] = {**SPEC, "replicas": 2, "rollout": {"progressDeadlineSeconds": 300}}
PORTS = [{"port": 8080, "targetPort": 8080, "name": "http"}]


def reasons(scene: Scene) -> list[str]:
    return [event["reason"] for event in scene.events()]


@pytest.mark.parametrize("tool", TOOLS)
def test_what_a_tool_has_made_is_adopted_with_its_pods(scene: Scene, tool: str) -> None:
    children = learned(scene, FULL)
    before = {kind: put(scene, children[kind], tool) for kind in CHILDREN}
    pods, endpoints, mark = pod_uids(scene, OURS), Endpoints(scene), scene.cluster.audit()
    assert len(pods) == 2
    eventually(lambda: endpoints.now() == 2, "the Service leads to them")
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
    # What the WebApp gives up goes, unless someone else still applies it.
    scene.apply_ready(spec={**FULL, "rollout": {}})
    scene.settled(mark)
    kept = tool.endswith("--server-side")
    assert scene.get("deployment")["spec"]["progressDeadlineSeconds"] == (300 if kept else 600)
    assert pod_uids(scene, OURS) == pods
    assert endpoints.fewest() >= 1


def test_what_another_controller_owns_is_not_adopted(scene: Scene) -> None:
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


def test_the_annotation_is_noticed_without_a_resync(scene: Scene) -> None:
    """The command is the one that the message names; nothing but time passes then."""
    scene.kubectl("create", "serviceaccount", "web")
    before = scene.get("serviceaccount")["metadata"]["uid"]
    scene.apply()
    scene.kubectl(*command_in(scene.not_ready("NameTaken")["message"]))
    mark, since = scene.cluster.audit(), time.monotonic()
    eventually(lambda: scene.condition("Ready").get("status") == "True", "it was adopted", timeout=90, pause=0.5)
    print(f"\nan annotation on an object without our label was noticed after {time.monotonic() - since:.0f} s")
    assert scene.get("serviceaccount")["metadata"]["uid"] == before
    assert scene.requests(mark)["get serviceaccounts"] <= 3


@pytest.mark.parametrize("same", [True, False], ids=["the same template", "another template"])
def test_a_deployment_with_another_selector_goes_over_with_its_pods(scene: Scene, same: bool) -> None:
    """Its pods have our label too. The ReplicaSets, and through them the pods, are adopted by the new Deployment."""
    children = learned(scene, FULL)
    selector = {"app.kubernetes.io/name": "web"} if same else {"app": "old"}
    theirs = relabelled(
        children["deployment"], selector, lambda labels: labels if same else {**labels, "app": "old", "more": "x"}
    )
    put(scene, children["serviceaccount"], "helm")
    before = put(scene, theirs, "helm")
    service = put(scene, {**children["service"], "spec": {"selector": selector, "ports": PORTS}}, "helm")
    (replica_set,) = scene.list("replicaset", OURS)
    pods, endpoints, mark = pod_uids(scene, OURS), Endpoints(scene), scene.cluster.audit()
    eventually(lambda: endpoints.now() == 2, "the Service leads to them")
    scene.apply_ready(spec=FULL)
    scene.settled(mark)
    after = scene.get("deployment")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["selector"] == {"matchLabels": {OUR_LABEL: "web"}}
    (kept,) = [
        item for item in scene.list("replicaset", OURS) if item["metadata"]["name"] == replica_set["metadata"]["name"]
    ]
    assert [owner["uid"] for owner in kept["metadata"]["ownerReferences"]] == [after["metadata"]["uid"]]
    eventually(lambda: len(pod_uids(scene, OURS)) == 2, "no pod is left over")
    assert (pod_uids(scene, OURS) == pods) is same
    assert scene.get("service")["metadata"]["uid"] == service["metadata"]["uid"]
    assert scene.get("service")["spec"]["selector"] == {OUR_LABEL: "web"}
    assert "Replaced" in reasons(scene)
    assert endpoints.fewest() >= 1


def test_pods_without_our_label_serve_until_a_person_says_when(scene: Scene) -> None:
    """The command of the message, and then the Service goes over to the new pods when these are available."""
    children = learned(scene, FULL)
    selector = {"app": "old"}
    put(scene, children["serviceaccount"], "kubectl apply")
    before = put(scene, relabelled(children["deployment"], selector, lambda _: dict(selector)), "kubectl apply")
    put(scene, {**children["service"], "spec": {"selector": selector, "ports": PORTS}}, "kubectl apply")
    pods, endpoints = pod_uids(scene, "app=old"), Endpoints(scene)
    eventually(lambda: endpoints.now() == 2, "the Service leads to them")
    scene.apply(spec=FULL)
    message = scene.not_ready("Immutable")["message"]
    assert scene.condition("Stalled")["status"] == "True"
    assert "Deployment web: spec.selector cannot be changed in place" in message
    assert scene.get("deployment")["metadata"]["managedFields"] == before["metadata"]["managedFields"]
    service = next(child for child in scene.get("webapp")["status"]["children"] if child["kind"] == "Service")
    assert "will be adopted when Deployment web belongs to the WebApp" in service["message"]
    scene.kubectl(*command_in(message))
    eventually(lambda: scene.condition("Ready").get("status") == "True", "it is Ready", timeout=90, pause=0.5)
    assert scene.get("service")["spec"]["selector"] == {OUR_LABEL: "web"}
    assert pod_uids(scene, "app=old") == pods, "the old ones are theirs to delete"
    assert endpoints.fewest() >= 1


def test_a_service_is_adopted_when_its_pods_are_there(scene: Scene) -> None:
    scene.kubectl("create", "deployment", "old", "--image=registry.example/old:1")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    put(scene, {**service, "spec": {"selector": {"app": "old"}, "ports": PORTS}}, "kubectl create")
    endpoints = Endpoints(scene)
    eventually(lambda: endpoints.now() == 1, "the Service leads to the old pod")
    scene.apply(spec={**SPEC, "annotations": {"kwok.test/delay": "4s"}})

    def waits() -> bool:
        children = (scene.find("webapp") or {}).get("status", {}).get("children", [])
        return any("will be adopted when Deployment web is available" in child.get("message", "") for child in children)

    eventually(waits, "the Service waits")
    assert scene.get("service")["spec"]["selector"] == {"app": "old"}
    scene.ready()
    assert scene.get("service")["spec"]["selector"] == {OUR_LABEL: "web"}
    assert endpoints.fewest() >= 1


def test_an_unnamed_port_of_an_exposed_service_goes_on_adoption(scene: Scene) -> None:
    """As `kubectl expose` makes it: the WebApp asks for another port, and two ports need names (K35)."""
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
