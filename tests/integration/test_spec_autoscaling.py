"""spec.autoscaling: the replicas are transferred to it and back at the live count; in between, the load decides.

The HPA controller is real; the test sets the CPU usage of the pods.
"""

import json
from collections import Counter
from signal import SIGKILL
from typing import Any

import pytest

from cluster import KubectlError
from cluster.metrics_api import MetricsApi
from integration.autoscaled import Counts, autoscaler, note, noted, owners, replicas, scaled
from integration.co_writing import told
from integration.scene import OPERATOR, SPEC, Scene, eventually, manifest

AT_ONCE = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}]}
MILLICORES = {"resource": {"name": "cpu", "target": {"averageValue": "100m"}}}
"""One pod per 100 millicores."""
AUTOSCALING: dict[str, Any] = {
    "maxReplicas": 8,
    "metrics": [MILLICORES],
    "behavior": {"scaleUp": AT_ONCE, "scaleDown": AT_ONCE},
}
SCALED = {**SPEC, "autoscaling": AUTOSCALING}


@pytest.fixture
def switched_on(scene: Scene, metrics: MetricsApi) -> Counts:
    """A WebApp that had two replicas and is now autoscaled, with a load for four."""
    scene.apply_ready(spec={**SPEC, "replicas": 2})
    counts = Counts(scene)
    metrics.set_load(scene.namespace, 400)
    scene.apply(spec=SCALED)
    noted(scene, "autoscaled-by-spec")
    scaled(scene, 4)
    return counts


def test_load_raises_the_count_and_its_end_lowers_it(scene: Scene, metrics: MetricsApi, switched_on: Counts) -> None:
    scene.settled(scene.cluster.audit())
    mark = scene.cluster.audit()
    for load, count in ((700, 7), (2000, 8), (100, 1), (300, 3)):
        metrics.set_load(scene.namespace, load)
        scaled(scene, count)
    assert scene.settled(mark).keys() <= {"patch webapps/status"}
    assert switched_on.so_far() == [2, 4, 7, 8, 1, 3], "the transfer at 2 changes nothing"
    assert len(told(scene, "Autoscaled")) == 1
    assert told(scene, "DriftCorrected") == []
    assert owners(scene) <= {"coxswain-replicas", "kube-controller-manager"}
    assert scene.get("webapp")["spec"]["replicas"] == 1
    assert scene.names("poddisruptionbudget") == ["web"]


@pytest.mark.slow
def test_missing_metrics_are_reported_until_they_come(scene: Scene, metrics: MetricsApi) -> None:
    """Those of new pods take time to come, so the report follows after two minutes."""
    scene.apply_ready(spec=SCALED)

    def message() -> str:
        children = scene.get("webapp")["status"]["children"]
        return next((each.get("message", "") for each in children if each["kind"] == "HorizontalPodAutoscaler"), "")

    eventually(lambda: "does not scale" in message(), "the missing metrics are reported", timeout=240)
    assert "no metrics returned" in message()
    assert "kubectl get apiservices | grep metrics.k8s.io" in message()
    assert [event["reason"] for event in scene.awaited_events("NotScaling")] == ["NotScaling"]
    assert scene.condition("Ready")["status"] == "True", "the pods serve traffic"
    metrics.set_load(scene.namespace, 300)
    scaled(scene, 3)
    eventually(lambda: message() == "", "the message is gone")


def test_a_new_webapp_starts_with_its_least_count(scene: Scene, metrics: MetricsApi) -> None:
    metrics.set_load(scene.namespace, 300)
    mark, audit = scene.cluster.audit(), scene.cluster.audit()
    scene.apply(spec={**SPEC, "autoscaling": {**AUTOSCALING, "minReplicas": 3}})
    counts = Counts(eventually(lambda: scene if scene.find("deployment") else None, "the Deployment"))
    noted(scene, "autoscaled-by-spec")
    scaled(scene, 3)
    assert counts.so_far() == [3]
    scene.settled(mark)
    # Except 409s: the controllers write the Deployment concurrently.
    mine = [each for each in audit.events() if each.user == OPERATOR and each.namespace == scene.namespace]
    stored = Counter(each.resource for each in mine if each.verb == "patch" and each.code < 300)
    assert stored["deployments"] == 3, "created, kept and left out"
    assert stored["horizontalpodautoscalers"] == 1
    assert told(scene, "Autoscaled") == []


@pytest.mark.slow
@pytest.mark.parametrize("way", ["running", "down", "killed"])
def test_switched_off_the_count_stays_until_the_spec_changes(scene: Scene, switched_on: Counts, way: str) -> None:
    pods = scene.names("pod")
    if way != "running":
        scene.operator.stop(SIGKILL)
    scene.apply(spec=SPEC)
    if way == "killed":
        scene.operator.start()
        eventually(lambda: not scene.names("horizontalpodautoscaler"), "it is removed")
        scene.operator.stop(SIGKILL)
    scene.operator.start()
    noted(scene, "kept=4,spec=1")
    eventually(lambda: not scene.names("horizontalpodautoscaler"), "it is removed")
    assert scene.names("pod") == pods
    assert scene.names("poddisruptionbudget") == ["web"], "there are four pods"
    scene.ready()
    scene.kubectl("scale", "webapp", "web", "--replicas=3")
    scaled(scene, 3)
    assert note(scene) is None
    assert switched_on.so_far() == [2, 4, 3]


def test_switched_off_with_a_count_that_count_is_applied(scene: Scene, switched_on: Counts) -> None:
    scene.apply(spec={**SPEC, "replicas": 3})
    scaled(scene, 3)
    eventually(lambda: note(scene) is None, "no note")
    assert switched_on.so_far() == [2, 4, 3]


def test_autoscaling_starts_a_stopped_webapp(scene: Scene, metrics: MetricsApi) -> None:
    scene.apply_ready(spec={**SPEC, "replicas": 0})
    metrics.set_load(scene.namespace, 200)
    scene.apply(spec={**SPEC, "autoscaling": {**AUTOSCALING, "minReplicas": 2}})
    scaled(scene, 2)


def test_kubectl_scale_webapp_is_refused_with_the_way(scene: Scene, switched_on: Counts) -> None:
    with pytest.raises(KubectlError, match=r"change spec\.autoscaling\.minReplicas"):
        scene.kubectl("scale", "webapp", "web", "--replicas=6")
    assert switched_on.so_far() == [2, 4]


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_a_scaled_webapp_gets_autoscaling_with_replicas_1(
    scene: Scene, metrics: MetricsApi, way: tuple[str, ...]
) -> None:
    """`kubectl scale` has stored a count that the manifest has never had, so an apply does not remove it."""

    def apply(spec: dict[str, Any]) -> None:
        scene.kubectl("apply", *way, "--filename=-", input=json.dumps(manifest("web", spec)))

    apply(SPEC)
    scene.kubectl("scale", "webapp", "web", "--replicas=3")
    scaled(scene, 3)
    counts = Counts(scene)
    metrics.set_load(scene.namespace, 300)
    with pytest.raises(KubectlError, match=r"apply replicas: 1 and autoscaling together: the number of pods stays"):
        apply(SCALED)
    apply({**SCALED, "replicas": 1})
    noted(scene, "autoscaled-by-spec")
    scaled(scene, 3)
    apply(SCALED)
    scaled(scene, 3)
    assert counts.so_far() == [3]
    assert scene.get("webapp")["spec"]["replicas"] == 1


def test_a_user_may_hand_their_own_autoscaler_over(scene: Scene, metrics: MetricsApi) -> None:
    """While the user's autoscaler exists, it stays active, and the WebApp gives instructions."""
    scene.apply_ready(spec={**SPEC, "replicas": 2})
    counts = Counts(scene)
    metrics.set_load(scene.namespace, 400)
    scene.create(autoscaler())
    scaled(scene, 4)
    scene.apply(spec=SCALED)
    ready = scene.not_ready("AutoscalerConflict")
    assert f"kubectl delete hpa scaler -n {scene.namespace}" in ready["message"]
    assert scene.names("horizontalpodautoscaler") == []
    metrics.set_load(scene.namespace, 500)
    eventually(lambda: replicas(scene) == 5, "theirs scales")
    scene.kubectl("delete", "hpa", "scaler")
    eventually(lambda: scene.names("horizontalpodautoscaler") == ["web"], "ours is created")
    scaled(scene, 5)
    assert counts.so_far() == [2, 4, 5]


def test_an_autoscaler_of_a_user_with_the_same_name_is_left_alone(scene: Scene, metrics: MetricsApi) -> None:
    metrics.set_load(scene.namespace, 300)
    scene.apply_ready()
    theirs = autoscaler()
    scene.create({**theirs, "metadata": {"name": "web"}})
    noted(scene, "autoscaled")
    scaled(scene, 3)
    scene.apply(spec=SCALED)
    scene.not_ready("NameTaken")
    assert replicas(scene) == 3
    scene.kubectl("annotate", "hpa", "web", "coxswain.dev/adopt=web")
    scaled(scene, 3)
    assert scene.names("horizontalpodautoscaler") == ["web"]


@pytest.mark.parametrize(
    "change",
    [
        {"maxReplicas": 20},
        {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]},
        {"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}},
        {"scaleTargetRef": {"name": "other"}},
    ],
    ids=lambda change: str(next(iter(change))),
)
def test_drift_is_corrected(scene: Scene, change: dict[str, Any]) -> None:
    scene.apply_ready(spec=SCALED)
    before = scene.get("horizontalpodautoscaler")["spec"]
    if "metrics" in change:
        change["metrics"][0]["resource"]["target"]["averageUtilization"] = 50
    scene.patch("horizontalpodautoscaler", {"spec": change})
    eventually(lambda: scene.get("horizontalpodautoscaler")["spec"] == before, "it is corrected")
    eventually(lambda: told(scene, "DriftCorrected"), "an Event")


def test_a_deleted_autoscaler_is_created_again(scene: Scene) -> None:
    scene.apply_ready(spec=SCALED)
    uid = scene.get("horizontalpodautoscaler")["metadata"]["uid"]
    scene.kubectl("delete", "hpa", "web")
    gone = {"metadata": {"uid": uid}}
    eventually(lambda: (scene.find("horizontalpodautoscaler") or gone)["metadata"]["uid"] != uid, "a new one")
    assert note(scene) == "autoscaled-by-spec"


def test_a_change_in_an_older_version_of_the_api_is_corrected_once(scene: Scene) -> None:
    """In autoscaling/v1 the metric has another field name, under which the other manager owns it."""
    half = {"resource": {"name": "cpu", "target": {"averageUtilization": 50}}}
    scene.apply_ready(spec={**SPEC, "autoscaling": {**AUTOSCALING, "metrics": [half]}})
    before = scene.get("horizontalpodautoscaler")["spec"]
    scene.settled(scene.cluster.audit())
    mark, change = scene.cluster.audit(), json.dumps({"spec": {"targetCPUUtilizationPercentage": 70}})
    options = ("--field-manager=other", "--type=merge", "--patch", change)
    scene.kubectl("patch", "horizontalpodautoscalers.v1.autoscaling", "web", *options)
    eventually(lambda: scene.get("horizontalpodautoscaler")["spec"] == before, "it is corrected")
    (event,) = eventually(lambda: told(scene, "DriftCorrected"), "an Event")
    assert "other" in event
    assert scene.settled(mark)["patch horizontalpodautoscalers"] == 1
