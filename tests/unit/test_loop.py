"""The loop: one WebApp's trouble is no other's, and what a worker has in hand is ended before the end."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

import pytest

from coxswain.kernel.api.errors import Ending, Refused, RequestFailed, Unreachable
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.kinds import SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS
from unit.loops import POISON, WEB, Empty, Scripted, during, raising
from unit.objects import observed_child, observed_webapp


@pytest.mark.parametrize("error", [ValueError("a defect"), RequestFailed("x"), Unreachable("reset")])
def test_one_webapp_that_fails_holds_up_no_other(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
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


def test_when_the_server_answers_one_again_the_others_wait_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it doesn't, one of them is tried at a time, in turn: the delays of their own would take half a minute."""
    keys = [Key("shop", f"web-{number}") for number in range(5)]
    back = False

    async def act() -> Outcome:
        return Outcome() if back else await raising(Unreachable("reset"))

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


def test_a_retry_that_failed_is_no_end_of_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """K23: a failure that a status tells of counted as a success, and all who waited were sent at once."""
    keys = [Key("shop", f"web-{number}") for number in range(5)]

    async def body(loop: Manager[WebApp]) -> None:
        for key in keys:
            loop._failed(key, Unreachable("reset"))
        loop._follow_up(keys[0], Outcome(failed=Unreachable("reset")))
        assert (len(loop._queue), loop._recovery_probe.candidate) == (0, keys[1])
        loop._follow_up(keys[1], Outcome())
        assert (len(loop._queue), loop._recovery_probe.candidate) == (4, None)

    during(monkeypatch, Scripted({}), body, settings=Settings(queue=QueueSettings(retry_delay=30)))


def test_trouble_of_another_sort_calls_for_no_recovery_probe(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_is_in_hand_is_ended_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_the_end_comes_in_time_and_between_writes_if_it_can(monkeypatch: pytest.MonkeyPatch, stubborn: bool) -> None:
    """A reconcile of many requests ends before the next one; one whose request hangs is cut off."""
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
        raise Ending("the operator is ending")

    reconciler = Scripted({WEB: many})
    begun: list[float] = []

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        while not reconciler.asked:
            await asyncio.sleep(0.01)
        # Waits behind the one in hand, or is free to be taken: neither may begin now.
        loop._queue.add(WEB)
        begun.append(time.monotonic())

    settings = Settings(drain_timeout=1.0)
    during(monkeypatch, reconciler, body, client=client, settings=settings)
    assert ended == ["cut off" if stubborn else "between writes"]
    assert reconciler.asked == [WEB]
    seconds = time.monotonic() - begun[0]
    print(f"ended after {seconds:.2f} s of {settings.drain_timeout:.0f}")
    assert (seconds >= 0.8) is stubborn


def test_watches_that_do_not_end_hold_nothing_up() -> None:
    async def stuck(bridge: EventSink, _: asyncio.Event) -> None:
        for kind in KINDS.watched:
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

    asyncio.run(whole())


def test_news_of_a_child_does_not_wait_for_all_who_wait_for_their_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
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
        bridge = loop._bridge
        assert bridge is not None
        for name in names:
            loop._handle_event(bridge, observed_webapp(name), False)
        loop._handle_event(bridge, observed_child(SERVICE), False)
        go.set()
        while len(reconciler.asked) < 5:
            await asyncio.sleep(0.01)
        assert [key.name for key in reconciler.asked] == [POISON.name, "first", "web", "second", "third"]

    during(monkeypatch, reconciler, body, settings=Settings(queue=QueueSettings(workers=1)))


def test_history_that_runs_backwards_drops_everything_and_watches_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler = Scripted({WEB: lambda: raising(HistoryReset("restored"))})

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp(version=500))
        loop._queue.add(WEB)
        while loop._store.parents() or loop.missing:
            await asyncio.sleep(0.01)
        assert len(loop._queue) == 0
        assert loop._store.begin_relist(WEBAPP, None).newest_before == 10
        assert reconciler.started_over
        # It began in the history that has ended.
        assert reconciler.forgotten == [WEB]

    during(monkeypatch, reconciler, body)


def test_it_is_not_ready_while_a_watch_has_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even after everything was listed once: a zombie must not look ready."""
    missing: list[list[str]] = []

    async def body(loop: Manager[WebApp]) -> None:
        runs.append(KINDS.watched[1:])
        loop._supervisor.restart()
        while not missing:
            lacking = [what for what in loop.missing if "not" in what]
            if lacking == ["webapps not watched yet"]:
                missing.append(lacking)
            await asyncio.sleep(0)
        while loop.missing:
            await asyncio.sleep(0.01)

    runs: list[Sequence[Kind]] = []
    during(monkeypatch, Scripted({}), body, runs)
    assert missing


def test_a_retry_waits_for_as_long_as_the_server_asks(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_watch_that_starts_over_makes_every_webapp_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """F10: Deployments were listed before WebApps, and a deleted one was made anew from a spec of the past."""
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        before = reconciler.doubted
        assert loop._bridge is not None
        loop._bridge.watch_started(SERVICE, None)
        async with asyncio.timeout(10):
            while reconciler.doubted == before:
                await asyncio.sleep(0)

    during(monkeypatch, reconciler, body)
