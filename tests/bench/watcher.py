"""An outside watcher: the times at which each WebApp is Ready at its generation and its Deployment rolled out."""

import asyncio
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from bench.api import CHILDREN, Api, path
from bench.webapps import is_available, is_ready

Place = tuple[str, str]
Object = Mapping[str, Any]


class Watcher:
    """Follows WebApps and Deployments during an `async with`; times are of the monotonic clock."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.webapps: dict[Place, Object] = {}
        self.deployments: dict[Place, Object] = {}
        self._awaited: dict[Place, float] = {}
        """Awaited generations; infinite while a change is being sent."""
        self.written: dict[Place, float] = {}
        """When the Deployment had the WebApp's image."""
        self.done: dict[Place, float] = {}
        """When the WebApp was Ready at the awaited generation, with its Deployment rolled out."""
        self._nothing_awaited = asyncio.Event()
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for kind, table, query in (("WebApp", self.webapps, ""), ("Deployment", self.deployments, CHILDREN)):
            synced = asyncio.Event()
            task = asyncio.create_task(self._follow(kind, table, query, synced))
            self._tasks.append(task)
            await asyncio.wait([task, asyncio.create_task(synced.wait())], return_when=asyncio.FIRST_COMPLETED)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, kind: str, table: dict[Place, Object], query: str, synced: asyncio.Event) -> None:
        async for event in self._api.follow(path(kind), query):
            if event["type"] == "SYNCED":
                synced.set()
                continue
            metadata = event["object"]["metadata"]
            place = (metadata["namespace"], metadata["name"])
            if event["type"] == "DELETED":
                table.pop(place, None)
            else:
                table[place] = event["object"]
            self._judge(place)
            self._changed.set()

    def expect(self, place: Place) -> None:
        """Await a WebApp before a change of it is sent."""
        self._awaited[place] = float("inf")
        self.written.pop(place, None)
        self.done.pop(place, None)
        self._nothing_awaited.clear()

    def expect_generation(self, place: Place, answer: Object) -> None:
        """Await the generation in the response to a change."""
        self._awaited[place] = answer["metadata"]["generation"]
        self._judge(place)

    def _judge(self, place: Place) -> None:
        generation, webapp = self._awaited.get(place), self.webapps.get(place)
        deployment = self.deployments.get(place)
        if generation is None or webapp is None or deployment is None or webapp["metadata"]["generation"] < generation:
            return
        image = webapp["spec"]["image"]
        if place not in self.written and deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image:
            self.written[place] = time.monotonic()
        if is_ready(webapp) and is_available(deployment, image):
            self.done[place] = time.monotonic()
            del self._awaited[place]
            if not self._awaited:
                self._nothing_awaited.set()

    async def all_done(self, within: float) -> list[Place]:
        """Wait until all awaited changes are done; return the rest after `within` seconds."""
        waiting = asyncio.create_task(self._nothing_awaited.wait())
        done, _ = await asyncio.wait([waiting, *self._tasks], timeout=within, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # a watch ends only by an error, after which no event arrives any more
        waiting.cancel()
        return sorted(self._awaited)

    async def all_gone(self, within: float) -> bool:
        """Wait until all WebApps and their Deployments are deleted."""
        deadline = time.monotonic() + within
        while self.webapps or self.deployments:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), deadline - time.monotonic())
            except TimeoutError:
                return False
        return True
