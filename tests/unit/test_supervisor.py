"""The supervisor: it restarts watches that end, and starts none while a kind is missing."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching import kopf_thread, supervisor
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.kernel.watching.kopf_thread import KopfThread
from coxswain.kernel.watching.supervisor import Supervisor
from coxswain.settings import WatchSettings
from coxswain.webapp.kinds import WEBAPP
from rendered import KINDS


class Discovery(Client):
    """Answers each discovery request with the next scripted answer."""

    def __init__(self, answers: list[list[Kind] | Exception]) -> None:
        self.answers = answers

    async def missing(self, _: Sequence[Kind]) -> list[Kind]:
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer


class Bench:
    """A supervisor of scripted watches."""

    def __init__(self, answers: list[list[Kind] | Exception] | None = None) -> None:
        self.runs = 0
        self.watched: list[list[Kind]] = []
        self.ends: list[Exception | None] = []
        settings = WatchSettings(restart_backoff=0.01, restart_backoff_limit=0.02, discovery_interval=0.01)
        discovery = self.discovery = Discovery(answers or [])
        self.supervisor = Supervisor(discovery, KINDS, self._watches, settings, _NoFeed)  # type: ignore[arg-type]

    async def _watches(self, kinds: Sequence[Kind], _: EventSink, stop: asyncio.Event) -> None:
        """Run until the stop, or end at once according to the script."""
        self.runs += 1
        self.watched.append(list(kinds))
        if self.ends:
            error = self.ends.pop(0)
            if error is not None:
                raise error
            return
        await stop.wait()

    async def runs_of(self, count: int) -> None:
        """Wait for this number of starts of the watches."""
        async with asyncio.timeout(10):
            while self.runs < count:
                await asyncio.sleep(0.01)


class _NoFeed:
    """An event sink that ignores everything."""

    def __init__(self, kinds: Sequence[Kind] = ()) -> None:
        """Accept the kinds, like a real sink."""


def during(bench: Bench, body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test while the supervisor runs. The supervisor must end after the stop."""

    async def whole() -> None:
        running = asyncio.create_task(bench.supervisor.run())
        await body()
        bench.supervisor.stop()
        await asyncio.wait_for(running, 10)

    asyncio.run(whole())


def test_watches_are_restarted_after_any_end() -> None:
    bench = Bench()
    bench.ends = [RuntimeError("ERROR 500"), None, ValueError("a line that is no JSON")]

    async def body() -> None:
        await bench.runs_of(4)
        assert bench.supervisor.obstacle is None

    during(bench, body)


def test_a_restart_that_is_asked_for() -> None:
    bench = Bench()

    async def body() -> None:
        await bench.runs_of(1)
        bench.supervisor.restart()
        await bench.runs_of(2)

    during(bench, body)


def test_a_restart_that_is_asked_for_while_the_watches_start_is_not_lost() -> None:
    """K18: the watches continued, and their events were discarded for up to three minutes."""
    bench = Bench()

    def starting(_: Sequence[Kind]) -> _NoFeed:
        if bench.runs == 0:
            bench.supervisor.restart()
        return _NoFeed()

    bench.supervisor._new_sink = starting  # type: ignore[assignment]

    async def body() -> None:
        await bench.runs_of(2)

    during(bench, body)


def test_nothing_is_watched_while_a_kind_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench([[WEBAPP], Unreachable("refused"), [WEBAPP], ValueError("the plugin printed nonsense"), []])
    obstacles: list[str | None] = []
    pause = bench.supervisor._pause

    async def noted(seconds: float) -> None:
        obstacles.append(bench.supervisor.obstacle)
        await pause(seconds)

    monkeypatch.setattr(bench.supervisor, "_pause", noted)

    async def body() -> None:
        await bench.runs_of(1)

    during(bench, body)
    assert len(obstacles) == 4
    assert str(obstacles[0]).endswith(
        "webapps.coxswain.dev. Install the CRDs, in a checkout of the operator: kubectl apply --server-side -k crds"
    )
    assert "discovery failed: refused" in str(obstacles[1])
    # K27: this error ended the process.
    assert "discovery failed: the plugin printed nonsense" in str(obstacles[3])


def pauses_of(bench: Bench, monkeypatch: pytest.MonkeyPatch, count: int) -> list[float]:
    """Return the first pauses between runs of the watches, without waiting for them."""
    pauses: list[float] = []

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == count:
            bench.supervisor.stop()

    monkeypatch.setattr(bench.supervisor, "_pause", noted)
    asyncio.run(asyncio.wait_for(bench.supervisor.run(), 10))
    return pauses


def test_failed_starts_are_retried_with_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.ends = [RuntimeError("ERROR 500") for _ in range(4)]
    assert pauses_of(bench, monkeypatch, 4) == [0.01, 0.02, 0.02, 0.02]


def test_a_long_or_stopped_run_resets_the_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.ends = [RuntimeError("ERROR 500"), RuntimeError("ERROR 500"), None, RuntimeError("ERROR 500")]
    assert pauses_of(bench, monkeypatch, 4) == [0.01, 0.02, 0.01, 0.02]
    bench = Bench()
    bench.ends = [RuntimeError("ERROR 500") for _ in range(3)]
    monkeypatch.setattr(supervisor, "_SOUND_SECONDS", -1.0)
    assert pauses_of(bench, monkeypatch, 3) == [0.01, 0.01, 0.01]


def kopf_run(
    monkeypatch: pytest.MonkeyPatch, watch: Callable[..., Coroutine[Any, Any, None]], connect: Any = None
) -> Callable[[asyncio.Event], Coroutine[Any, Any, None]]:
    """Return a run of Kopf's thread, with `watch` in place of Kopf."""
    monkeypatch.setattr(kopf_thread, "watch", watch)

    async def connected() -> Any:
        return None

    thread = KopfThread(connect or connected, [None], WatchSettings())
    return lambda stop: thread.run(KINDS.watched, _NoFeed(), stop)  # type: ignore[arg-type]


def test_kopf_runs_in_its_own_thread_and_stops_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    async def watch(*_: Any, **named: Any) -> None:
        names.append(threading.current_thread().name)
        await named["stop"].wait()

    async def whole() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(kopf_run(monkeypatch, watch)(stop))
        async with asyncio.timeout(10):
            while not names:
                await asyncio.sleep(0.01)
            stop.set()
            await running

    asyncio.run(whole())
    assert names == ["kopf"]


def test_watches_of_metadata_have_their_own_kopf_and_both_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One Kopf has one watch of ConfigMaps: that of the children, with all of their content."""
    kinds = KINDS.with_referenced(["secrets", "configmaps"])
    groups: list[Sequence[Kind]] = []
    stopped: list[Sequence[Kind]] = []
    both = threading.Barrier(2)

    async def watch(_: Any, group: Sequence[Kind], *__: Any, stop: asyncio.Event, **___: Any) -> None:
        groups.append(group)
        await asyncio.to_thread(both.wait, 10)
        if group[0].metadata_only:
            raise RuntimeError("ERROR 500")
        await stop.wait()
        stopped.append(group)

    async def connected() -> Any:
        return None

    monkeypatch.setattr(kopf_thread, "watch", watch)
    thread = KopfThread(connected, [None], WatchSettings())
    with pytest.raises(RuntimeError, match="ERROR 500"):
        asyncio.run(thread.run(kinds.watched, _NoFeed(), asyncio.Event()))  # type: ignore[arg-type]
    assert stopped == [list(KINDS.watched)]
    assert sorted(map(list, groups), key=len) == [list(kinds.referenced), list(KINDS.watched)]


def test_a_stop_that_comes_before_kopf_has_begun_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """K18: a restart between two starts was lost, and all events were discarded for three minutes."""
    connecting, told = threading.Event(), threading.Event()

    async def slow() -> Any:
        connecting.set()
        await asyncio.to_thread(told.wait)

    async def watch(*_: Any, **named: Any) -> None:
        await named["stop"].wait()

    async def whole() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(kopf_run(monkeypatch, watch, slow)(stop))
        async with asyncio.timeout(10):
            await asyncio.to_thread(connecting.wait)
            stop.set()
            await asyncio.sleep(0.05)
            told.set()
            await running

    asyncio.run(whole())


@pytest.mark.parametrize("error", [RuntimeError("ERROR 500"), asyncio.CancelledError(), SystemExit(1)])
def test_any_end_of_kopf_is_raised_as_an_error(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    async def watch(*_: Any, **__: Any) -> None:
        raise error

    with pytest.raises(RuntimeError):
        asyncio.run(kopf_run(monkeypatch, watch)(asyncio.Event()))
