"""The status writer: immediate and delayed writes, and the reaction to a conflict."""

import asyncio
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.status.status_memory import StatusMemory
from coxswain.kernel.status.status_writer import Report, StatusWriter
from coxswain.kernel.status.urgency import Pace
from coxswain.settings import StatusSettings
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.workload import WORKLOAD
from unit.objects import observed_webapp
from unit.server import RecordingWriter, refusal

WEB = Key("shop", "web")
REPLICAS = 3


class Bench:
    """A status writer with a clock set by the test."""

    def __init__(self) -> None:
        self.store = Store(WEBAPP)
        self.writer = RecordingWriter()
        self.now = 0.0
        self.relisted: list[str] = []
        self.reporter = StatusWriter(
            self.store,
            self.writer,
            StatusSettings(),
            WORKLOAD.status_rules,
            clock=lambda: self.now,
            relist_parents=self.relisted.append,
        )
        self.memory = StatusMemory()
        self.store.observe(observed_webapp(status=status()))

    def report(self, *, unobserved: int | None = None, uncounted: bool = False, **changes: Any) -> Report:
        """Report a status of the WebApp in the store."""
        webapp = self.store.parent(WEB)
        assert webapp is not None
        deployed = Pace(REPLICAS, unobserved, uncounted)
        return asyncio.run(self.reporter.report(self.memory, webapp, status(**changes), deployed))


def status(ready: str = "False", **changes: Any) -> Any:
    """Return a status."""
    conditions = [{"type": "Ready", "status": ready}]
    return {"observedGeneration": 1, "conditions": conditions, "replicas": 1, "readyReplicas": 0, **changes}


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a WebApp that has a status."""
    return Bench()


def test_an_equal_status_is_not_written(bench: Bench) -> None:
    assert bench.report() == Report()
    assert bench.writer.sent == []


def test_a_condition_is_written_at_once(bench: Bench) -> None:
    assert bench.report(ready="True") == Report(written=True)


def test_an_unobserved_spec_is_reported_after_a_second(bench: Bench) -> None:
    assert bench.report(ready="True", unobserved=1) == Report(after=1.0)
    bench.now = 1.0
    assert bench.report(ready="True", unobserved=1) == Report(written=True)


def test_a_controller_that_observes_generation_after_generation_costs_no_write(bench: Bench) -> None:
    """T12: on a busy machine with a busy writer, the controller is never seen at the newest generation."""
    for generation in range(1, 50):
        bench.now += 0.5
        assert bench.report(ready="True", unobserved=generation) == Report(after=1.0)
    assert bench.report() == Report()


def test_counts_are_written_while_the_controller_lags(bench: Bench) -> None:
    for generation in range(1, 4):
        assert not bench.report(ready="True", replicas=2, unobserved=generation).written
        bench.now += 0.5
    assert bench.report(ready="True", replicas=2, unobserved=5).written


def test_a_new_generation_waits_for_the_first_count(bench: Bench) -> None:
    assert bench.report(observedGeneration=2, uncounted=True) == Report(after=20.0)
    bench.now = 0.3
    assert bench.report(observedGeneration=2, replicas=2) == Report(written=True)
    bench.now = 2.0
    assert bench.report(observedGeneration=3, replicas=2, uncounted=True) == Report(after=20.0)
    bench.now = 22.0
    assert bench.report(observedGeneration=3, replicas=2, uncounted=True) == Report(written=True)
    assert bench.report(ready="True", observedGeneration=3, uncounted=True) == Report(written=True)


def test_progress_waits_a_second_and_then_the_last_value_is_written(bench: Bench) -> None:
    assert bench.report(readyReplicas=1) == Report(after=1.0)
    bench.now = 0.4
    assert bench.report(readyReplicas=2).after == pytest.approx(0.6)
    bench.now = 1.0
    assert bench.report(readyReplicas=3) == Report(written=True)
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    assert webapp.content["status"]["readyReplicas"] == 3


def test_progress_is_written_at_most_once_a_second(bench: Bench) -> None:
    bench.report(readyReplicas=1)
    bench.now = 1.0
    assert bench.report(readyReplicas=1).written
    bench.now = 1.5
    assert bench.report(readyReplicas=2).after == pytest.approx(1.0)
    bench.now = 2.5
    assert bench.report(readyReplicas=2).written


def test_pods_that_end_before_the_first_count_are_reported_in_time(bench: Bench) -> None:
    """With the strategy Recreate, the new pods of a Deployment wait until the old ones end."""
    bench.report(ready="True", updatedReplicas=1)
    assert bench.report(observedGeneration=2, updatedReplicas=0, uncounted=True) == Report(after=20.0)
    assert bench.report(observedGeneration=2, replicas=0, updatedReplicas=0, uncounted=True) == Report(after=1.5)


def test_counts_alone_are_written_within_two_seconds(bench: Bench) -> None:
    assert bench.report(replicas=2) == Report(after=1.5)
    bench.now = 1.5
    assert bench.report(replicas=3).written


@pytest.mark.parametrize("count", ["replicas", "readyReplicas", "updatedReplicas"])
def test_a_missing_count_of_0_is_written_with_the_delay_of_counts(bench: Bench, count: str) -> None:
    """Another writer can remove a count."""
    counts: dict[str, Any] = {"replicas": 0, "readyReplicas": 0, "updatedReplicas": 0}
    before = status(**counts)
    del before[count]
    bench.store.observe(observed_webapp(version=20, status=before))
    assert bench.report(**counts) == Report(after=1.5)
    bench.now = 1.5
    assert bench.report(**counts) == Report(written=True)
    assert bench.report(**counts) == Report()


def test_a_missing_count_of_0_does_not_hasten_the_first_status(bench: Bench) -> None:
    bench.store.observe(observed_webapp(version=20, status={}))
    assert bench.report(replicas=0, uncounted=True) == Report(after=20.0)


def test_a_missing_count_of_0_does_not_delay_progress(bench: Bench) -> None:
    before = status(replicas=0)
    del before["replicas"]
    bench.store.observe(observed_webapp(version=20, status=before))
    assert bench.report(replicas=0, readyReplicas=1) == Report(after=1.0)


def test_more_ready_pods_than_asked_for_wait_for_the_old_ones_to_go(bench: Bench) -> None:
    bench.report(ready="True", readyReplicas=3)
    assert bench.report(ready="True", readyReplicas=4) == Report(after=20.0)
    bench.now = 1.0
    assert bench.report(ready="True", readyReplicas=4, replicas=2) == Report(after=1.5)
    bench.now = 10.0
    assert bench.report(ready="True", readyReplicas=4, replicas=2).written
    assert bench.report(ready="True", readyReplicas=3, replicas=2) == Report(after=1.5)


def test_progress_does_not_delay_counts(bench: Bench) -> None:
    bench.report(replicas=2)
    bench.now = 1.2
    assert bench.report(replicas=2, readyReplicas=1).after == pytest.approx(0.3)


def test_the_drift_ledger_does_not_delay_counts(bench: Bench) -> None:
    assert bench.report(drift=[{"count": 1}]).written
    bench.now = 10.0
    assert bench.report(drift=[{"count": 2}], replicas=2) == Report(after=1.5)


def test_counts_that_change_all_the_time_cost_two_writes_in_three_seconds(bench: Bench) -> None:
    written = 0
    for step in range(300):
        written += bench.report(replicas=step).written
        bench.now += 0.1
    assert 15 <= written <= 20


def test_a_delayed_write_is_dropped_when_the_status_is_true_again(bench: Bench) -> None:
    bench.report(readyReplicas=1)
    bench.report()
    bench.now = 5.0
    assert bench.report(readyReplicas=1) == Report(after=1.0)


def test_after_a_conflict_with_a_newer_cached_webapp_the_status_is_recomputed_at_once(bench: Bench) -> None:
    def overtaken() -> Any:
        bench.store.observe(observed_webapp(version=20, status=status()))
        raise refusal(409)

    bench.writer.answers["status"] = overtaken
    assert bench.report(ready="True") == Report(again=True)


def test_after_a_conflict_without_a_newer_webapp_the_parents_are_relisted(bench: Bench) -> None:
    bench.writer.fail("status", refusal(409))
    assert bench.report(ready="True") == Report(after=30.0)
    bench.now = 10.0
    assert bench.report(ready="True") == Report(after=20.0)
    assert (bench.writer.sent, bench.relisted) == (["status"], [])
    bench.now = 30.0
    assert bench.report(ready="True").after == 30.0
    assert (bench.writer.sent, bench.relisted) == (["status"], ["shop"])
    bench.store.observe(observed_webapp(version=20, status=status()))
    del bench.writer.answers["status"]
    assert bench.report(ready="True").written


def test_after_a_relist_without_a_newer_webapp_the_status_is_written_again(bench: Bench) -> None:
    """A proxy can answer 409, too. Then no newer version follows."""
    bench.writer.fail("status", refusal(409))
    bench.report(ready="True")
    bench.now = 30.0
    bench.report(ready="True")
    bench.now = 60.0
    assert bench.report(ready="True") == Report(after=30.0)
    assert (bench.writer.sent, bench.relisted) == (["status"] * 2, ["shop"]), "refused again: wait for the watch again"
    bench.now = 90.0
    bench.report(ready="True")
    assert bench.relisted == ["shop"] * 2
    del bench.writer.answers["status"]
    bench.now = 120.0
    assert bench.report(ready="True") == Report(written=True)


def test_a_resync_retries_a_status_with_a_conflict(bench: Bench) -> None:
    bench.writer.fail("status", refusal(409))
    bench.report(ready="True")
    del bench.writer.answers["status"]
    bench.reporter.resynced()
    assert bench.report(ready="True") == Report(written=True)


def test_a_404_for_a_cached_webapp_is_raised_and_retried(bench: Bench) -> None:
    bench.writer.fail("status", refusal(404))
    for _ in range(3):
        with pytest.raises(Refused):
            bench.report(ready="True")
        bench.now += 2
    del bench.writer.answers["status"]
    assert bench.report(ready="True") == Report(written=True)
    assert bench.relisted == []


def test_consecutive_conflicts_are_retried_with_backoff(bench: Bench) -> None:
    def overtaken() -> Any:
        bench.store.observe(observed_webapp(version=20 + len(bench.writer.sent), status=status()))
        raise refusal(409)

    bench.writer.answers["status"] = overtaken
    tried: list[float] = []
    while bench.now < 10.0:
        sent = len(bench.writer.sent)
        report = bench.report(ready="True")
        if len(bench.writer.sent) > sent:
            tried.append(round(bench.now, 3))
        bench.now += report.after or 0.001
    assert tried[:8] == pytest.approx([0.0, 0.001, 0.101, 0.301, 0.701, 1.501, 3.101, 5.101], abs=0.01)
    assert len(tried) == 10
    del bench.writer.answers["status"]
    assert bench.report(ready="True").written
    bench.writer.fail("status", refusal(409))
    assert bench.report(ready="False", replicas=2) == Report(after=30.0)


def test_conflicts_followed_by_an_event_count_too(bench: Bench) -> None:
    bench.writer.fail("status", refusal(409))
    for version in (20, 21, 22):
        bench.report(ready="True")
        bench.store.observe(observed_webapp(version=version, status=status()))
    assert (len(bench.writer.sent), bench.report(ready="True")) == (2, Report(after=0.1, in_backoff=True))


def test_the_status_of_a_changed_webapp_is_not_written(bench: Bench) -> None:
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    bench.store.observe(observed_webapp(version=20, status=status()))
    report = asyncio.run(bench.reporter.report(bench.memory, webapp, status(ready="True"), Pace(REPLICAS)))
    assert (report, bench.writer.sent) == (Report(again=True), [])


def test_a_webapp_changed_since_is_requeued_even_if_its_status_was_up_to_date(bench: Bench) -> None:
    """A GET of the reconcile may store a newer version. The watch event of that version then enqueues nothing."""
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    bench.store.observe(observed_webapp(version=20, status={}))
    report = asyncio.run(bench.reporter.report(bench.memory, webapp, status(), Pace(REPLICAS)))
    assert (report, bench.writer.sent) == (Report(again=True), [])
    assert bench.report() == Report(written=True)
    assert bench.report() == Report(), "the latest version is not requeued"


def test_a_status_without_effect_is_not_sent_again(bench: Bench) -> None:
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    bench.writer.answer("status", webapp)
    bench.report(ready="True")
    assert bench.report(ready="True") == Report()
    assert bench.writer.sent == ["status"]


def test_a_refusal_is_raised(bench: Bench) -> None:
    bench.writer.fail("status", refusal(403))
    with pytest.raises(Refused):
        bench.report(ready="True")


def test_the_ledger_is_written_at_once_and_then_at_most_once_a_minute(bench: Bench) -> None:
    assert bench.report(drift=[{"count": 1}]) == Report(written=True)
    bench.now = 20.0
    assert bench.report(drift=[{"count": 2}]) == Report(after=40.0)
    bench.now = 60.0
    assert bench.report(drift=[{"count": 3}]) == Report(written=True)
    bench.now = 500.0
    assert bench.report(drift=[{"count": 4}]) == Report(written=True)


def test_another_write_takes_the_ledger_along(bench: Bench) -> None:
    bench.report(drift=[{"count": 1}])
    bench.now = 20.0
    assert bench.report(ready="True", drift=[{"count": 2}]) == Report(written=True)
    bench.now = 30.0
    assert bench.report(ready="True", drift=[{"count": 3}]) == Report(after=50.0)
    assert bench.report(ready="True", drift=[{"count": 2}]) == Report()


def test_fields_missing_in_the_crd_are_omitted_until_the_next_resync(bench: Bench) -> None:
    message = "failed to create typed patch object: .status.drift: field not declared in schema"
    bench.writer.fail("status", refusal(500, message))
    assert bench.report(ready="True", drift=[]) == Report(again=True, undeclared=("drift",))
    del bench.writer.answers["status"]
    assert bench.report(drift=[{"count": 1}]) == Report(), "without the undeclared field the statuses are equal"
    bench.reporter.resynced()
    assert bench.report(drift=[{"count": 1}]) == Report(written=True)
