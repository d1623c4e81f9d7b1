"""Watches of the model that replace Kopf: the same signals in the same order, and the faults of a watch.

They behave like Kopf with `kernel/watching/session.py`: LIST, then WATCH from its version; the signal OPENED before
`started_over`; a closed watch is reopened from the last delivered version; 410 causes a new list; any other error,
such as 404 for a kind that is not served, ends all watches.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from model_cluster.active_faults import ActiveFaults
from model_cluster.api_server import Expired, metadata_of
from model_cluster.chance import Chance
from model_cluster.cluster import Cluster
from model_cluster.objects import Object
from simulation.subject import Activity, EventSink, Kind

Scope = tuple[str, str | None]
"""Resource and namespace. The resource of a watch of metadata is the `collection` of its kind."""

_REOPEN_SECONDS = 1.0
_BOOKMARK_SECONDS = 60.0


class WatchFailed(Exception):
    """An error event or a 404 that ends Kopf."""


class Connection:
    """One open watch: its undelivered events, and whether it still delivers."""

    def __init__(self, watches: "Watches", kind: Kind, namespace: str | None, since: int, sink: EventSink) -> None:
        self._watches = watches
        self._cluster = watches.cluster
        self._chance = watches.chance
        self.kind, self.namespace, self._sink = kind, namespace, sink
        self.since = since
        """The version for the next connection: that of the last delivered event."""
        self._read = since
        self._path = self._cluster.path(kind.plural, namespace)
        self.pending: deque[tuple[float, str, Object | None, int]] = deque()
        self.silent = False
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._context = contextvars.copy_context()
        """That of the process, which receives nothing while it is paused."""
        self._last = self._cluster.clock()
        self.heard = self._last

    def read(self) -> None:
        """Fetch newer events from the server."""
        if self.ended.done() or self._read > self._cluster.api.version:
            return
        try:
            events = self._cluster.api.watch_events(
                self._path, since=self._read, label_selector=self.kind.label_selector
            )
        except Expired:
            self.end("expired")
            return
        self._read = self._cluster.api.version
        for event in events:
            thing = metadata_of(event.object) if self.kind.metadata_only else event.object
            self._put(event.type, thing, event.version)

    def bookmark(self) -> None:
        """Send a bookmark."""
        self._put("BOOKMARK", None, max(self._read, self._cluster.api.version if not self.from_future else self._read))

    @property
    def from_future(self) -> bool:
        """Whether it was opened at a version above the server's."""
        return self._read > self._cluster.api.version

    def end(self, why: str) -> None:
        """End it."""
        if self._timer is not None:
            self._timer.cancel()
        if not self.ended.done():
            self.ended.set_result(why)

    def _put(self, change: str, thing: Object | None, version: int) -> None:
        delay = self._watches.delay(self.kind.plural)
        self._last = max(self._last, self._cluster.clock() + delay)
        self.pending.append((self._last, change, thing, version))
        self._arm()

    def _arm(self) -> None:
        if self._timer is None and self.pending and not self.ended.done():
            self._timer = asyncio.get_running_loop().call_at(self.pending[0][0], self._deliver, context=self._context)

    def _deliver(self) -> None:
        self._timer = None
        now = self._cluster.clock()
        while self.pending and self.pending[0][0] <= now:
            _, change, thing, version = self.pending.popleft()
            if self.silent:
                continue
            self.since, self.heard = version, now
            self._sink.watch_activity(
                self.kind, self.namespace, Activity.BOOKMARK if thing is None else Activity.RECEIVED
            )
            if thing is not None:
                self._watches.handed_over(self.kind, change, thing)
                self._sink.event(self.kind, change, thing)
        self._arm()


class Watches:
    """All watches of the operator, over its restarts."""

    def __init__(
        self,
        cluster: Cluster,
        faults: ActiveFaults,
        chance: Chance,
        kinds: Sequence[Kind],
        scopes: Sequence[str | None],
        *,
        slowest: float,
        server_timeout: float,
        inactivity_timeout: float,
        handed_over: Callable[[Kind, str, Object], None],
        started_over: Callable[[Scope], None],
    ) -> None:
        self.cluster = cluster
        self.chance = chance
        self.handed_over, self.started_over = handed_over, started_over
        self._faults = faults
        self._scopes = [(kind, scope) for kind in kinds for scope in scopes]
        self._slowest = slowest
        self._server_timeout = server_timeout
        self._inactivity_timeout = inactivity_timeout
        self.connections: dict[tuple[str, str | None], Connection] = {}
        self.ended_at: dict[Scope, float] = {}
        """The end of the last watch of each resource."""
        self.running: frozenset[str] = frozenset()
        """The resources of the current run, or of the last one."""
        self.lag: dict[str, float] = {}
        """Seconds of additional delay of a resource's watch."""
        cluster.after_commit.append(self._committed)

    def delay(self, plural: str) -> float:
        """Return the seconds until an event is delivered."""
        usual = self.chance.delay(0.001, self._slowest, f"watch {plural}")
        return usual + self.lag.get(plural, 0.0)

    async def run(self, kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        """Run the watches of some kinds until the event is set.

        Raises:
            WatchFailed: the error that ended one of them.
        """
        self.running = frozenset(kind.plural for kind in kinds)
        tasks = [
            asyncio.create_task(self._watch(kind, scope, sink), name=f"watch {kind.plural} {scope or ''}")
            for kind, scope in self._scopes
            if kind in kinds
        ]
        stopping = asyncio.create_task(stop.wait(), name="stop of the watches")
        try:
            done, _ = await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if stopping in done:
                # Kopf takes a moment to stop, and delivers events meanwhile.
                await asyncio.sleep(self.chance.delay(0.01, 2.0, "end of the watches"))
            for watch in tasks:
                if watch.done():
                    watch.result()
        finally:
            for task in (stopping, *tasks):
                task.cancel()
            for key, connection in list(self.connections.items()):
                if connection._sink is sink:
                    connection.end("closed")
                    del self.connections[key]
                    self.ended_at[key] = self.cluster.clock()
            await asyncio.gather(stopping, *tasks, return_exceptions=True)

    def close(self, why: str, plural: str | None = None, namespace: str | None = None) -> int:
        """Close the open watches of a resource, or all; return their number."""
        chosen = [
            found
            for (_, scope), found in self.connections.items()
            if plural in (None, found.kind.plural) and (namespace is None or scope == namespace)
        ]
        for connection in chosen:
            connection.end(why)
        return len(chosen)

    def live(self, plural: str, namespace: str) -> bool:
        """Return whether changes of a resource in a namespace will be delivered soon."""
        found = self.connection(plural, namespace)
        return found is not None and not (found.silent or found.from_future or found.ended.done())

    def connection(self, plural: str, namespace: str) -> Connection | None:
        """Return the open watch for a resource in a namespace."""
        return self.connections.get((plural, namespace)) or self.connections.get((plural, None))

    def _committed(self, plural: str) -> None:
        for connection in list(self.connections.values()):
            if plural in ("", connection.kind.plural):
                connection.read()

    async def _watch(self, kind: Kind, namespace: str | None, sink: EventSink) -> None:
        opened_at = -_REOPEN_SECONDS
        while True:
            version = await self._list(kind, namespace, sink)
            listed = True
            while True:
                await asyncio.sleep(max(0.0, opened_at + _REOPEN_SECONDS - self.cluster.clock()))
                opened_at = self.cluster.clock()
                if not await self._opened(kind, namespace, sink):
                    continue
                connection = Connection(self, kind, namespace, version, sink)
                self.connections[kind.collection, namespace] = connection
                sink.watch_activity(kind, namespace, Activity.OPENED)
                if listed:
                    self.started_over((kind.collection, namespace))
                    sink.watch_started(kind, namespace)
                    listed = False
                connection.silent = self._meets("silent watch", kind, namespace)
                connection.read()
                why = await self._stream(connection)
                version = connection.since
                if why == "error":
                    raise WatchFailed(f"an error event of {kind.plural}")
                if why == "expired":
                    self.cluster.trace.add(f"watch {kind.plural} {namespace or ''}: 410")
                    break

    async def _list(self, kind: Kind, namespace: str | None, sink: EventSink) -> int:
        delays = self._backoff()
        while True:
            await asyncio.sleep(self.chance.delay(0.001, self._slowest, f"list {kind.plural}"))
            if self._refuses(kind, namespace, "list"):
                sink.watch_activity(kind, namespace, Activity.FAILED)
                await asyncio.sleep(next(delays))
                continue
            self._check_served(kind)
            version: int = self.cluster.api.version
            await asyncio.sleep(self.chance.delay(0.001, self._slowest, f"listed {kind.plural}"))
            sink.watch_activity(kind, namespace, Activity.LISTED)
            return version

    async def _opened(self, kind: Kind, namespace: str | None, sink: EventSink) -> bool:
        delays = self._backoff()
        while True:
            await asyncio.sleep(self.chance.delay(0.001, self._slowest, f"open {kind.plural}"))
            if self._meets("hanging watch", kind, namespace):
                await asyncio.sleep(self._inactivity_timeout)
                return False
            if not self._refuses(kind, namespace, "watch"):
                self._check_served(kind)
                return True
            sink.watch_activity(kind, namespace, Activity.FAILED)
            await asyncio.sleep(next(delays))

    async def _stream(self, connection: Connection) -> str:
        opened = self.cluster.clock()
        last_mark = opened
        try:
            while True:
                now = self.cluster.clock()
                wake = min(
                    last_mark + _BOOKMARK_SECONDS,
                    opened + self._server_timeout,
                    connection.heard + self._inactivity_timeout,
                )
                if wake > now:
                    await asyncio.wait([connection.ended], timeout=wake - now)
                if connection.ended.done():
                    return connection.ended.result()
                now = self.cluster.clock()
                if now >= connection.heard + self._inactivity_timeout:
                    return "inactive"
                if now >= opened + self._server_timeout and not connection.silent:
                    return "timed out"
                if now >= last_mark + _BOOKMARK_SECONDS:
                    last_mark = now
                    connection.bookmark()
                elif now >= opened + self._server_timeout:
                    opened = now
        finally:
            connection.end("closed")
            scope = (connection.kind.collection, connection.namespace)
            if self.connections.get(scope) is connection:
                del self.connections[scope]
            self.ended_at[scope] = self.cluster.clock()

    def _backoff(self) -> Any:
        for delay in (1.0, 1.0, 2.0, 3.0):
            yield delay * self.chance.between(0.75, 1, "watch backoff")
        while True:
            yield 5.0 * self.chance.between(0.75, 1, "watch backoff")

    def _check_served(self, kind: Kind) -> None:
        if kind.plural not in self.cluster.objects:
            raise WatchFailed(f"404 for {kind.plural}")

    def _refuses(self, kind: Kind, namespace: str | None, verb: str) -> bool:
        forbidden = self.cluster.api.forbidden
        if {(verb, kind.plural, namespace), (verb, kind.plural, None)} & forbidden:
            return True
        return any(self._meets(fault, kind, namespace) for fault in ("unreachable", "watch refused"))

    def _meets(self, fault: str, kind: Kind, namespace: str | None) -> bool:
        now = self.cluster.clock()
        for found in self._faults.matching(now, "GET", kind.plural, namespace):
            if found.kind == fault:
                self._faults.count(found, now)
                return True
        return False
