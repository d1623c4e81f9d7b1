"""A status that the API server refuses for good: everything else of the reconcile takes place."""

import asyncio
import dataclasses

import pytest

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.manager import Manager
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.kinds import SERVICE
from coxswain.webapp.spec import WebApp
from unit.bench import Bench
from unit.manager_bench import WEB, Scripted, during
from unit.metric_changes import Change
from unit.objects import observed_child
from unit.server import refusal

INVALID = refusal(422, "status.children: Too many: 65: must have at most 64 items")


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.webapp()
    bench.writer.fail("status", INVALID)
    return bench


def test_a_failed_child_is_retried_all_the_same(bench: Bench) -> None:
    forbidden = refusal(403, "exceeded quota")
    bench.writer.fail("create Service", forbidden)
    outcome = bench.run()
    assert (outcome.failed, outcome.refused) == (forbidden, INVALID)
    assert [told.reason for told in bench.events.told].count("Refused") == 1


def test_a_taken_name_is_read_again_all_the_same(bench: Bench) -> None:
    theirs = dataclasses.replace(observed_child(SERVICE), label=None, controller=None)
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", theirs)
    outcome = bench.run()
    assert (outcome.refused, outcome.failed, outcome.after) == (INVALID, None, 60.0)


def test_a_refused_status_is_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.run()
    bench.now += 20
    outcome = bench.run()
    assert (outcome.refused, outcome.failed) == (INVALID, None)
    assert "the status is not written until the parent or its children change: 422" in caplog.text


def test_a_transient_error_still_ends_the_reconcile(bench: Bench) -> None:
    bench.writer.fail("status", Unreachable("reset"))
    bench.run()
    bench.now += 20
    with pytest.raises(Unreachable):
        bench.run()


def test_it_counts_as_a_terminal_error_and_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act() -> Outcome:
        return Outcome(refused=Refused(422, {"message": "Too many"}), answered=True)

    reconciler, change = Scripted({WEB: act}), Change()

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        await asyncio.sleep(5)
        assert reconciler.asked == [WEB]

    during(monkeypatch, reconciler, body, settings=Settings(queue=QueueSettings(retry_delay=1)))
    assert change.of("controller_runtime_terminal_reconcile_errors_total", controller="webapp") == 1
