"""Typical charts are adopted by a rolling update: the Service always has ready pods, and no object is replaced."""

import json
from typing import Any

import pytest

from cluster.kubectl import KubectlError
from integration.adoptions import OUR_LABEL, TOOLS, Endpoints, command_in, pod_uids
from integration.charts import CHARTS, recommended, release
from integration.scene import Scene, eventually

pytestmark = pytest.mark.slow

IMAGE = "registry.example/storefront:1"
NEW = "registry.example/storefront:2"
OURS = f"{OUR_LABEL}=web"
SPECIFIED: dict[str, Any] = {
    "image": NEW,
    "runAsUser": 1000,
    "replicas": 3,
    "labels": {"team": "shop", "release": "green"},
    "ports": [{"name": "http", "containerPort": 8080}],
    "service": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
}


def install(scene: Scene, objects: list[Any], tool: str = "helm") -> dict[str, dict[str, Any]]:
    """Create the objects of a chart, and wait for its pods; return them by kind."""
    for thing in objects:
        scene.kubectl(*TOOLS[tool], "-f", "-", input=json.dumps(thing))
    eventually(lambda: scene.get("deployment").get("status", {}).get("availableReplicas") == 3, "its pods serve")
    return {thing["kind"]: scene.get(thing["kind"].lower()) for thing in objects}


def containers(scene: Scene) -> list[str]:
    return [found["name"] for found in scene.get("deployment")["spec"]["template"]["spec"]["containers"]]


@pytest.mark.parametrize("tool", ["helm", "kubectl apply --server-side"])
@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_is_adopted_by_a_rolling_update(scene: Scene, chart: str, tool: str) -> None:
    before = install(scene, CHARTS[chart](IMAGE), tool)
    selector = before["Deployment"]["spec"]["selector"]
    endpoints, mark = Endpoints(scene, 3), scene.cluster.audit()
    webapp = scene.apply_ready(spec=SPECIFIED)
    scene.settled(mark)
    for kind, thing in before.items():
        after = scene.get(kind.lower())
        assert after["metadata"]["uid"] == thing["metadata"]["uid"], kind
        assert [owner["uid"] for owner in after["metadata"]["ownerReferences"]] == [webapp["metadata"]["uid"]]
    deployment, service = scene.get("deployment"), scene.get("service")
    assert deployment["spec"]["selector"] == selector
    template = deployment["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert selector["matchLabels"].items() <= labels.items()
    assert (labels[OUR_LABEL], labels["team"]) == ("web", "shop")
    assert deployment["metadata"]["labels"]["release"] == "green"
    assert template["spec"]["containers"][0 if chart == "recommended labels" else -1]["image"] == NEW
    assert sorted(containers(scene)) == (["app"] if chart == "recommended labels" else ["app", "exporter"])
    volumes = [volume["name"] for volume in template["spec"].get("volumes", [])]
    assert volumes == ([] if chart == "recommended labels" else ["shared"])
    assert service["spec"]["selector"] == {OUR_LABEL: "web"}
    for name in ("type", "clusterIP", "ports"):
        assert service["spec"][name] == before["Service"]["spec"][name]
    assert len(pod_uids(scene, OURS)) == 3
    assert endpoints.fewest() >= 3, "there was always an endpoint for each replica"
    reasons = [event["reason"] for event in scene.events()]
    assert "Adopted" in reasons
    assert not {"Replaced", "DriftCorrected", "FieldConflict"} & set(reasons)


@pytest.mark.parametrize("tool", ["helm", "kubectl apply --server-side"])
def test_a_container_of_a_chart_becomes_a_sidecar_later(scene: Scene, tool: str) -> None:
    """The API server refuses a name in both lists of containers."""
    install(scene, release(IMAGE), tool)
    scene.apply_ready(spec=SPECIFIED)
    assert sorted(containers(scene)) == ["app", "exporter"]
    sidecar = {"name": "exporter", "image": "registry.example/exporter:2"}
    scene.apply_ready(spec={**SPECIFIED, "sidecars": [sidecar]})
    assert containers(scene) == ["app"]
    pod = scene.get("deployment")["spec"]["template"]["spec"]
    assert [(each["name"], each["image"]) for each in pod["initContainers"]] == [("exporter", sidecar["image"])]


def test_a_budget_of_the_chart_does_not_block_evictions(scene: Scene) -> None:
    """Kubernetes refuses to evict a pod that two budgets select."""
    objects = recommended(IMAGE)
    install(scene, objects)
    selector = objects[2]["spec"]["selector"]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "storefront"},
        "spec": {"maxUnavailable": 1, "selector": selector},
    }
    scene.kubectl("create", "-f", "-", input=json.dumps(budget))
    scene.apply_ready(spec=SPECIFIED)

    def allows() -> bool:
        status = scene.get("poddisruptionbudget", "storefront").get("status", {})
        return bool(status.get("disruptionsAllowed") == 1 and status.get("expectedPods") == 3)

    eventually(lambda: allows() and len(pod_uids(scene, OURS)) == 3, "the rollout is complete")
    assert scene.find("poddisruptionbudget") is None
    evict(scene)
    scene.apply_ready(spec={**SPECIFIED, "disruption": {"enabled": True}})
    eventually(lambda: scene.get("poddisruptionbudget").get("status", {}).get("expectedPods") == 3, "it has its pods")
    with pytest.raises(KubectlError, match="more than one PodDisruptionBudget"):
        evict(scene)


def evict(scene: Scene) -> None:
    """Evict a pod, as a dry run."""
    pod = scene.kubectl("get", "pods", "-l", OURS, "-o", "jsonpath={.items[0].metadata.name}")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod},
        "deleteOptions": {"dryRun": ["All"]},
    }
    path = f"/api/v1/namespaces/{scene.namespace}/pods/{pod}/eviction"
    scene.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))


def test_an_adopted_chart_stays_adopted(scene: Scene) -> None:
    """After a restart, without the annotation, and after another rollout; a new Deployment has our selector."""
    before = install(scene, recommended(IMAGE))
    scene.apply_ready(spec=SPECIFIED)
    pods = pod_uids(scene, OURS)
    scene.kubectl("annotate", "deployment", "web", "coxswain.dev/adopt-")
    scene.operator.stop()
    mark = scene.cluster.audit()
    scene.operator.start()
    assert not [request for request in scene.settled(mark) if request.split()[0] in ("patch", "create", "delete")]
    assert pod_uids(scene, OURS) == pods
    scene.patch("deployment", {"spec": {"template": {"metadata": {"labels": {"team": "other"}}}}})

    def team() -> Any:
        return scene.get("deployment")["spec"]["template"]["metadata"]["labels"]["team"]

    eventually(lambda: team() == "shop", "drift is corrected")
    scene.apply_ready(spec={**SPECIFIED, "image": "registry.example/storefront:3"})
    assert scene.get("deployment")["spec"]["selector"] == before["Deployment"]["spec"]["selector"]
    endpoints = Endpoints(scene, 3)
    scene.kubectl("delete", "deployment", "web", "--cascade=orphan")
    old = before["Deployment"]["metadata"]["uid"]
    eventually(lambda: (found := scene.find("deployment")) and found["metadata"]["uid"] != old, "it is created again")
    scene.ready()
    assert scene.get("deployment")["spec"]["selector"] == {"matchLabels": {OUR_LABEL: "web"}}
    assert endpoints.fewest() >= 3
    eventually(lambda: len(pod_uids(scene, OURS)) == 3, "no extra pod is left")


def test_an_image_that_cannot_start_leaves_the_pods_of_the_chart_in_service(scene: Scene) -> None:
    install(scene, recommended(IMAGE))
    endpoints = Endpoints(scene, 3)
    bad = {**SPECIFIED, "annotations": {"kwok.test/delay": "25s"}}
    scene.apply(spec=bad)
    eventually(lambda: "app" in containers(scene), "the rollout has begun")

    def waits() -> bool:
        children = scene.get("webapp").get("status", {}).get("children", [])
        return any("will be adopted when Deployment web is rolled out" in each.get("message", "") for each in children)

    eventually(waits, "the Service waits for the rollout")
    assert endpoints.now() >= 3
    assert scene.get("service")["spec"]["selector"] == recommended(IMAGE)[1]["spec"]["selector"]
    scene.apply_ready(spec=SPECIFIED)
    assert endpoints.fewest() >= 3


def test_a_service_that_would_lose_the_new_pods_is_changed_first(scene: Scene) -> None:
    """Its selector has a label that we own after the adoption and that the Deployment's selector lacks."""
    account, service, deployment = recommended(IMAGE)
    by_app = {"app": "storefront"}
    deployment["spec"]["selector"] = {"matchLabels": by_app}
    deployment["spec"]["template"]["metadata"]["labels"] |= by_app
    before = install(scene, [account, service, deployment])["Deployment"]
    endpoints = Endpoints(scene, 3)
    scene.apply(spec=SPECIFIED)
    scene.not_ready("HeldBack")
    messages = {child["kind"]: child.get("message", "") for child in scene.get("webapp")["status"]["children"]}
    assert "lacks app.kubernetes.io/instance, app.kubernetes.io/name" in messages["Deployment"]
    mark = scene.cluster.audit()
    scene.settled(mark)
    assert scene.get("deployment")["spec"] == before["spec"]
    scene.json_patch("service", {"op": "replace", "path": "/spec/selector", "value": by_app})
    eventually(lambda: scene.condition("Ready").get("status") == "True", "it is adopted", timeout=120, pause=0.5)
    assert endpoints.fewest() >= 3


def test_a_chart_that_cannot_be_adopted_is_left_to_a_person(scene: Scene) -> None:
    """Two containers, and neither is certainly the application."""
    objects = release(IMAGE)
    for container in objects[2]["spec"]["template"]["spec"]["containers"]:
        container["ports"] = []
        container.pop("readinessProbe", None)
    before = install(scene, objects)["Deployment"]
    scene.apply(spec={**SPECIFIED, "image": "registry.example/another:1"})
    message = scene.not_ready("Immutable")["message"]
    assert "spec.template.spec.containers" in message
    assert command_in(message)[:4] == ["delete", "deployment", "web", "--cascade=orphan"]
    assert scene.get("deployment")["spec"] == before["spec"]


def test_a_policy_does_not_keep_the_container_of_the_chart(scene: Scene) -> None:
    """Under Yield, fields stay with their managers. A second container would use the same port."""
    install(scene, recommended(IMAGE), "kubectl apply --server-side")
    scene.apply_ready(spec={**SPECIFIED, "conflicts": {"policy": "Yield"}})
    assert containers(scene) == ["app"]
