"""What counts as the outcome of a revision, and which one a rollback runs, with how many pods."""

import pytest

from coxswain.webapp.kinds import DEPLOYMENT
from unit.release_bench import ReleaseBench
from unit.test_rollback import BAD, ONE, ROLLBACK, TWO, failed, released

pytestmark = pytest.mark.model

CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "db"}}]


def test_an_older_failure_is_not_that_of_a_new_revision() -> None:
    """The template of the pods stays, so the Deployment goes on to report it."""
    bench = released()
    bench.time_out()
    bench.pass_time(60)
    bench.change(service={"annotations": {"team": "a"}})
    bench.settle()
    assert (bench.running, bench.note(2, "failed")) == (ONE, None)
    assert (bench.condition("Ready") or "")[:2] == ("False", "ProgressDeadlineExceeded")
    assert bench.live("Service")[0]["metadata"]["annotations"]["team"] == "a"
    bench.roll_out()
    assert (bench.condition("Ready") or "")[0] == "True"
    failed(bench, image=BAD)
    assert (bench.running, bench.condition("RolledBack") is not None) == (ONE, True)
    assert bench.live("Service")[0]["metadata"]["annotations"]["team"] == "a", "revision 2 was Ready"


def test_a_failure_in_the_second_of_an_undo_is_not_that_of_the_undone_revision() -> None:
    """The Deployment reports the missed deadline until the pods of the former revision start in its ReplicaSet."""
    bench = released()
    bench.release(image=TWO)
    bench.change(image=BAD)
    bench.settle()
    time = bench.time
    bench.time_out()
    bench.time = time
    bench.change(image=TWO)
    bench.settle()
    generation = bench.deployment["metadata"]["generation"]
    bench.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": {"observedGeneration": generation}})
    bench.settle()
    assert bench.note(4, "failed") is None
    assert bench.running == TWO


def test_a_failure_before_a_removal_is_not_that_of_the_revision() -> None:
    """No managedFields entry has the time and the manager of a change that only removes fields."""
    bench = released()
    bench.change(service={"sessionAffinity": "ClientIP"})
    bench.settle()
    bench.roll_out()
    bench.pass_time(60)
    bench.time_out()
    bench.pass_time(60)
    removed_at = bench.time.strftime("%Y-%m-%dT%H:%M:%SZ")
    bench.change(service={"sessionAffinity": None})
    bench.settle()
    assert (bench.note(3, "failed"), bench.condition("RolledBack")) == (None, None)
    assert bench.live("Service")[0]["spec"]["sessionAffinity"] == "None"
    assert (bench.note(3, "changed-at"), bench.note(3, "changed-by")) == (removed_at, "unknown")
    assert (bench.note(2, "changed-at") or "") < removed_at
    bench.time_out()
    assert bench.condition("RolledBack") is not None, "this failure is later"


def test_two_changes_within_a_second_have_both_their_manager() -> None:
    bench = ReleaseBench()
    for image in (ONE, TWO):
        bench.change(image=image)
        bench.reconcile_once()
    assert [bench.note(number, "changed-by") for number in (1, 2)] == ["kubectl-edit"] * 2
    assert bench.note(1, "changed-at") == bench.note(2, "changed-at")


def test_a_revision_without_pods_was_never_ready() -> None:
    bench = released()
    bench.change(replicas=0)
    bench.settle()
    bench.release(image=BAD)
    assert (bench.condition("Ready") or "")[0] == "True"
    assert bench.note(2, "ready-at") is None
    bench.change(replicas=3)
    bench.settle()
    bench.time_out()
    assert bench.running == ONE
    failed(bench, image=TWO)
    assert (bench.images, bench.running) == ({1: ONE, 2: BAD, 3: TWO}, ONE)


def test_the_target_of_a_rollback_is_kept_beyond_the_limit() -> None:
    """A spec that was Ready once and has failed since is no target."""
    bench = ReleaseBench(rollout={**ROLLBACK, "revisionHistoryLimit": 1})
    bench.settle()
    bench.roll_out()
    bench.release(image=TWO)
    failed(bench, image=ONE)
    assert bench.running == TWO
    bench.roll_out()
    failed(bench, image=BAD)
    assert bench.running == TWO


def test_a_claim_that_comes_back_serves_one_pod() -> None:
    """The schema refuses more replicas beside such a claim, but sees the written spec only."""
    recreate, rolling = ({**ROLLBACK, "strategy": strategy} for strategy in ("Recreate", "RollingUpdate"))
    bench = ReleaseBench(rollout=recreate, volumes=CLAIM)
    bench.settle()
    bench.roll_out()
    failed(bench, image=BAD, replicas=3, volumes=None, rollout=rolling)
    assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, 1)


def test_a_shared_claim_serves_several_pods() -> None:
    shared = [{"name": "data", "persistentVolumeClaim": {"claimName": "db", "shared": True}}]
    bench = ReleaseBench(replicas=3, volumes=shared)
    bench.settle()
    bench.roll_out()
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 5}})
    bench.settle()
    assert bench.deployment["spec"]["replicas"] == 3


def test_a_kept_count_does_not_share_a_claim() -> None:
    bench = ReleaseBench(autoscaling={"maxReplicas": 5})
    bench.settle()
    bench.roll_out()
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 5}})
    bench.settle()
    bench.change(autoscaling=None, rollout={"strategy": "Recreate"}, volumes=CLAIM)
    bench.settle()
    bench.settle()
    assert bench.deployment["spec"]["replicas"] == 1


def test_a_pause_during_a_rollback_is_reported() -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.change(paused=True)
    bench.settle()
    assert (bench.running, bench.status["runningRevision"]) == (ONE, 1)
    assert (bench.condition("Progressing") or "")[:2] == ("False", "Paused")
    assert (bench.condition("RolledBack") or "")[:2] == ("True", "RolloutFailed")
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 5}})
    bench.settle()
    assert (bench.condition("Ready") or "")[:2] == ("False", "RolledBack")
    assert bench.status["runningRevision"] == 1, "the drift changes nothing about that"


def test_a_pause_between_failure_and_rollback_leaves_the_failed_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = released()
    bench.change(image=BAD)
    bench.settle()
    with monkeypatch.context() as patched:
        patched.setattr(bench, "settle", bench.reconcile_once)
        bench.time_out()
    assert bench.note(2, "failed")
    bench.change(paused=True)
    bench.settle()
    assert (bench.running, bench.status.get("runningRevision")) == (BAD, None)
    assert bench.condition("RolledBack") is None
    assert (bench.condition("Progressing") or "")[:2] == ("False", "Paused")
    assert (bench.condition("Ready") or "")[:2] == ("False", "Differs")
    bench.change(paused=False)
    bench.settle()
    assert (bench.running, bench.status["runningRevision"]) == (ONE, 1)


def test_the_count_of_a_failed_spec_without_autoscaling_holds() -> None:
    """The autoscaler of the earlier revision would make `kubectl scale` of the WebApp useless, even to 0."""
    bench = released(autoscaling={"minReplicas": 2, "maxReplicas": 8}, replicas=None)
    failed(bench, image=BAD, autoscaling=None, replicas=3)
    assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, 3)
    assert bench.live("HorizontalPodAutoscaler") == []
    for count in (5, 0):
        bench.change(replicas=count)
        bench.settle()
        assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, count)


def test_a_failed_spec_that_only_removes_autoscaling_leaves_the_count() -> None:
    bench = released(autoscaling={"minReplicas": 2, "maxReplicas": 8}, replicas=None)
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 6}})
    bench.settle()
    failed(bench, image=BAD, autoscaling=None)
    assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, 6)
