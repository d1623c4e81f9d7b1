"""A claim that serves one pod limits each count that the schema does not see, from the first moment on."""

import dataclasses

import pytest

from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from unit.release_bench import Crash, ReleaseBench
from unit.test_reconcile_scaling import NOTE, Autoscaled
from unit.test_rollback import BAD, ONE, ROLLBACK, failed

pytestmark = pytest.mark.model

CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "db"}}]
RECREATE = {"strategy": "Recreate"}


def first_replicas(bench: ReleaseBench) -> int:
    """Reconcile write by write until the Deployment exists. Return its replicas."""
    for _ in range(10):
        bench.transport.writes_left = 1
        try:
            bench.reconcile_once()
        except Crash:
            bench.pass_time(30)
        if found := bench.live("Deployment"):
            bench.transport.writes_left = None
            count: int = found[0]["spec"]["replicas"]
            return count
    raise AssertionError("the Deployment is not created")


def test_a_new_deployment_starts_with_one_pod_for_a_claim_that_comes_back() -> None:
    """The schema refuses more replicas beside such a claim, but sees the written spec only."""
    bench = ReleaseBench(rollout={**ROLLBACK, **RECREATE}, volumes=CLAIM)
    bench.settle()
    bench.roll_out()
    failed(bench, image=BAD, replicas=3, volumes=None)
    assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, 1)
    bench.delete(DEPLOYMENT.path("shop", "web"))
    assert first_replicas(bench) == 1
    bench.settle()
    assert bench.deployment["spec"]["replicas"] == 1


def replaced(bench: Autoscaled) -> Projection:
    """Let the operator replace the Deployment around its pods. Return the new one as created."""
    live = bench.deployment
    bench.writer.version += 1
    spec = {**live.content["spec"], "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, content={**live.content, "spec": spec}))
    assert bench.applied() == ["remove Deployment but not its pods"]
    bench.lose_deployment()
    requests = bench.applied()
    assert requests[0] == "create Deployment"
    assert "update Deployment" not in requests
    return bench.deployment


def test_a_replaced_deployment_starts_with_one_pod_and_its_owner() -> None:
    """The count was set for the pods without the claim, perhaps by an autoscaler that the cache lacks."""
    bench = Autoscaled()
    bench.scale(5)
    bench.coverage.doubtful = True
    bench.webapp(version=bench.writer.version + 1, generation=2, replicas=1, volumes=CLAIM, rollout=RECREATE)
    content = replaced(bench).content
    assert (content["spec"]["replicas"], content["metadata"]["annotations"][NOTE]) == (1, "autoscaled")


@pytest.mark.parametrize("earlier", [{"replicas": 3}, {"autoscaling": {"maxReplicas": 5}}])
def test_a_claim_and_autoscaling_in_one_change_leave_one_pod(earlier: dict[str, object]) -> None:
    """The Deployment changes its pods before the autoscaler decides its first count."""
    bench = ReleaseBench(**earlier)
    bench.settle()
    bench.roll_out()
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 3}})
    bench.settle()
    assert bench.deployment["spec"]["replicas"] == 3
    bench.change(volumes=CLAIM, replicas=1, autoscaling={"maxReplicas": 1}, rollout=RECREATE)
    bench.settle()
    deployment = bench.deployment
    assert deployment["spec"]["template"]["spec"]["volumes"][0]["name"] == "data"
    assert deployment["spec"]["replicas"] == 1
    assert deployment["metadata"]["annotations"]["coxswain.dev/replicas"] == "autoscaled-by-spec"
    managers = [
        each["manager"]
        for each in deployment["metadata"]["managedFields"]
        if "f:replicas" in each["fieldsV1"].get("f:spec", {}) and each["operation"] == "Apply"
    ]
    assert "coxswain" not in managers, "the autoscaler owns the field"
    assert bench.live(HORIZONTAL_POD_AUTOSCALER.kind)[0]["spec"]["maxReplicas"] == 1


def test_an_autoscaler_of_the_user_decides_the_count_beside_a_claim() -> None:
    """The operator would otherwise undo each of its decisions."""
    bench = Autoscaled()
    bench.come()
    bench.applied()
    bench.scale(5)
    bench.webapp(
        version=bench.writer.version + 1,
        generation=2,
        replicas=1,
        volumes=CLAIM,
        rollout=RECREATE,
        autoscaling={"maxReplicas": 1},
    )
    bench.applied()
    assert bench.says() == (None, "autoscaled-by-spec")
    assert bench.deployment.content["spec"]["replicas"] == 5
    assert bench.applied() == []


def held_autoscaler(bench: ReleaseBench, **spec: object) -> None:
    """Remove autoscaling from the spec, which begins to use a claim. A finalizer holds the autoscaler."""
    bench.settle()
    bench.roll_out()
    bench.patch(HORIZONTAL_POD_AUTOSCALER.path("shop", "web"), {"metadata": {"finalizers": ["example.com/hold"]}})
    bench.settle()
    bench.change(**{"autoscaling": None, "volumes": CLAIM, "rollout": RECREATE, **spec})
    bench.settle()
    bench.roll_out()


def test_a_fight_with_an_autoscaler_that_stays_is_a_write_war() -> None:
    """Each round was forgotten, because the manifest left the field out in between."""
    bench = ReleaseBench(autoscaling={"minReplicas": 2, "maxReplicas": 8})
    held_autoscaler(bench)
    for _ in range(6):
        bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 2}})
        bench.transport.sent.clear()
        for _ in range(3):
            bench.reconcile_once()
        bench.pass_time(15)
    assert [sent for sent in bench.transport.sent if sent.startswith("PATCH deployments")] == []
    contested = bench.condition("Contested")
    assert contested is not None
    assert contested[:2] == ("True", "WriteWar")
    assert "Deployment/web spec.replicas" in contested[2]


def test_the_spec_stops_a_deployment_beside_a_claim_and_an_autoscaler_that_stays() -> None:
    """The autoscaler changes no Deployment of 0 pods."""
    bench = ReleaseBench(autoscaling={"minReplicas": 2, "maxReplicas": 8})
    held_autoscaler(bench, replicas=0)
    assert bench.deployment["spec"]["replicas"] == 0
    bench.patch(HORIZONTAL_POD_AUTOSCALER.path("shop", "web"), {"metadata": {"finalizers": None}})
    bench.settle()
    assert bench.live("HorizontalPodAutoscaler") == []
    assert bench.deployment["spec"]["replicas"] == 0
