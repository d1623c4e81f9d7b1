"""Rollback after a failed rollout: everything goes back together, and stays until the spec changes."""

from typing import Any

import pytest

from coxswain.kernel.status.conditions import ConditionState
from coxswain.webapp.kinds import CONTROLLER_REVISION, DEPLOYMENT, WEBAPP
from coxswain.webapp.releases.rollback import rolled_back_conditions, way_to_undo
from coxswain.webapp.spec import Rollback
from unit.objects import webapp
from unit.release_bench import Crash, ReleaseBench

pytestmark = pytest.mark.model

ONE, TWO, THREE, BAD = (f"registry.example/web:{tag}" for tag in ("1", "2", "3", "bad"))
ROLLBACK = {"onFailure": "Rollback"}
GOES_BACK = (
    "The operator runs revision 1 until the spec changes. Correct the spec, or go back to revision 1: "
    "kubectl coxswain undo web -n shop"
)


def released(**spec: Any) -> ReleaseBench:
    """Return a bench with a Ready WebApp that rolls back."""
    bench = ReleaseBench(rollout=ROLLBACK, **spec)
    bench.settle()
    bench.roll_out()
    return bench


def failed(bench: ReleaseBench, **spec: Any) -> None:
    """Change the spec, and let its rollout time out."""
    bench.change(**spec)
    bench.settle()
    bench.time_out()


def config(bench: ReleaseBench) -> str:
    """Return the value of `B` in the ConfigMap that the pods use."""
    (variable,) = [
        each for each in bench.deployment["spec"]["template"]["spec"]["containers"][0]["env"] if each["name"] == "B"
    ]
    name = variable["valueFrom"]["configMapKeyRef"]["name"]
    return next(str(each["data"]["B"]) for each in bench.live("ConfigMap") if each["metadata"]["name"] == name)


def test_config_service_and_pods_go_back_together() -> None:
    bench = released()
    failed(bench, image=BAD, config={"B": "broken"}, labels={"team": "blue"})
    assert (bench.running, config(bench)) == (ONE, "2")
    assert bench.live("Service")[0]["metadata"]["labels"]["team"] == "red"
    assert bench.images == {1: ONE, 2: BAD}
    assert str(bench.note(2, "failed")).startswith("ProgressDeadlineExceeded: Deployment web: ")
    assert bench.note(2, "ready-at") is None


def test_the_status_is_honest() -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.roll_out()
    status, reason, message = bench.condition("Ready") or ("", "", "")
    assert (status, reason) == ("False", "RolledBack")
    assert message.startswith("revision 2 failed: ProgressDeadlineExceeded: Deployment web: ")
    assert message.endswith(f". {GOES_BACK}")
    assert (bench.condition("RolledBack") or "")[:2] == ("True", "RolloutFailed")
    assert (bench.condition("Stalled") or "")[:2] == ("True", "RolledBack")
    assert (bench.condition("Progressing") or "")[:2] == ("False", "RolledBack")
    assert (bench.condition("Available") or "")[0] == "True"
    assert [bench.status[name] for name in ("revision", "previousRevision", "runningRevision")] == [2, 1, 1]
    assert len({told.note for told in bench.events.told if told.reason == "RolledBack"}) == 1
    assert bench.settle() == 0


DESCRIBE = "Check its log: kubectl logs --previous -l a=web -n shop"
CHECK = "Check spec.image or spec.imagePullSecrets"


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (f"Crash: it exits. The kubelet retries. {DESCRIBE}; message: panic", "Crash: it exits. The kubelet retries"),
        (f"NoImage: no image. {CHECK}: kubectl edit webapp web -n shop; message: panic", f"NoImage: no image. {CHECK}"),
        ("Deadline: has timed out; message: panic", "Deadline: has timed out"),
    ],
)
def test_the_failure_comes_first_and_one_command_last(cause: str, told: str) -> None:
    """The pods of the failed revision are gone, so the command of its failure has nothing to show."""
    well, bad = ConditionState("True", "Ready", ""), ConditionState("False", "Crash", "it exits: kubectl edit it")
    rollback = Rollback({}, 2, cause, 1)  # type: ignore[typeddict-item]
    found = rolled_back_conditions(webapp(), rollback, {"Ready": well, "Progressing": well})
    expected = f"revision 2 failed: {told}. {GOES_BACK}; message: panic"
    assert [found[name].message for name in ("Ready", "Stalled", "RolledBack")] == [expected] * 3
    unhealthy = rolled_back_conditions(webapp(), rollback, {"Ready": bad, "Progressing": well})["Ready"].message
    assert unhealthy == f"revision 2 failed: {told}. {GOES_BACK}. Revision 1 is not healthy: {bad.message}"


def test_the_advice_after_kubectl_rollout_undo_ends_with_the_command() -> None:
    advice = "To return to an earlier revision, change the spec or run: kubectl coxswain undo web -n shop"
    assert way_to_undo(webapp()).endswith(f". {advice}")


def test_without_rollback_the_rollout_is_held_and_the_failure_recorded() -> None:
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    failed(bench, image=BAD)
    assert bench.running == BAD
    assert (bench.condition("Ready") or "")[:2] == ("False", "ProgressDeadlineExceeded")
    assert bench.condition("RolledBack") is None
    assert bench.note(2, "failed") is not None
    bench.roll_out()
    assert (bench.note(2, "failed"), bench.note(2, "ready-at") is None) == (None, False), "it became Ready after all"


def test_a_first_revision_that_fails_has_nothing_to_go_back_to() -> None:
    bench = ReleaseBench(rollout=ROLLBACK)
    bench.settle()
    bench.time_out()
    assert bench.running == ONE
    status, reason, message = bench.condition("Ready") or ("", "", "")
    assert (status, reason) == ("False", "ProgressDeadlineExceeded")
    assert message.startswith(
        "spec.rollout.onFailure is Rollback, but each earlier revision "
        "was never Ready or has failed since. Deployment web: "
    )
    assert bench.settle() == 0


def test_it_goes_back_to_the_last_revision_that_was_ready() -> None:
    bench = released()
    bench.release(image=TWO)
    failed(bench, image=BAD)
    failed(bench, image=f"{BAD}-too")
    assert bench.running == TWO
    assert bench.status["runningRevision"] == 2


def test_a_new_spec_ends_the_rollback() -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.change(image=THREE)
    bench.reconcile_once()
    assert bench.running == THREE, "at once, before its revision is recorded"
    bench.settle()
    assert bench.condition("RolledBack") is None
    assert "runningRevision" not in bench.status
    bench.roll_out()
    assert (bench.condition("Ready") or "")[0] == "True"
    assert bench.images == {1: ONE, 2: BAD, 3: THREE}


def test_an_undo_is_ready_at_once() -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.roll_out()
    bench.change(image=ONE)
    bench.settle()
    assert (bench.condition("Ready") or "")[0] == "True"
    assert bench.images == {2: BAD, 3: ONE}
    assert bench.note(3, "ready-at") is not None


def test_the_same_spec_is_tried_again_if_the_user_asks_for_it_again() -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.change(image=ONE)
    bench.settle()
    bench.change(image=BAD)
    bench.settle()
    assert bench.running == BAD
    assert bench.note(4, "failed") is None
    bench.time_out()
    assert (bench.running, bench.images) == (ONE, {3: ONE, 4: BAD})


@pytest.mark.parametrize("change", [{"replicas": 3}, {"paused": False}])
def test_scaling_does_not_end_the_rollback(change: Any) -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.change(**change)
    bench.settle()
    assert bench.running == ONE
    assert bench.deployment["spec"]["replicas"] == change.get("replicas", 1)


def test_a_rollback_that_fails_too_is_reported_and_held() -> None:
    bench = released()
    bench.release(image=TWO)
    failed(bench, image=BAD)
    bench.time_out()
    before = bench.deployment
    bench.pass_time(3600)
    assert bench.settle() == 0
    assert bench.deployment == before
    assert bench.running == TWO
    assert "Revision 2 is not healthy: Deployment web: " in (bench.condition("Ready") or ("", "", ""))[2]
    assert bench.note(2, "failed") is None, "it was Ready once, and that stays true"


def test_a_ready_revision_is_not_rolled_back_when_its_pods_fail_later() -> None:
    bench = released()
    bench.release(image=TWO)
    bench.time_out()
    assert bench.running == TWO
    assert bench.condition("RolledBack") is None


def test_a_paused_webapp_is_not_rolled_back() -> None:
    bench = released()
    bench.change(image=BAD)
    bench.settle()
    bench.change(paused=True)
    bench.time_out()
    assert bench.running == BAD
    bench.change(paused=False)
    bench.settle()
    assert bench.running == ONE


def test_an_autoscaler_keeps_its_count() -> None:
    bench = released(autoscaling={"minReplicas": 2, "maxReplicas": 9}, replicas=None)
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 7}})
    bench.settle()
    bench.roll_out()
    failed(bench, image=BAD)
    assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, 7)


def test_an_autoscaler_that_comes_with_the_failed_spec_leaves_the_count() -> None:
    bench = released(replicas=3)
    bench.change(image=BAD, replicas=None, autoscaling={"minReplicas": 2, "maxReplicas": 9})
    bench.settle()
    bench.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 7}})
    bench.time_out()
    bench.settle()
    assert (bench.running, bench.deployment["spec"]["replicas"]) == (ONE, 7)


def test_fields_of_a_co_writer_stay_by_policy() -> None:
    rules = {"rules": [{"kind": "Deployment", "path": "spec.minReadySeconds", "policy": "Yield"}]}
    bench = released(conflicts=rules)
    theirs = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"minReadySeconds": 9},
    }
    bench.apply(DEPLOYMENT.path("shop", "web"), theirs)
    failed(bench, image=BAD)
    assert (bench.running, bench.deployment["spec"]["minReadySeconds"]) == (ONE, 9)


def test_the_policies_of_the_failed_spec_hold() -> None:
    """They concern the operation, not the release."""
    field = {"kind": "Deployment", "path": "spec.strategy.rollingUpdate.maxSurge"}
    bench = released()
    failed(bench, image=BAD, conflicts={"rules": [{**field, "policy": "Yield"}]})
    spec = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}}}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    bench.apply(DEPLOYMENT.path("shop", "web"), {**head, "spec": spec})
    bench.settle()
    assert (bench.running, bench.deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"]) == (ONE, 3)


def test_a_deleted_target_means_the_one_before_and_no_target_the_written_spec() -> None:
    bench = released()
    bench.release(image=TWO)
    failed(bench, image=BAD)
    bench.delete(CONTROLLER_REVISION.path("shop", bench.revisions[2]["metadata"]["name"]))
    bench.settle()
    assert bench.running == ONE
    bench.delete(CONTROLLER_REVISION.path("shop", bench.revisions[1]["metadata"]["name"]))
    bench.settle()
    assert bench.running == BAD
    assert bench.condition("RolledBack") is None


def state(bench: ReleaseBench) -> Any:
    """Return what a crash must not change: the children, and the status without times."""
    conditions = {
        each["type"]: (each["status"], each["reason"], each["message"]) for each in bench.status["conditions"]
    }
    numbers = {name: bench.status.get(name) for name in ("revision", "previousRevision", "runningRevision")}
    notes = {number: bench.note(number, "failed") for number in bench.revisions}
    return bench.running, config(bench), bench.images, notes, conditions, numbers


def crashing(writes: int | None) -> tuple[ReleaseBench, bool]:
    """Roll back, and back to the written spec by an undo. Crash before a write; tell whether that came about."""
    bench = released()
    crashed = False

    def step(act: Any) -> None:
        nonlocal crashed
        try:
            act()
        except Crash:
            crashed, bench.transport.writes_left = True, None
            bench.restart()
            bench.settle()

    bench.change(image=BAD, config={"B": "broken"})
    bench.transport.writes_left = writes
    step(bench.settle)
    step(bench.time_out)
    step(bench.roll_out)
    bench.transport.writes_left = None
    return bench, crashed


@pytest.mark.thorough
def test_a_crash_before_any_write_changes_nothing_in_the_end() -> None:
    expected, _ = crashing(None)
    assert (expected.running, config(expected)) == (ONE, "2")
    writes = 0
    while True:
        bench, crashed = crashing(writes)
        if not crashed:
            break
        assert state(bench) == state(expected), f"after a crash before write {writes}"
        assert bench.settle() == 0
        writes += 1
    assert writes >= 8, "the crashes cover the change, the failure, the rollback and the status"


def test_the_record_is_read_once() -> None:
    bench = released()
    failed(bench, image=BAD)
    bench.roll_out()
    bench.restart()
    reads = f"GET controllerrevisions/{bench.revisions[1]['metadata']['name']}"
    bench.settle()
    bench.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {"a": "b"}}})
    bench.transport.sent, sent = [], bench.transport.sent
    assert sent.count(reads) == 1
    bench.settle()
    assert reads not in bench.transport.sent
