"""Supervision: watches that end are started again, and none is started while a kind is missing."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from coxswain.control import supervise as module
from coxswain.control.supervise import Supervisor
from coxswain.kube.client import Client
from coxswain.kube.errors import Unreachable
from coxswain.kube.kinds import WEBAPP, Kind
from coxswain.settings import WatchSettings


class Discovery(Client):
    """Answers discovery as the test says, one answer a question."""

    def __init__(self, answers: list[list[Kind] | Exception]) -> None:
        self.answers = answers

    async def missing_kinds(self) -> list[Kind]:
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer


class Bench:
    """A supervisor over watches that the test scripts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: list[list[Kind] | Exception] | None = None) -> None:
        self.runs: list[str] = []
        self.ends: list[Exception | None] = []
        self.started = threading.Semaphore(0)
        monkeypatch.setattr(module, "watch", self._watch)
        settings = WatchSettings(restart_backoff=0.01, restart_backoff_limit=0.02)
        self.supervisor = Supervisor(Discovery(answers or []), self._connect, [None], settings, _NoFeed)  # type: ignore[arg-type]

    async def _connect(self) -> Any:
        return None

    async def _watch(self, *arguments: Any) -> None:
        """Run until told to stop, or end at once as the script says."""
        self.runs.append(threading.current_thread().name)
        self.started.release()
        if self.ends:
            error = self.ends.pop(0)
            if error is not None:
                raise error
            return
        await arguments[-1].wait()

    async def runs_of(self, count: int) -> None:
        """Wait until the watches were started so often."""
        async with asyncio.timeout(10):
            while len(self.runs) < count:
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


def test_watches_run_in_a_thread_of_their_own_and_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)

    async def body() -> None:
        await bench.runs_of(1)
        assert bench.runs == ["kopf"]
        assert bench.supervisor.obstacle is None

    during(bench, body)


def test_whatever_ends_the_watches_they_are_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.ends = [RuntimeError("ERROR 500"), None, asyncio.CancelledError()]  # type: ignore[list-item]

    async def body() -> None:
        await bench.runs_of(4)

    during(bench, body)


def test_a_restart_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)

    async def body() -> None:
        await bench.runs_of(1)
        bench.supervisor.restart()
        await bench.runs_of(2)

    during(bench, body)


def test_nothing_is_watched_while_a_kind_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, [[WEBAPP], Unreachable("refused"), [WEBAPP], []])
    obstacles: list[str | None] = []
    pause = bench.supervisor._pause

    async def noted(seconds: float) -> None:
        obstacles.append(bench.supervisor.obstacle)
        await pause(seconds)

    monkeypatch.setattr(bench.supervisor, "_pause", noted)

    async def body() -> None:
        await bench.runs_of(1)

    during(bench, body)
    assert len(obstacles) == 3
    assert "webapps.coxswain.dev: install the CRDs" in str(obstacles[0])
    assert "discovery failed: refused" in str(obstacles[1])
