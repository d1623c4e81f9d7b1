"""The explanation of a Deployment: a missed deadline, refused pods, a paused rollout."""

from coxswain.webapp import kinds
from unit.explained import Pods, told
from unit.pod_states import deployment, replica_set

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
