"""The backoff of a child after failed writes: events do not shorten it, and a wait is no success."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused, RequestFailed, Unreachable
from coxswain.kernel.cache.store import Key
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.projection import Controller
from coxswain.kernel.reconciling.memory.backoff import Backoff
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.status.health import MISSING
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.kinds import SERVICE
from coxswain.webapp.spec import WebApp
from unit.bench import WEB, Bench
from unit.manager_bench import Scripted, during
from unit.objects import observed_child
from unit.server import refusal

FAILURES = [
    refusal(409, "the object has been modified"),
    refusal(403, "no"),
    refusal(500, "no"),
    refusal(422, 'admission webhook "x" denied the request: no'),
    Unreachable("reset"),
]


def failing(error: RequestFailed) -> Bench:
    """Return a bench with a changed Service; each of its updates fails."""
    bench = Bench()
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    bench.writer.fail("update Service", error)
    bench.writer.answer("look Service", live)
    change(bench, "NodePort")
    return bench


def change(bench: Bench, service: str, **spec: Any) -> None:
    """Change the type of the Service."""
    bench.writer.version += 1
    generation = bench.webapp_now().generation + 1
    bench.webapp(version=bench.writer.version, generation=generation, service={"type": service}, **spec)
    bench.writer.answers["look WebApp"] = bench.webapp_now


def updates(bench: Bench, seconds: float, *, every: float) -> int:
    """Reconcile on each event. Return the number of updates of the Service."""
    count = 0
    for _ in range(round(seconds / every)):
        bench.run(failures=9)
        count += bench.writer.sent.count("update Service")
        bench.now += every
    return count


@pytest.mark.parametrize("error", FAILURES)
def test_events_do_not_repeat_a_failed_write_at_once(error: RequestFailed) -> None:
    assert 8 <= updates(failing(error), 10, every=0.3) <= 10


@pytest.mark.parametrize("error", FAILURES)
def test_a_wait_in_the_backoff_is_no_success(error: RequestFailed) -> None:
    bench = failing(error)
    for failures in range(2):
        failed = bench.run(failures=failures)
        assert failed.failed is not None
        assert not failed.in_backoff
    waiting = bench.run(failures=2)
    assert "update Service" not in bench.writer.sent
    assert (waiting.failed, waiting.in_backoff) == (None, True)
    assert waiting.after == pytest.approx(0.1)
    bench.now += 0.1
    bench.writer.answers.clear()
    assert not bench.run(failures=2).in_backoff
    assert "update Service" in bench.writer.sent


def test_a_conflict_is_not_reported_again_when_another_child_fails() -> None:
    """Earlier failures of the WebApp do not count for a child that fails for the first time."""
    bench = Bench()
    bench.converge()
    bench.writer.fail("update Service", refusal(403))
    bench.webapp(version=500, generation=2, image="registry.example/web:2", labels={"a": "b"})
    bench.run(failures=9)
    bench.writer.fail("update Deployment", refusal(409))
    bench.webapp(version=600, generation=3, image="registry.example/web:3", labels={"a": "b"})
    bench.run(failures=10)
    assert not [told for told in bench.events.told if "Deployment" in told.note]


def test_a_removal_in_its_backoff_waits_too() -> None:
    bench = Bench()
    bench.converge()
    bench.writer.fail("remove Service", refusal(409))
    bench.writer.version += 1
    bench.webapp(version=bench.writer.version, generation=2, ports=[])
    for _ in range(2):
        assert not bench.run().in_backoff
    assert bench.run().in_backoff


def test_a_wait_reports_the_cause_of_the_last_failure() -> None:
    bench = failing(FAILURES[0])
    for failures in range(4):
        bench.run(failures=failures)
        bench.now += 2
    assert bench.conditions()["Ready"] == ("False", "Refused")
    for _ in range(20):
        bench.run(failures=4)
        assert bench.conditions()["Ready"] == ("False", "Refused")
        bench.now += 0.3


@pytest.mark.parametrize("error", FAILURES[1:])
def test_a_changed_manifest_is_written_at_once(error: RequestFailed) -> None:
    bench = failing(error)
    assert updates(bench, 0.03, every=0.01) == 2
    change(bench, "LoadBalancer")
    bench.run()
    assert "update Service" in bench.writer.sent


def test_a_changed_manifest_does_not_end_the_backoff_after_conflicts() -> None:
    """K36: the WebApp may change as often as its child."""
    bench = failing(FAILURES[0])
    assert updates(bench, 0.03, every=0.01) == 2
    change(bench, "LoadBalancer")
    assert bench.run().in_backoff
    assert "update Service" not in bench.writer.sent


def test_another_change_of_the_webapp_does_not_end_the_backoff() -> None:
    bench = failing(FAILURES[1])
    bench.run()
    bench.run()
    change(bench, "NodePort", image="registry.example/web:2")
    bench.run()
    assert [sent for sent in bench.writer.sent if sent != "status"] == ["update Deployment"]


@pytest.mark.parametrize("error", FAILURES)
def test_a_failing_child_is_not_retried_at_the_end_of_the_backoff_of_another(error: RequestFailed) -> None:
    """Otherwise each would be tried every other second, and the delay of the WebApp would never grow."""
    bench = failing(error)
    for failures in range(2):
        bench.run(failures=failures)
    bench.writer.fail("update Deployment", FAILURES[1])
    change(bench, "NodePort", image="registry.example/web:2")
    outcome = bench.run(failures=2)
    assert [sent for sent in bench.writer.sent if sent != "status"] == ["update Deployment"]
    assert (outcome.failed, outcome.in_backoff) == (FAILURES[1], True)
    assert outcome.after in (None, 1.0), "no wait, or that of the status"
    bench.writer.answers.clear()
    bench.now += 0.05
    outcome = bench.run(failures=3)
    assert (outcome.failed, outcome.in_backoff) == (None, True), "the Service keeps its own backoff"
    assert outcome.after == pytest.approx(0.05)
    bench.now += 0.05
    bench.run(failures=3)
    assert "update Service" in bench.writer.sent


def test_the_read_of_a_taken_name_is_due_in_time_while_another_child_fails() -> None:
    """The child with the taken name is in its backoff, and its next read is not."""
    bench = Bench()
    theirs = dataclasses.replace(observed_child(SERVICE, label=None), controller=Controller("Shop", "theirs", "uid-9"))
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", theirs)
    bench.webapp()
    bench.run()
    bench.memory.child("Service/web").backoff = Backoff(9, bench.now, MISSING)
    bench.writer.fail("update Deployment", FAILURES[1])
    bench.webapp(version=500, image="registry.example/web:2")
    outcome = bench.run()
    assert (outcome.failed, outcome.in_backoff, outcome.after) == (FAILURES[1], True, 60)


@pytest.mark.parametrize("status", [409, 500, 503])
def test_events_do_not_shorten_retry_after(status: int) -> None:
    bench = failing(Refused(status, {"message": "not now"}, retry_after="30"))
    assert updates(bench, 29.7, every=0.9) == 1
    assert bench.run().after == pytest.approx(0.3)
    bench.now += 0.4
    bench.run()
    assert "update Service" in bench.writer.sent


def test_a_wait_keeps_the_failures_of_the_key_and_ends_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Key(WEB.namespace, "other")

    async def body(loop: Manager[WebApp]) -> None:
        workers = loop._workers
        for key in (WEB, other):
            workers._failed(key, Unreachable("reset"))
        workers._follow_up(WEB, Outcome(in_backoff=True, after=20))
        assert len(loop._queue) == 0, "the other WebApps are not requeued"
        assert loop._queue.failures(WEB) == 1
        assert workers._recovery_probe.candidate == other, "the probe does not wait for this WebApp"
        workers._follow_up(WEB, Outcome(answered=True))
        assert loop._queue.failures(WEB) == 0
        assert len(loop._queue) == 1

    during(monkeypatch, Scripted({}), body, settings=Settings(queue=QueueSettings(retry_delay=30)))
