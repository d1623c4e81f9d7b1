"""The operator under simulation: its lifecycle, and the few private parts of it that the invariants read.

No other module of this package uses the operator's internals; the others use HTTP and `EventSink`.
"""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import USER_AGENT, HttpResponse
from coxswain.kernel.cache.store import Key
from coxswain.kernel.election.election import LeaseElection, Unelected
from coxswain.kernel.election.elector import LeadershipLost
from coxswain.kernel.election.slot_election import SlotElection
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from coxswain.kernel.workload import Workload
from coxswain.settings import Settings
from model_cluster.objects import Place
from model_cluster.virtual import GROUP, SimulatedTask, VirtualLoop
from simulation.elections import new_election
from simulation.environment import PACKAGES

__all__ = [
    "USER_AGENT",
    "Activity",
    "EventSink",
    "HttpResponse",
    "Kind",
    "Subject",
    "Unreachable",
    "settings",
]

Watches = Callable[..., Any]


def settings(parts: Mapping[str, Any]) -> Settings:
    """Return the operator's settings with the overrides of a script."""
    usual = Settings(
        namespaces=tuple(parts.get("namespaces", ())),
        resync_interval=parts["resync_interval"],
        requests_in_flight=parts["requests_in_flight"],
        watch_metadata=tuple(parts.get("watch_metadata", ())),
    )
    return dataclasses.replace(usual, watch=dataclasses.replace(usual.watch, page_size=parts["page_size"]))


class Subject:
    """The operator: one process at a time, restarted as the script says."""

    def __init__(
        self,
        workload: Workload[Any],
        made: Settings,
        new_transport: Callable[[], Any],
        watches: Watches,
        now: Callable[[], datetime],
        *,
        groups: Iterator[int],
        elected: bool,
        slots: int = 1,
    ) -> None:
        """Prepare an operator.

        Args:
            workload: the workload.
            made: the settings.
            new_transport: returns the transport of a new process.
            watches: runs the watches.
            now: returns the time of day.
            groups: numbers for the tasks of processes.
            elected: whether it competes for the Lease.
            slots: the number of slots.
        """
        self._workload = workload
        self.settings = made
        self._new_transport = new_transport
        self._watches = watches
        self._now = now
        self._groups, self._elected, self._slots = groups, elected, slots
        self._number = self._elector_number = 0
        self.numbers: tuple[int, ...] = ()
        """The numbers of the current process: of its main loop and of its elector."""
        self._election: LeaseElection | SlotElection | Unelected = Unelected()
        self._transport: Any = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.loop: Manager[Any] | None = None

    @property
    def running(self) -> bool:
        """Whether a process runs."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Start a process."""
        self._number = next(self._groups)
        self._stop = asyncio.Event()
        self._transport = self._new_transport()
        self._election = self._new_election() if self._elected else Unelected()
        self.numbers = (self._number, self._elector_number)
        token = GROUP.set(self._number)
        try:
            self._task = asyncio.get_running_loop().create_task(self._process(), name=f"operator {self._number}")
        finally:
            GROUP.reset(token)

    async def _process(self) -> None:
        # Each process seeds its own connection pool, queue and memory: no state of the previous process survives.
        throttle = Throttle(in_flight=self.settings.requests_in_flight)
        client = Client(
            self._transport,
            throttle,
            timeout=self.settings.request_timeout,
            page_size=self.settings.watch.page_size,
            leads=self._election.leads,
        )
        self.loop = Manager(
            self._workload, self.settings, client, self._watches, election=self._election, now=self._now
        )
        try:
            # As in main.py: the election releases the Lease after the last write.
            async with self._election:
                await self.loop.run(self._stop)
        finally:
            await client.close()
            # The thread of the election ends with the process.
            for task in self.tasks(self._elector_number):
                task.cancel()

    def _new_election(self) -> LeaseElection | SlotElection:
        self._elector_number = next(self._groups)

        async def connect() -> Any:
            return self._transport

        groups = (self._number, self._elector_number)
        return new_election(connect, self.settings.election, slots=self._slots, run=self._run_elector, groups=groups)

    async def _run_elector(self, name: str, body: Callable[[asyncio.Event], Any], stop: asyncio.Event) -> None:
        """Run the elector in the main loop, but in a group of its own: the simulation has no threads."""
        token = GROUP.set(self._elector_number)
        try:
            task = asyncio.create_task(body(stop), name=name)
        finally:
            GROUP.reset(token)
        await asyncio.shield(task)

    def leads(self, namespace: str = "") -> bool:
        """Return whether the process may write to a namespace now."""
        return self._alive and self._election.leads(namespace)

    def serves(self, namespace: str) -> bool:
        """Return whether the process may begin a reconcile in a namespace: it leads, and does not drain."""
        return self._alive and self._election.serves(namespace)

    @property
    def reported(self) -> Counter[str]:
        """The number of changes of slots in this process: Acquired, Surplus and Dropped."""
        return Counter(getattr(self._election, "reported", {}))

    @property
    def ready(self) -> bool:
        """Whether its cache has been complete, as its election knows it."""
        return self.running and getattr(self._election, "_synced", False)

    @property
    def _alive(self) -> bool:
        return self.running and not self._transport.dead

    def pause(self, *, elector: bool = True) -> None:
        """Stop the process like SIGSTOP; without `elector` only its main loop, as by code that blocks it."""
        for number in (self._number, *([self._elector_number] if elector else [])):
            _loop().pause(number)

    def resume(self, *, suspended: bool = False) -> None:
        """Continue the process."""
        for number in (self._elector_number, self._number):
            _loop().resume(number, suspended=suspended)

    async def end(self) -> None:
        """Stop the process like SIGTERM."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._check()
        self.loop = None

    async def kill(self) -> None:
        """Kill the process like SIGKILL: immediately, at any point."""
        self._transport.die()
        self.resume()
        while alive := [*self.tasks(self._number), *self.tasks(self._elector_number)]:
            for task in alive:
                task.cancel()
            await asyncio.sleep(0)
        self.loop = None

    def tasks(self, group: int) -> list[SimulatedTask]:
        """Return the unfinished tasks of a group."""
        found = [
            task
            for task in asyncio.all_tasks()
            if isinstance(task, SimulatedTask) and task.group == group > 0 and not task.done()
        ]
        return sorted(found, key=hash)

    def failed(self) -> BaseException | None:
        """Return the exception of an unexpected end of the process."""
        if self._task is None or not self._task.done() or self._stop.is_set() or self._transport.dead:
            return None
        error = self._task.exception()
        return None if self.lost else error or RuntimeError("the operator's loop ended by itself")

    @property
    def lost(self) -> bool:
        """Whether the process ended because it lost the leadership."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return False
        return isinstance(self._task.exception(), LeadershipLost)

    def _check(self) -> None:
        if (
            self._task is not None
            and not self._task.cancelled()
            and not self.lost
            and (error := self._task.exception())
        ):
            raise error

    def attends(self, place: Place) -> str | None:
        """Return how the operator handles a parent: queued, processing, or by a timer; None if not at all."""
        if self.loop is None:
            return "the operator is not running"
        key, queue = Key(*place), self.loop._queue
        if not hasattr(self.loop, "_waiting"):  # before the fix of K5
            if not self.loop._resync.complete.is_set():
                return "nothing is reconciled before the first relist"
        elif key in self.loop._waiting._keys:
            return "waits until its namespace is listed"
        if any(key in lane for lane in queue._lanes.values()) or key in queue._dirty:
            return "queued"
        if key in queue._processing:
            return "processing"
        return "has a timer" if key in queue._delayed else None

    def tables(self) -> Iterator[tuple[str, Any]]:
        """Yield each table of the operator with its path, found through the attributes of the operator's objects."""
        return _tables("Manager", self.loop)

    def sizes(self, place: Place) -> dict[str, int]:
        """Return the sizes of the tables inside one parent's entries."""
        found: dict[str, int] = {}
        for path, table in self.tables():
            if isinstance(table, dict) and Key(*place) in table:
                for inside, each in _tables(f"{path}[]", table[Key(*place)]):
                    found[inside] = max(len(each), found.get(inside, 0))
        return found

    def mentions(self, names: set[Place], uids: set[str]) -> dict[str, int]:
        """Return the tables with entries of these parents, and the number of entries."""
        found: dict[str, int] = {}
        for path, table in self.tables():
            count = sum(_mentions(entry, names, uids) for entry in table)
            if count:
                found[path] = found.get(path, 0) + count
        return found

    def remembered(self, names: set[Place], uids: set[str]) -> dict[str, int]:
        """Return the tables besides the cache with entries of these parents, and the number of entries."""
        loop, found = self.loop, {}
        if loop is None:
            return {}
        for part in ("_queue", "_workers", "_reconciler"):
            for path, table in _tables(f"Manager.{part}", getattr(loop, part), [loop._store, loop._waiting]):
                if count := sum(_mentions(entry, names, uids) for entry in table):
                    found[path] = count
        return found


def _loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


def _tables(path: str, thing: Any, without: Sequence[object] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each table that an object of the operator holds, with its path; except through some objects."""
    seen = {id(each) for each in without}
    waiting: list[tuple[str, Any]] = [(path, thing)]
    while waiting:
        path, thing = waiting.pop()
        if id(thing) in seen or thing is None:
            continue
        seen.add(id(thing))
        if isinstance(thing, (dict, set, frozenset, list, tuple)) or type(thing).__name__ == "deque":
            yield path, thing
            values = list(thing.values()) if isinstance(thing, dict) else list(thing)
            waiting += [(f"{path}[]", value) for value in values]
        elif type(thing).__module__.split(".")[0] in PACKAGES:
            waiting += [(f"{path}.{name}", value) for name, value in _attributes(thing)]


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
