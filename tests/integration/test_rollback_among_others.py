"""Rollbacks while an autoscaler scales, while other managers write, and if the earlier revision fails as well."""

import pytest

from cluster.metrics_api import MetricsApi
from integration.autoscaled import Counts, owners, replicas
from integration.co_writing import IMAGE, apply_as, co_writer, conflicted, drift, image, managers
from integration.scene import SPEC, Scene, eventually
from integration.test_rollback import BAD, GOOD, ROLLBACK, rolled_back, template
from integration.test_spec_autoscaling import AUTOSCALING

pytestmark = pytest.mark.slow


def test_an_autoscaler_keeps_its_count_and_its_limits_go_back(scene: Scene, metrics: MetricsApi) -> None:
    metrics.set_load(scene.namespace, 400)
    scene.apply_ready(spec={**GOOD, "autoscaling": AUTOSCALING})
    eventually(lambda: replicas(scene) == 4, "the load scales it")
    scene.ready()
    counts, before = Counts(scene), template(scene)
    scene.apply(spec={**BAD, "autoscaling": {**AUTOSCALING, "maxReplicas": 3}})
    eventually(lambda: replicas(scene) == 3, "the autoscaler of the failing revision scales")
    status = rolled_back(scene)["status"]
    assert (status["revision"], status["runningRevision"]) == (2, 1)
    assert template(scene) == before
    assert scene.get("horizontalpodautoscaler")["spec"]["maxReplicas"] == 8
    eventually(lambda: replicas(scene) == 4, "the autoscaler of revision 1 scales again")
    assert counts.so_far() == [4, 3, 4]
    assert "coxswain" not in owners(scene)
    metrics.set_load(scene.namespace, 600)
    eventually(lambda: replicas(scene) == 6, "it scales the WebApp that is rolled back")
    assert scene.condition("RolledBack")["status"] == "True"


def test_a_field_of_another_manager_stays_and_a_busy_one_delays_nothing(scene: Scene) -> None:
    """A manager holds a field by the policy Yield; a controller annotates the Deployment five times a second."""
    yielded = {"conflicts": {"rules": [{"kind": "Deployment", "path": IMAGE, "policy": "Yield"}]}}
    scene.apply_ready(spec={**GOOD, **yielded})
    apply_as(scene, "pinner", "Deployment", image("registry.example/web:pinned"), force=True)
    conflicted(scene, "Yielded")
    scene.ready()
    body = {"metadata": {"annotations": {"example.com/beat": "{n}"}}}
    with co_writer(scene, "busy", "update", "deployments/web", body, every=0.2) as other:
        scene.apply(spec={**BAD, **yielded})
        status = rolled_back(scene)["status"]
        other.writes(5)
    assert (status["revision"], status["runningRevision"]) == (2, 1)
    pods = template(scene)
    assert pods["spec"]["containers"][0]["image"] == "registry.example/web:pinned"
    assert "kwok.test/fate" not in pods["metadata"].get("annotations", {})
    assert not drift(scene), "nobody was overruled"
    assert "f:example.com/beat" in managers(scene, "deployment")["busy"]["f:metadata"]["f:annotations"]
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=3), "nothing flaps"


def test_an_earlier_revision_that_fails_as_well_is_reported_and_kept(scene: Scene) -> None:
    """The quota leaves no pod to either revision. Without it, the earlier one is healthy again."""
    scene.apply_ready(spec={**SPEC, "rollout": ROLLBACK})
    before = template(scene)
    scene.kubectl("create", "quota", "none", "--hard=pods=0")
    scene.apply(spec=BAD)
    scene.kubectl("delete", "pod", "--all", "--now")
    message = eventually(lambda: _unhealthy(scene), "the failure of the earlier revision is reported")
    assert "revision 2 failed: " in message
    assert f"kubectl describe resourcequota none -n {scene.namespace}" in message
    assert template(scene) == before
    mark = scene.cluster.audit()
    assert not scene.settled(mark, seconds=3), "nothing flaps"
    assert scene.condition("Available")["status"] == "False"
    scene.kubectl("delete", "quota", "none")
    eventually(lambda: "is not healthy" not in scene.condition("Ready")["message"], "revision 1 is healthy again")
    assert scene.condition("Available")["status"] == "True"
    assert scene.condition("RolledBack")["status"] == "True"


def _unhealthy(scene: Scene) -> str | None:
    """Return the message about the earlier revision, once it names the quota."""
    message: str = scene.condition("Ready").get("message", "")
    about = message.partition("Revision 1 is not healthy: ")[2]
    return message if "resourcequota none" in about else None
