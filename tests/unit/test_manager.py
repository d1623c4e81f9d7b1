"""The manager: the failure of one WebApp does not affect others, and a shutdown drains in-flight reconciles."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from coxswain.kernel.api.errors import Refused, RequestFailed, ShuttingDown, Unreachable
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.kinds import SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS
from unit.manager_bench import POISON, WEB, Empty, Scripted, during, raising, virtually
from unit.objects import observed_child, observed_webapp


@pytest.mark.parametrize("error", [ValueError("a defect"), RequestFailed("x"), Unreachable("reset")])
def test_a_failing_webapp_does_not_block_others(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    reconciler = Scripted({POISON: lambda: raising(error)})

    async def body(loop: Manager[WebApp]) -> None:
        for _ in range(3):
            loop._queue.add(POISON)
            loop._queue.add(WEB)
            while reconciler.asked[-1:] != [WEB]:
                await asyncio.sleep(0.01)
            reconciler.asked.append(POISON)
        while reconciler.asked.count(POISON) < 7:
            await asyncio.sleep(0.01)
        assert loop._queue.failures(POISON) >= 2
        assert loop._queue.failures(WEB) == 0

    during(monkeypatch, reconciler, body)


def test_when_the_server_recovers_for_one_key_the_others_are_retried_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """During the outage one key at a time is retried, in turn. With their own delays all would wait half a minute."""
    keys = [Key("shop", f"web-{number}") for number in range(5)]
    back = False

    async def act() -> Outcome:
        return Outcome(answered=True) if back else await raising(Unreachable("reset"))

    reconciler = Scripted(dict.fromkeys(keys, act))

    async def body(loop: Manager[WebApp]) -> None:
        nonlocal back
        for key in keys:
            loop._queue.add(key)
        while len(reconciler.asked) < 15:
            await asyncio.sleep(0.01)
        assert Counter(reconciler.asked[:15]) == dict.fromkeys(keys, 3)
        back = True
        asked = len(reconciler.asked)
        while len(reconciler.asked) < asked + 5:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        assert sorted(reconciler.asked[asked:]) == keys

    queue = QueueSettings(retry_delay=30, recovery_probe_interval=0.05)
    during(monkeypatch, reconciler, body, settings=Settings(queue=queue))


def test_a_failed_retry_does_not_end_the_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """K23: a failure shown in the status counted as a success, and all waiting WebApps were retried at once."""
    keys = [Key("shop", f"web-{number}") for number in range(5)]

    async def body(loop: Manager[WebApp]) -> None:
        for key in keys:
            loop._workers._failed(key, Unreachable("reset"))
        loop._workers._follow_up(keys[0], Outcome(failed=Unreachable("reset")))
        assert (len(loop._queue), loop._workers._recovery_probe.candidate) == (0, keys[1])
        loop._workers._follow_up(keys[1], Outcome())
        assert (len(loop._queue), loop._workers._recovery_probe.candidate) == (0, keys[2]), "no request was answered"
        loop._workers._follow_up(keys[2], Outcome(answered=True))
        assert (len(loop._queue), loop._workers._recovery_probe.candidate) == (3, None)

    during(monkeypatch, Scripted({}), body, settings=Settings(queue=QueueSettings(retry_delay=30)))


@pytest.mark.parametrize("status", [404, 422])
def test_a_key_with_another_error_probes_no_longer(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """It was the candidate at each interval, so no other key was."""

    async def body(loop: Manager[WebApp]) -> None:
        for key in (WEB, POISON):
            loop._workers._failed(key, Unreachable("reset"))
        loop._workers._failed(WEB, Refused(status, {"message": "no"}))
        assert loop._workers._recovery_probe.candidate == POISON

    during(monkeypatch, Scripted({}), body, settings=Settings(queue=QueueSettings(retry_delay=30)))


@pytest.mark.parametrize("error", [Unreachable("reset"), *(Refused(status, {}) for status in (400, 403, 404, 422))])
def test_an_error_that_ends_a_reconcile_is_retried(monkeypatch: pytest.MonkeyPatch, error: RequestFailed) -> None:
    """A 400 of a proxy for the record of a rollback was neither retried nor reported."""
    reconciler = Scripted({POISON: lambda: raising(error)})

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(POISON)
        await asyncio.sleep(10)
        assert reconciler.asked.count(POISON) > 2
        assert loop._queue.failures(POISON) > 1

    during(monkeypatch, reconciler, body)


def test_an_error_of_another_class_starts_no_recovery_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    conflict = Refused(409, {"reason": "Conflict", "message": "the object has been modified"})
    reconciler = Scripted({POISON: lambda: raising(conflict)})

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(POISON)
        while not reconciler.asked:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        assert reconciler.asked == [POISON]

    queue = QueueSettings(retry_delay=30, recovery_probe_interval=0.05)
    during(monkeypatch, reconciler, body, settings=Settings(queue=queue))


def test_a_shutdown_drains_in_flight_reconciles(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    async def slow() -> Outcome:
        await asyncio.sleep(0.2)
        ended.append("written")
        return Outcome()

    reconciler = Scripted({WEB: slow})

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        while not reconciler.asked:
            await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body)
    assert ended == ["written"]


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_shutdown_ends_in_time_and_between_writes_if_possible(
    monkeypatch: pytest.MonkeyPatch, stubborn: bool
) -> None:
    """A reconcile of many requests ends between two of them. A hanging request is cancelled."""
    client = Empty()
    ended: list[str] = []

    async def many() -> Outcome:
        try:
            while stubborn or not client.ended:
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            ended.append("cut off")
            raise
        ended.append("between writes")
        raise ShuttingDown("the operator is shutting down")

    reconciler = Scripted({WEB: many})
    begun: list[float] = []

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        while not reconciler.asked:
            await asyncio.sleep(0.01)
        # This key waits behind its in-flight reconcile, or a worker is free for it. Neither may start now.
        loop._queue.add(WEB)
        begun.append(asyncio.get_running_loop().time())

    settings = Settings(drain_timeout=1.0)
    end = during(monkeypatch, reconciler, body, client=client, settings=settings)
    assert ended == ["cut off" if stubborn else "between writes"]
    assert reconciler.asked == [WEB]
    seconds = end - begun[0]
    assert seconds < settings.drain_timeout
    assert (seconds >= 0.8) is stubborn


def test_watches_that_do_not_end_do_not_block_the_shutdown() -> None:
    async def stuck(kinds: Sequence[Kind], bridge: EventSink, _: asyncio.Event) -> None:
        for kind in kinds:
            bridge.watch_started(kind, None)
        await asyncio.sleep(3)

    async def whole() -> None:
        loop = Manager(WORKLOAD, Settings(drain_timeout=0.5), Empty(), stuck)
        stop = asyncio.Event()
        running = asyncio.create_task(loop.run(stop))
        async with asyncio.timeout(20):
            while loop.missing:
                await asyncio.sleep(0.01)
        stop.set()
        async with asyncio.timeout(1.5):
            await running

    virtually(whole())


def test_an_event_of_a_child_overtakes_the_initial_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    go = asyncio.Event()

    async def held() -> Outcome:
        await go.wait()
        return Outcome()

    reconciler = Scripted({POISON: held})
    names = ["first", "second", "third"]

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(POISON)
        while not reconciler.asked:
            await asyncio.sleep(0.01)
        for name in names:
            loop._handle_event(observed_webapp(name), False)
        loop._handle_event(observed_child(SERVICE), False)
        go.set()
        while len(reconciler.asked) < 5:
            await asyncio.sleep(0.01)
        assert [key.name for key in reconciler.asked] == [POISON.name, "first", "web", "second", "third"]

    during(monkeypatch, reconciler, body, settings=Settings(queue=QueueSettings(workers=1)))


def test_a_history_reset_clears_the_cache_and_restarts_the_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler = Scripted({WEB: lambda: raising(HistoryReset("restored"))})

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp(version=500))
        loop._queue.add(WEB)
        while loop._store.parents() or loop.missing:
            await asyncio.sleep(0.01)
        assert len(loop._queue) == 0
        assert loop._store.begin_relist(WEBAPP, None).newest_before == 10
        assert reconciler.started_over
        # Its reconcile began before the history reset.
        assert reconciler.forgotten == [WEB]

    during(monkeypatch, reconciler, body)


def test_it_is_not_ready_while_a_watch_has_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even after everything was listed once: without watches the operator must not look ready."""
    missing: list[list[str]] = []

    async def body(loop: Manager[WebApp]) -> None:
        runs.append(KINDS.watched[1:])
        loop._supervisor.restart()
        while not missing:
            lacking = [what for what in loop.missing if "not" in what]
            if lacking == ["webapps not watched yet"]:
                missing.append(lacking)
            await asyncio.sleep(0.01)
        while loop.missing:
            await asyncio.sleep(0.01)

    runs: list[Sequence[Kind]] = []
    during(monkeypatch, Scripted({}), body, runs)
    assert missing


def test_a_retry_obeys_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []

    async def busy() -> Outcome:
        times.append(asyncio.get_running_loop().time())
        raise Refused(503, {"reason": "ServiceUnavailable"}, retry_after="0.5")

    reconciler = Scripted({POISON: busy})

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(POISON)
        while len(times) < 2:
            await asyncio.sleep(0.01)
        assert times[1] - times[0] >= 0.5

    queue = QueueSettings(retry_delay=0.01, recovery_probe_interval=30)
    during(monkeypatch, reconciler, body, settings=Settings(queue=queue))


def test_after_a_watch_restart_every_webapp_is_read_before_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """F10: Deployments were listed before WebApps, and a deleted Deployment was recreated from an old spec."""
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        before = reconciler.doubted
        assert loop._bridge is not None
        loop._bridge.watch_started(SERVICE, None)
        async with asyncio.timeout(10):
            while reconciler.doubted == before:
                await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body)
