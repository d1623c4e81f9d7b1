"""A loop without an API server, and what its reconciler is asked for."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.cache.store import Key
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.settings import Settings
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS

WEB, POISON = Key("shop", "web"), Key("shop", "poison")


class Empty(Client):
    """A cluster that serves every kind and has no object."""

    def __init__(self) -> None:
        self.listed = 0
        self.ended = False

    def end(self) -> None:
        self.ended = True

    async def missing(self, _: Sequence[Kind]) -> list[Kind]:
        return []

    async def pages(self, *_: Any) -> Any:
        self.listed += 1
        yield {"metadata": {"resourceVersion": "10"}, "items": []}


class Scripted:
    """A reconciler that does what the test says, and keeps what it was asked for."""

    def __init__(self, acts: dict[Key, Callable[[], Coroutine[Any, Any, Outcome]]]) -> None:
        self.acts = acts
        self.asked: list[Key] = []
        self.started_over = self.looked_again = self.doubted = 0
        self.forgotten: list[Key] = []

    def start_over(self) -> None:
        self.started_over += 1

    def doubt(self) -> None:
        self.doubted += 1

    def forget(self, key: Key) -> None:
        self.forgotten.append(key)

    def resynced(self) -> None:
        self.looked_again += 1

    async def reconcile(self, key: Key, *, failures: int) -> Outcome:
        assert failures >= 0
        self.asked.append(key)
        return await self.acts[key]() if key in self.acts else Outcome()


def during(
    monkeypatch: pytest.MonkeyPatch,
    reconciler: Scripted,
    body: Callable[[Manager[WebApp]], Coroutine[Any, Any, None]],
    runs: list[Sequence[Kind]] | None = None,
    *,
    client: "Empty | None" = None,
    settings: Settings = Settings(),  # noqa: B008 - frozen
) -> None:
    """Run a test while a loop runs whose watches have started; the loop must end when it is told to.

    `runs` are the kinds whose watches start in each run of Kopf but the last; each of these runs ends by itself.
    """

    async def watches(sink: EventSink, stop: asyncio.Event) -> None:
        kinds = runs.pop(0) if runs else KINDS.watched
        for kind in kinds:
            sink.watch_started(kind, None)
        if kinds == KINDS.watched:
            await stop.wait()

    async def whole() -> None:
        loop = Manager(WORKLOAD, settings, client or Empty(), watches)
        monkeypatch.setattr(loop, "_reconciler", reconciler)
        stop = asyncio.Event()
        running = asyncio.create_task(loop.run(stop))
        async with asyncio.timeout(20):
            while loop.missing:
                await asyncio.sleep(0.01)
            await body(loop)
            stop.set()
            await running

    asyncio.run(whole())


async def raising(error: Exception) -> Outcome:
    """Fail."""
    raise error
