"""Watches over the model in the place of Kopf: the same signs in the same order, and all that befalls a watch.

What Kopf and `kernel/watching/session.py` do: LIST, then WATCH from its version; the sign OPENED before
`started_over`; a watch that ends is opened again from the last version that came; 410 lists again; any other error
ends all watches.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from rendered import KINDS
from simulation.chance import Chance
from simulation.cluster import Cluster, Object, path
from simulation.model import Expired
from simulation.weather import Weather

Scope = tuple[str, str | None]
"""Resource and namespace."""

_REOPEN_SECONDS = 1.0
_BOOKMARK_SECONDS = 60.0


class WatchFailed(Exception):
    """An error event that Kopf ends with."""


class Connection:
    """One open watch: what it has not delivered yet, and whether it still delivers."""

    def __init__(self, watches: "Watches", kind: Kind, namespace: str | None, since: int, sink: EventSink) -> None:
        self._watches = watches
        self._cluster = watches.cluster
        self._chance = watches.chance
        self.kind, self.namespace, self._sink = kind, namespace, sink
        self.since = since
        """The version from which a next connection goes on: that of the last event that was delivered."""
        self._read = since
        self._path = path(kind.plural, namespace)
        self.pending: deque[tuple[float, str, Object | None, int]] = deque()
        self.silent = False
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._last = self._cluster.clock()
        self.heard = self._last

    def read(self) -> None:
        """Take in what the server has that is newer."""
        if self._read > self._cluster.api.version:
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
            self._put(event.type, event.object, event.version)

    def bookmark(self) -> None:
        """Send a bookmark."""
        self._put("BOOKMARK", None, max(self._read, self._cluster.api.version if not self.from_future else self._read))

    @property
    def from_future(self) -> bool:
        """Whether it was opened at a version that the server has not reached."""
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
            self._timer = asyncio.get_running_loop().call_at(self.pending[0][0], self._deliver)

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
        weather: Weather,
        chance: Chance,
        scopes: Sequence[str | None],
        *,
        slowest: float,
        server_timeout: float,
        inactivity_timeout: float,
        handed_over: Callable[[Kind, str, Object], None],
    ) -> None:
        self.cluster = cluster
        self.chance = chance
        self.handed_over = handed_over
        self._weather = weather
        self._scopes = [(kind, scope) for kind in KINDS.watched for scope in scopes]
        self._slowest = slowest
        self._server_timeout = server_timeout
        self._inactivity_timeout = inactivity_timeout
        self.connections: dict[tuple[str, str | None], Connection] = {}
        self.ended_at: dict[Scope, float] = {}
        """When the last watch of a resource ended."""
        self.lag: dict[str, float] = {}
        """Seconds by which the watch of a resource is behind, beyond its usual delay."""
        self.started_over: Callable[[Scope], None] = lambda _: None
        cluster.after_commit.append(self._committed)

    def delay(self, plural: str) -> float:
        """Return the seconds until an event is delivered."""
        usual = self.chance.delay(0.001, self._slowest, f"watch {plural}")
        return usual + self.lag.get(plural, 0.0)

    async def run(self, sink: EventSink, stop: asyncio.Event) -> None:
        """Run all watches until the event is set.

        Raises:
            WatchFailed: what ended one of them.
        """
        tasks = [
            asyncio.create_task(self._watch(kind, scope, sink), name=f"watch {kind.plural} {scope or ''}")
            for kind, scope in self._scopes
        ]
        stopping = asyncio.create_task(stop.wait(), name="stop of the watches")
        try:
            done, _ = await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if stopping in done:
                # Kopf takes a moment to end, and goes on delivering meanwhile.
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
        """End the open watches of a resource, or all; return how many."""
        chosen = [
            found
            for (of, scope), found in self.connections.items()
            if plural in (None, of) and (namespace is None or scope == namespace)
        ]
        for connection in chosen:
            connection.end(why)
        return len(chosen)

    def live(self, plural: str, namespace: str) -> bool:
        """Tell whether changes of a resource in a namespace will be delivered soon."""
        found = self.connection(plural, namespace)
        return found is not None and not (found.silent or found.from_future or found.ended.done())

    def connection(self, plural: str, namespace: str) -> Connection | None:
        """Return the open watch that covers a resource in a namespace."""
        return self.connections.get((plural, namespace)) or self.connections.get((plural, None))

    def _committed(self, plural: str) -> None:
        for (of, _), connection in list(self.connections.items()):
            if plural in ("", of):
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
                self.connections[kind.plural, namespace] = connection
                sink.watch_activity(kind, namespace, Activity.OPENED)
                if listed:
                    self.started_over((kind.plural, namespace))
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
            if self.connections.get((connection.kind.plural, connection.namespace)) is connection:
                del self.connections[connection.kind.plural, connection.namespace]
            self.ended_at[connection.kind.plural, connection.namespace] = self.cluster.clock()

    def _backoff(self) -> Any:
        for delay in (1.0, 1.0, 2.0, 3.0):
            yield delay * self.chance.between(0.75, 1, "watch backoff")
        while True:
            yield 5.0 * self.chance.between(0.75, 1, "watch backoff")

    def _refuses(self, kind: Kind, namespace: str | None, verb: str) -> bool:
        forbidden = self.cluster.api.forbidden
        if {(verb, kind.plural, namespace), (verb, kind.plural, None)} & forbidden:
            return True
        return any(self._meets(trouble, kind, namespace) for trouble in ("unreachable", "watch refused"))

    def _meets(self, trouble: str, kind: Kind, namespace: str | None) -> bool:
        now = self.cluster.clock()
        for found in self._weather.meeting(now, "GET", kind.plural, namespace):
            if found.kind == trouble:
                self._weather.meet(found, now)
                return True
        return False
