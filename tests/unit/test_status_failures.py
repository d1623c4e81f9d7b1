"""Failed status writes: events neither repeat them at once nor shorten a Retry-After, and hold no other status up."""

import dataclasses
from datetime import timedelta

import pytest

from coxswain.kernel.api.errors import NotLeading, Refused, RequestFailed, Unreachable
from coxswain.webapp.kinds import DEPLOYMENT
from unit.bench import WEB, Bench
from unit.server import refusal

DENIED = refusal(403, 'admission webhook "x" denied the request: no')
INVALID = refusal(422, "status.children: Too many: 65: must have at most 64 items")
TRANSIENT = [refusal(403, "no"), refusal(404), refusal(500), DENIED, Unreachable("reset")]


def failing(error: RequestFailed) -> Bench:
    """Return a bench with another status to write; each write of the status fails."""
    bench = Bench()
    bench.converge()
    bench.now += 60
    bench.writer.fail("status", error)
    bench.ready_pods(0)
    return bench


def attempts(bench: Bench, seconds: float, *, every: float = 0.3) -> int:
    """Reconcile on each event. Return the number of status writes."""
    count = 0
    for _ in range(round(seconds / every)):
        try:
            bench.run(failures=9)
        except RequestFailed:
            assert bench.writer.sent == ["status"]
        count += bench.writer.sent.count("status")
        bench.now += every
        bench.time += timedelta(seconds=every)
    return count


@pytest.mark.parametrize("error", TRANSIENT)
def test_events_do_not_repeat_a_failed_write_at_once(error: RequestFailed) -> None:
    assert 8 <= attempts(failing(error), 10) <= 10


@pytest.mark.parametrize("error", TRANSIENT)
def test_a_wait_in_the_backoff_is_no_success(error: RequestFailed) -> None:
    bench = failing(error)
    for _ in range(2):
        with pytest.raises(type(error)):
            bench.run()
    outcome = bench.run()
    assert bench.writer.sent == []
    assert (outcome.failed, outcome.in_backoff, outcome.answered) == (None, True, False)
    assert outcome.after == pytest.approx(0.1)
    bench.writer.answers.clear()
    bench.now += 0.1
    assert not bench.run().in_backoff
    assert bench.writer.sent == ["status"]


@pytest.mark.parametrize("status", [403, 500, 503])
def test_nothing_shortens_retry_after(status: int) -> None:
    """Neither an event, nor another status, nor a resync, nor a change that was reverted meanwhile."""
    message = DENIED.message if status == 403 else "not now"
    bench = failing(Refused(status, {"message": message}, retry_after="30"))
    assert attempts(bench, 9, every=0.9) == 1
    bench.reconciler.resynced()
    bench.ready_pods(1)
    assert attempts(bench, 9, every=0.9) == 0
    bench.webapp(version=500, generation=2, revisionHistoryLimit=3)
    assert attempts(bench, 11.7, every=0.9) == 0
    assert bench.run().after == pytest.approx(0.3)
    bench.now += 0.4
    assert attempts(bench, 0.3) == 1


def test_a_status_refused_for_good_is_not_sent_again() -> None:
    """The times of its conditions are those of each reconcile."""
    bench = failing(INVALID)
    assert bench.run().refused is INVALID
    bench.time += timedelta(seconds=5)
    outcome = bench.run()
    assert bench.writer.sent == []
    assert (outcome.refused, outcome.in_backoff, outcome.answered, outcome.after) == (None, False, False, None)
    assert attempts(bench, 60, every=2) == 0


def test_another_status_than_the_one_refused_for_good_is_sent() -> None:
    bench = failing(INVALID)
    bench.run()
    bench.writer.answers.clear()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.version += 1
    progressing = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "slow"}
    content = {**live.content, "status": {**live.content["status"], "conditions": [progressing]}}
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, content=content))
    bench.run()
    assert bench.writer.sent == ["status"]


def test_a_newer_parent_gets_the_status_that_was_refused_for_good() -> None:
    bench = failing(INVALID)
    bench.run()
    bench.webapp(version=bench.writer.version + 1)
    bench.run()
    assert bench.writer.sent == ["status"]


def test_a_resync_sends_a_status_that_was_refused_for_good() -> None:
    """The CRD may have been upgraded."""
    bench = failing(INVALID)
    bench.run()
    bench.reconciler.resynced()
    bench.run()
    assert bench.writer.sent == ["status"]


@pytest.mark.parametrize(("error", "sent"), [(DENIED, ["status"]), (refusal(500), [])])
def test_a_denial_holds_no_other_status_up(error: RequestFailed, sent: list[str]) -> None:
    """A server error does: it has nothing to do with the status."""
    bench = failing(error)
    assert attempts(bench, 10) >= 8
    assert bench.run(failures=9).in_backoff
    bench.webapp(version=bench.writer.version + 1, paused=True)
    bench.writer.answers.clear()
    bench.run()
    assert bench.writer.sent == sent


def test_a_write_that_was_not_sent_is_no_failure_of_the_server() -> None:
    bench = failing(NotLeading("no longer"))
    for _ in range(9):
        with pytest.raises(NotLeading):
            bench.run()
    bench.writer.answers.clear()
    bench.run()
    assert bench.writer.sent == ["status"]


def test_a_status_without_effect_is_not_sent_again_when_time_has_passed() -> None:
    bench = failing(INVALID)
    bench.writer.answer("status", bench.webapp_now())
    assert attempts(bench, 60, every=2) == 1
