"""A resync on LISTs scripted by the test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import SERVICE, WEBAPP
from coxswain.webapp.workload import WORKLOAD
from model_cluster.chance import Chance
from model_cluster.virtual import VirtualLoop, run
from rendered import KINDS
from unit.objects import raw_webapp

WEB = Key("shop", "web")


class Pages(Client):
    """Lists scripted objects, in pages of one object."""

    def __init__(self) -> None:
        self.version = 100
        self.webapps: list[dict[str, Any]] = [raw_webapp()]
        self.failures = 0
        self.failure: Exception = Unreachable("reset")
        self.listed: list[Kind] = []
        self.services: list[Any] = []
        self.failing_pages = 0
        self.first: list[Any] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def pages(self, kind: Kind, namespace: str | None) -> AsyncIterator[dict[str, Any]]:
        self.listed.append(kind)
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise self.failure
        for answer in self.first:
            self.first.remove(answer)
            yield answer
        items = {WEBAPP: self.webapps, SERVICE: self.services}.get(kind, []) if namespace is None else []
        for number, item in enumerate(items):
            if number and self.failing_pages:
                self.failing_pages -= 1
                raise Refused(410, {"reason": "Expired"})
            yield {"metadata": {"resourceVersion": str(self.version)}, "items": [item]}
        yield {"metadata": {"resourceVersion": str(self.version)}, "items": None}


class Bench:
    """A resync, and its reports."""

    def __init__(self, interval: float = 600.0, namespaces: Sequence[str | None] = (None,)) -> None:
        self.client = Pages()
        self.store = Store(WEBAPP)
        self.found: list[Key] = []
        self.resynced = 0
        self.resets: list[HistoryReset] = []
        self.resync = Resync(
            self.store,
            self.client,
            WORKLOAD.projector,
            namespaces,
            interval,
            found=self.found.extend,
            resynced=self._resync,
            history_reset=self.resets.append,
        )

    def _resync(self) -> None:
        self.resynced += 1

    async def relisted(self, kind: Kind) -> None:
        """Wait until a kind has been listed."""
        async with asyncio.timeout(10):
            while not self.resync.coverage.is_listed((kind, None)):
                await asyncio.sleep(0.01)

    @property
    def unlisted(self) -> list[str]:
        """Return the kinds that count as not listed."""
        return [kind.plural for kind in KINDS.watched if not self.resync.coverage.is_listed((kind, None))]

    async def listed(self, count: int) -> None:
        """Wait for this number of LISTs."""
        async with asyncio.timeout(10):
            while len(self.client.listed) < count:
                await asyncio.sleep(0.01)


def during(body: Callable[[Bench], Any], interval: float = 600.0, namespaces: Sequence[str | None] = (None,)) -> None:
    """Run a test while the resync runs, in virtual time."""

    async def whole() -> None:
        bench = Bench(interval, namespaces)
        running = asyncio.create_task(bench.resync.run())
        try:
            await body(bench)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run(VirtualLoop(Chance("relists")), whole())
