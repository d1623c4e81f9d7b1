"""The operator under simulation: its life, and the few private parts of it that invariants need.

Nothing else in this package knows the operator from inside; all else speaks HTTP and `EventSink`.
"""

import asyncio
import dataclasses
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.cache.store import Key
from coxswain.kernel.manager import Manager
from coxswain.settings import Settings
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from simulation.cluster import Place
from simulation.virtual import GROUP, SimulatedTask

Watches = Callable[..., Any]

LOGGERS = ("coxswain", "asyncio")


def settings(parts: Mapping[str, Any]) -> Settings:
    """Return the operator's settings with what a script asks for."""
    usual = Settings(
        namespaces=tuple(parts.get("namespaces", ())),
        resync_interval=parts["resync_interval"],
        requests_in_flight=parts["requests_in_flight"],
    )
    return dataclasses.replace(usual, watch=dataclasses.replace(usual.watch, page_size=parts["page_size"]))


class Subject:
    """The operator: one process at a time, started again as often as the script says."""

    def __init__(
        self, made: Settings, new_transport: Callable[[], Any], watches: Watches, now: Callable[[], datetime]
    ) -> None:
        self.settings = made
        self._new_transport = new_transport
        self._watches = watches
        self._now = now
        self._number = 0
        self._transport: Any = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.loop: Manager[WebApp] | None = None

    @property
    def running(self) -> bool:
        """Whether a process runs."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Start a process."""
        self._number += 1
        self._stop = asyncio.Event()
        self._transport = self._new_transport()
        token = GROUP.set(self._number)
        try:
            self._task = asyncio.get_running_loop().create_task(self._process(), name=f"operator {self._number}")
        finally:
            GROUP.reset(token)

    async def _process(self) -> None:
        # Each process seeds its own connection pool, queue and memory: nothing of the one before is left.
        throttle = Throttle(in_flight=self.settings.requests_in_flight)
        client = Client(
            self._transport, throttle, timeout=self.settings.request_timeout, page_size=self.settings.watch.page_size
        )
        self.loop = Manager(WORKLOAD, self.settings, client, self._watches, now=self._now)
        try:
            await self.loop.run(self._stop)
        finally:
            await client.close()

    async def end(self) -> None:
        """End the process as SIGTERM does."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._check()
        self.loop = None

    async def kill(self) -> None:
        """Kill the process as SIGKILL does: at once, wherever it is."""
        self._transport.die()
        while alive := self.tasks():
            for task in alive:
                task.cancel()
            await asyncio.sleep(0)
        self.loop = None

    def tasks(self) -> list[SimulatedTask]:
        """Return the tasks of the present process that have not ended."""
        found = [
            task
            for task in asyncio.all_tasks()
            if isinstance(task, SimulatedTask) and task.group == self._number and not task.done()
        ]
        return sorted(found, key=hash)

    def failed(self) -> BaseException | None:
        """Return what ended the process, if it should not have."""
        if self._task is None or not self._task.done() or self._stop.is_set() or self._transport.dead:
            return None
        return self._task.exception() or RuntimeError("the operator's loop ended by itself")

    def _check(self) -> None:
        if self._task is not None and not self._task.cancelled() and self._task.exception() is not None:
            raise self._task.exception()  # type: ignore[misc]

    def attends(self, place: Place) -> str | None:
        """Return how the operator attends to a WebApp: queued, processing, or by a timer; None if it does not."""
        if self.loop is None:
            return "the operator is not running"
        key, queue = Key(*place), self.loop._queue
        if not hasattr(self.loop, "_waiting"):  # before K5 was mended
            if not self.loop._resync.complete.is_set():
                return "nothing is reconciled before the first sweep"
        elif key in self.loop._waiting._keys:
            return "waits until its namespace is listed"
        if any(key in lane for lane in queue._lanes.values()) or key in queue._dirty:
            return "queued"
        if key in queue._processing:
            return "processing"
        return "has a timer" if key in queue._delayed else None

    def tables(self) -> Iterator[tuple[str, Any]]:
        """Yield each table of the operator, with the way to it: walked by the attributes of the operator's objects."""
        seen: set[int] = set()
        waiting: list[tuple[str, Any]] = [("Manager", self.loop)]
        while waiting:
            path, thing = waiting.pop()
            if id(thing) in seen or thing is None:
                continue
            seen.add(id(thing))
            if isinstance(thing, (dict, set, frozenset, list, tuple)) or type(thing).__name__ == "deque":
                yield path, thing
                values = list(thing.values()) if isinstance(thing, dict) else list(thing)
                waiting += [(f"{path}[]", value) for value in values]
            elif type(thing).__module__.split(".")[0] == "coxswain":
                waiting += [(f"{path}.{name}", value) for name, value in _attributes(thing)]

    def sizes(self, place: Place) -> dict[str, int]:
        """Return the sizes of the tables inside of the entries of one WebApp."""
        found: dict[str, int] = {}
        for path, table in self.tables():
            if isinstance(table, dict) and Key(*place) in table:
                inside = table[Key(*place)]
                if isinstance(inside, (dict, list, set, tuple)):
                    found[path] = len(inside)
        return found

    def mentions(self, names: set[Place], uids: set[str]) -> dict[str, int]:
        """Return the tables that hold something of these WebApps, and how many entries."""
        found: dict[str, int] = {}
        for path, table in self.tables():
            count = sum(_mentions(entry, names, uids) for entry in table)
            if count:
                found[path] = found.get(path, 0) + count
        return found


def virtual_time(now: Callable[[], datetime]) -> Callable[[], None]:
    """Let the operator's modules read the virtual time of day where they read the real one; return how to undo that."""

    class Virtual(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:  # noqa: ARG003
            return now()

    replaced = [
        module
        for name, module in sys.modules.copy().items()
        if name.startswith("coxswain.") and getattr(module, "datetime", None) is datetime
    ]
    for module in replaced:
        module.datetime = Virtual  # type: ignore[attr-defined]

    def undo() -> None:
        for module in replaced:
            module.datetime = datetime  # type: ignore[attr-defined]

    return undo


class InternalErrors(logging.Handler):
    """Keeps the internal errors that the operator logs: with a traceback, or from asyncio."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self.tell = tell
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        message = record.getMessage()
        self.tell(f"log {record.levelname}: {message}")
        if record.levelno >= logging.ERROR and (record.exc_info or record.name.startswith("asyncio")):
            error = record.exc_info[1] if record.exc_info else None
            self.found.append(f"{message}: {error!r}" if error is not None else message)

    def __enter__(self) -> "InternalErrors":
        for name in LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.propagate = False
        logging.getLogger("coxswain").setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self)
            logging.getLogger(name).propagate = True


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    yield from getattr(thing, "__dict__", {}).items()
    for name in getattr(type(thing), "__slots__", ()):
        yield name, getattr(thing, name, None)


def _mentions(entry: Any, names: set[Place], uids: set[str]) -> bool:
    if isinstance(entry, str):
        return entry in uids
    if isinstance(entry, tuple):
        return any(_mentions(part, names, uids) for part in entry)
    return isinstance(entry, Key) and (entry.namespace, entry.name) in names
