"""Supervision: watches that end are started again, and none is started while a kind is missing."""

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
    """Answers discovery as the test says, one answer a question."""

    def __init__(self, answers: list[list[Kind] | Exception]) -> None:
        self.answers = answers

    async def missing(self, _: Sequence[Kind]) -> list[Kind]:
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer


class Bench:
    """A supervisor over watches that the test scripts."""

    def __init__(self, answers: list[list[Kind] | Exception] | None = None) -> None:
        self.runs = 0
        self.ends: list[Exception | None] = []
        settings = WatchSettings(restart_backoff=0.01, restart_backoff_limit=0.02)
        discovery = Discovery(answers or [])
        self.supervisor = Supervisor(discovery, KINDS.watched, self._watches, settings, _NoFeed)  # type: ignore[arg-type]

    async def _watches(self, _: EventSink, stop: asyncio.Event) -> None:
        """Run until told to stop, or end at once as the script says."""
        self.runs += 1
        if self.ends:
            error = self.ends.pop(0)
            if error is not None:
                raise error
            return
        await stop.wait()

    async def runs_of(self, count: int) -> None:
        """Wait until the watches were started so often."""
        async with asyncio.timeout(10):
            while self.runs < count:
                await asyncio.sleep(0.01)


class _NoFeed:
    """Takes nothing."""


def during(bench: Bench, body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test while supervision runs; it must end when it is told to."""

    async def whole() -> None:
        running = asyncio.create_task(bench.supervisor.run())
        await body()
        bench.supervisor.stop()
        await asyncio.wait_for(running, 10)

    asyncio.run(whole())


def test_whatever_ends_the_watches_they_are_started_again() -> None:
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
    """K18: the watches ran on, and their news was discarded for up to three minutes."""
    bench = Bench()

    def starting() -> _NoFeed:
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
    assert "webapps.coxswain.dev: install the CRDs" in str(obstacles[0])
    assert "discovery failed: refused" in str(obstacles[1])
    # K27: it ended the process.
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


def test_failed_starts_are_put_off_longer_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.ends = [RuntimeError("ERROR 500") for _ in range(4)]
    assert pauses_of(bench, monkeypatch, 4) == [0.01, 0.02, 0.02, 0.02]


def test_a_run_that_lasted_or_was_told_to_end_has_the_shortest_delay_again(monkeypatch: pytest.MonkeyPatch) -> None:
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
    """Return a run of Kopf's thread, with `watch` in the place of Kopf."""
    monkeypatch.setattr(kopf_thread, "watch", watch)

    async def connected() -> Any:
        return None

    thread = KopfThread(connect or connected, KINDS.watched, [None], WatchSettings())
    return lambda stop: thread.run(_NoFeed(), stop)  # type: ignore[arg-type]


def test_kopf_runs_in_a_thread_of_its_own_and_ends_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_stop_that_comes_before_kopf_has_begun_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """K18: a restart between two starts was dropped, and all news with it for three minutes."""
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
def test_whatever_ends_kopf_is_raised_as_an_error(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    async def watch(*_: Any, **__: Any) -> None:
        raise error

    with pytest.raises(RuntimeError):
        asyncio.run(kopf_run(monkeypatch, watch)(asyncio.Event()))
