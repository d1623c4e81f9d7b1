"""A manager without an API server, with a scripted reconciler."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.cache.store import Key
from coxswain.kernel.election.election import Election
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.settings import Settings
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from model_cluster.chance import Chance
from model_cluster.virtual import VirtualLoop, run

WEB, POISON = Key("shop", "web"), Key("shop", "poison")


class Empty(Client):
    """A cluster that serves every kind but has no objects."""

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
    """A reconciler that runs the actions of the test and records the requested keys."""

    def __init__(self, acts: dict[Key, Callable[[], Coroutine[Any, Any, Outcome]]]) -> None:
        self.acts = acts
        self.asked: list[Key] = []
        self.started_over = self.looked_again = self.doubted = 0
        self.forgotten: list[Key] = []
        self.contested_fields = 0
        self.forgotten_namespaces: list[Callable[[str], bool]] = []

    def contested(self) -> int:
        return self.contested_fields

    def start_over(self) -> None:
        self.started_over += 1

    def doubt(self) -> None:
        self.doubted += 1

    def forget(self, key: Key) -> None:
        self.forgotten.append(key)

    def forget_namespaces(self, covers: Callable[[str], bool]) -> None:
        self.forgotten_namespaces.append(covers)

    def resynced(self) -> None:
        self.looked_again += 1

    async def reconcile(self, key: Key, *, failures: int) -> Outcome:
        assert failures >= 0
        self.asked.append(key)
        return await self.acts[key]() if key in self.acts else Outcome()


def virtually(main: Coroutine[Any, Any, None]) -> float:
    """Run a coroutine in virtual time, where sleeps take no real time. Return the virtual seconds."""
    loop = VirtualLoop(Chance("1"))
    run(loop, main)
    return loop.time()


def during(
    monkeypatch: pytest.MonkeyPatch,
    reconciler: Scripted,
    body: Callable[[Manager[WebApp]], Coroutine[Any, Any, None]],
    runs: list[Sequence[Kind]] | None = None,
    *,
    client: "Empty | None" = None,
    settings: Settings = Settings(),  # noqa: B008 - frozen
    election: Election | None = None,
) -> float:
    """Run a test inside a running manager with started watches. The manager must end after the stop.

    Return the virtual time of that end.

    `runs` are the kinds with started watches, for each run of Kopf but the last. Each of these runs ends by itself.
    """

    async def watches(watched: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        kinds = runs.pop(0) if runs else watched
        for kind in kinds:
            sink.watch_started(kind, None)
        if kinds == watched:
            await stop.wait()

    async def whole() -> None:
        loop = Manager(WORKLOAD, settings, client or Empty(), watches, election=election)
        monkeypatch.setattr(loop, "_reconciler", reconciler)
        monkeypatch.setattr(loop._workers, "_reconciler", reconciler)
        monkeypatch.setattr(loop._slot_lifecycle, "_reconciler", reconciler)
        stop = asyncio.Event()
        running = asyncio.create_task(loop.run(stop))
        async with asyncio.timeout(20):
            while loop.missing:
                await asyncio.sleep(0.01)
            await body(loop)
            stop.set()
            await running

    return virtually(whole())


async def raising(error: Exception) -> Outcome:
    """Raise the error."""
    raise error
