"""The explanation of a Deployment: a missed deadline, refused pods, a paused rollout."""

from datetime import timedelta
from typing import Any

import pytest

from coxswain.webapp import kinds
from coxswain.webapp.diagnosis.pods import awaited_end, projected_pod
from unit.explained import Pods, told
from unit.objects import webapp
from unit.pod_states import NOW, PODS, deployment, ending, pod, replica_set

QUOTA = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
REFUSED = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": QUOTA}
PAUSED = {"metadata": {}, "spec": {"paused": True, "replicas": 2}}


def test_after_its_deadline_a_deployment_still_reports_the_quota() -> None:
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out."}
    found = told(kinds.DEPLOYMENT, deployment(status={"conditions": [late, REFUSED]}))
    assert (found.reason, found.stalled) == ("ProgressDeadlineExceeded", True)
    assert found.message.startswith("has timed out; pods cannot be created: ResourceQuota few is exceeded: pods 2 of 2")
    assert found.message.endswith("kubectl describe resourcequota few -n shop")


def test_the_newest_replica_set_has_the_message_about_the_newest_revision() -> None:
    """The Deployment controller keeps the message of the first refusal."""
    now = {**replica_set(), "status": {"conditions": [{**REFUSED, "message": "maximum cpu usage per Container is 1"}]}}
    before = {**replica_set("old", 1), "status": {"conditions": [{**REFUSED, "message": "another"}]}}
    live_deployment = deployment(status={"conditions": [REFUSED]})
    found = told(kinds.DEPLOYMENT, live_deployment, Pods(replica_sets=(before, now)))
    assert "maximum cpu usage per Container is 1. " in found.message
    assert "ResourceQuota few" in told(kinds.DEPLOYMENT, live_deployment, Pods(replica_sets=(before,))).message


def test_a_paused_deployment_with_new_pods_only_is_no_paused_rollout() -> None:
    assert told(kinds.DEPLOYMENT, {**PAUSED, "status": {"replicas": 2, "updatedReplicas": 2}}).reason == "RollingOut"
    assert told(kinds.DEPLOYMENT, {**PAUSED, "status": {"replicas": 2, "updatedReplicas": 1}}).reason == "RolloutPaused"


def recreated(*, updated: int = 0, strategy: str = "Recreate", **status: Any) -> dict[str, Any]:
    """Return a Deployment that waits for the end of its old pods."""
    made = deployment(status={"updatedReplicas": updated, "replicas": updated, "readyReplicas": 0, **status})
    made["spec"]["strategy"] = {"type": strategy}
    return made


def test_old_pods_that_do_not_end_are_the_cause_of_a_recreation_that_waits() -> None:
    """The kubelet of a lost node never reports their end, and no progress deadline is counted."""
    found = told(kinds.DEPLOYMENT, recreated(), Pods(ending(30), replica_sets=(replica_set("old", 1),)))
    assert found.reason == "OldPodsTerminating"
    assert found.message.endswith(
        "pods ready; 1 of 1 pods: have not ended 30 s after their grace period. With spec.rollout.strategy Recreate, "
        f"new pods start after the end of the old ones. Check the nodes of these: kubectl describe pods {PODS}"
    )


@pytest.mark.parametrize(
    ("live", "old"),
    [
        (recreated(), ending(29)),
        (recreated(), ending(999, phase="Failed")),
        (recreated(), ending(999, phase="Succeeded")),
        (recreated(), pod(name="web-old-1", revision="old", phase="Running")),
        (recreated(updated=1), ending(999)),
        (recreated(strategy="RollingUpdate"), ending(999)),
    ],
)
def test_other_pods_that_end_are_no_cause(live: dict[str, Any], old: dict[str, Any]) -> None:
    assert told(kinds.DEPLOYMENT, live, Pods(old, replica_sets=(replica_set("old", 1),))).reason == "RollingOut"


def test_the_end_of_old_pods_has_its_time_and_a_requeue() -> None:
    pods = [
        projected_pod(ending(29)),
        projected_pod({**ending(28), "metadata": {**ending(28)["metadata"], "name": "b"}}),
    ]
    assert awaited_end(webapp(), recreated(), pods, NOW).until == NOW + timedelta(seconds=1)
    found = awaited_end(webapp(), recreated(), pods, NOW + timedelta(seconds=1))
    assert (found.pods, found.of, found.until) == (("web-old-1",), 2, NOW + timedelta(seconds=2))


def test_a_quota_comes_before_the_end_of_old_pods() -> None:
    found = told(kinds.DEPLOYMENT, recreated(conditions=[REFUSED]), Pods(ending(999)))
    assert found.reason == "FailedCreate"
    assert "grace period" not in found.message
