"""The workers: the requeues after a newer parent was read, and after an internal error."""

import asyncio

import pytest

from coxswain.kernel.api.errors import OutOfDate, Unreachable
from coxswain.kernel.manager import Manager
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.spec import WebApp
from unit.manager_bench import POISON, WEB, Scripted, during, raising
from unit.objects import observed_webapp

SLOW = Settings(queue=QueueSettings(retry_delay=30))


@pytest.mark.parametrize(
    ("found", "error", "repeated"),
    [
        ({"generation": 2}, OutOfDate("changed"), True),
        ({"uid": "uid-2"}, OutOfDate("changed"), True),
        ({}, OutOfDate("changes as fast as it is written"), False),
        ({"generation": 2}, Unreachable("reset"), False),
    ],
)
def test_a_reconcile_of_an_outdated_parent_is_repeated_at_once(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, object], error: Exception, repeated: bool
) -> None:
    """The store has the new parent then, so the event of its watch enqueues nothing."""
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp())

        async def reads_the_parent() -> Outcome:
            loop._store.observe(observed_webapp(version=11, metadata=found))
            return await raising(error)

        reconciler.acts[WEB] = reads_the_parent
        loop._queue.add(WEB)
        await asyncio.sleep(1)
        assert reconciler.asked == [WEB] * (2 if repeated else 1), "the second one finds the same generation"
        assert loop._queue.failures(WEB) == 1

    during(monkeypatch, reconciler, body, settings=SLOW)


def test_an_outdated_parent_that_is_gone_is_left_to_its_event(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp())

        async def is_gone() -> Outcome:
            loop._store.forget(observed_webapp().kind, WEB, 11)
            return await raising(OutOfDate("gone"))

        reconciler.acts[WEB] = is_gone
        loop._queue.add(WEB)
        await asyncio.sleep(1)
        assert reconciler.asked == [WEB]

    during(monkeypatch, reconciler, body, settings=SLOW)


def test_a_key_with_an_internal_error_probes_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stayed the candidate of the recovery probe, so no other key was retried early."""
    reconciler = Scripted({WEB: lambda: raising(ValueError("a defect"))})

    async def body(loop: Manager[WebApp]) -> None:
        for key in (WEB, POISON):
            loop._workers._failed(key, Unreachable("reset"))
        loop._queue.add(WEB)
        await asyncio.sleep(1)
        assert reconciler.asked == [WEB]
        assert loop._workers._recovery_probe.candidate == POISON

    during(monkeypatch, reconciler, body, settings=SLOW)
