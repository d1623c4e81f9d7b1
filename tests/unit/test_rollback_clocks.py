"""A failure of the new pods counts for the present spec by the times of the API server alone."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import DEPLOYMENT, POD, REPLICA_SET
from rendered import observe
from unit.pod_states import NOT_FOUND, container, pod, waiting
from unit.release_bench import AVAILABLE, ReleaseBench
from unit.test_rollback import BAD, ONE, released

pytestmark = pytest.mark.model

POD_NAME = "web-new-1"
LATER = 10**6
"""A resourceVersion after those of the model."""


def timestamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def observed(bench: ReleaseBench, kind: Kind, version: int, raw: dict[str, Any]) -> None:
    """Bring an object into the cache."""
    metadata = {"namespace": "shop", "resourceVersion": str(version), "uid": f"{kind.plural}-{version}"}
    bench.store.observe(observe(kind, {**raw, "metadata": {**raw["metadata"], **metadata}}))


def attempt(bench: ReleaseBench, *, version: int, revision: int, reason: str, updated: datetime) -> None:
    """Start a pod of the present spec whose image does not exist. The pod of the spec before serves on."""
    bench.settle()
    path = DEPLOYMENT.path("shop", "web")
    bench.patch(path, {"metadata": {"annotations": {"deployment.kubernetes.io/revision": str(revision)}}})
    metadata = {
        "name": "web-new",
        "labels": {"coxswain.dev/webapp": "web", "pod-template-hash": "new"},
        "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
                "uid": bench.deployment["metadata"]["uid"],
                "controller": True,
            }
        ],
    }
    observed(bench, REPLICA_SET, version, {"metadata": metadata, "status": {}})
    broken = pod(container(waiting("ErrImagePull", NOT_FOUND)), name=POD_NAME)
    broken["metadata"]["creationTimestamp"] = timestamp(bench.time)
    observed(bench, POD, version + 1, broken)
    progress = {"type": "Progressing", "status": "True", "reason": reason, "lastUpdateTime": timestamp(updated)}
    status = {
        **dict.fromkeys(("updatedReplicas", "readyReplicas", "availableReplicas"), 1),
        "replicas": 2,
        "observedGeneration": bench.deployment["metadata"]["generation"],
        "conditions": [progress, AVAILABLE],
    }
    bench.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": status})


def wait(bench: ReleaseBench) -> None:
    """Let the minute of failing pulls end, and the status follow."""
    for _ in range(5):
        bench.reconcile_once()
        bench.pass_time(60)


@pytest.mark.parametrize("skew", [-2, 0, 2])
def test_the_clock_of_the_deployment_controller_does_not_count(skew: int) -> None:
    bench = released()
    bench.change(image=BAD)
    updated = bench.time + timedelta(seconds=skew)
    attempt(bench, version=LATER, revision=2, reason="ReplicaSetUpdated", updated=updated)
    wait(bench)
    assert bench.running == ONE
    assert bench.condition("RolledBack") is not None


def test_the_second_attempt_in_the_same_replica_set_fails_as_well() -> None:
    """The Deployment controller may leave the condition of the rollback as it is."""
    bench = released()
    bench.change(image=BAD)
    attempt(bench, version=LATER, revision=2, reason="ReplicaSetUpdated", updated=bench.time)
    wait(bench)
    assert bench.running == ONE
    bench.store.forget(POD, Key("shop", POD_NAME), LATER + 2)
    bench.roll_out()
    available_at = bench.time
    bench.change(image=ONE)
    bench.settle()
    bench.pass_time(600)
    bench.change(image=BAD)
    bench.settle()
    assert bench.running == BAD
    attempt(bench, version=LATER + 10, revision=4, reason="NewReplicaSetAvailable", updated=available_at)
    wait(bench)
    assert bench.running == ONE


def test_the_failure_of_older_pods_is_not_that_of_a_new_revision() -> None:
    """The change leaves the pod template as it is."""
    bench = released()
    attempt(bench, version=LATER, revision=1, reason="ReplicaSetUpdated", updated=bench.time)
    bench.pass_time(30)
    bench.change(service={"annotations": {"team": "a"}})
    wait(bench)
    assert (bench.condition("Ready") or "")[:2] == ("False", "ImagePullBackOff")
    assert bench.note(2, "failed") is None
    assert bench.live("Service")[0]["metadata"]["annotations"]["team"] == "a"
