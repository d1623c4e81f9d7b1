"""Resync: sweeps, at intervals and whenever a watch has started over.

A sweep is a paged LIST of one kind in one scope. It begins only after that kind's watch runs: what vanishes after the
LIST the watch tells, and what vanished before it the sweep does. That is what makes missed events harmless.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence

from coxswain.control.store import HistoryReset, Key, Store
from coxswain.kube.client import Client
from coxswain.kube.errors import Refused, RequestFailed
from coxswain.kube.kinds import KINDS, WEBAPP, Kind
from coxswain.kube.observed import observe

log = logging.getLogger(__name__)

Scope = tuple[Kind, str | None]

_RETRY_SECONDS = 1.0
_RETRY_LIMIT_SECONDS = 10.0
_EXPIRED_AT_ONCE = 3
"""How often in a row pages that expired are asked for again at once."""


def shown(scope: Scope) -> str:
    """Return a scope as a person reads it."""
    kind, namespace = scope
    return kind.plural + (f" of {namespace}" if namespace else "")


class Resync:
    """Sweeps every kind of every scope."""

    def __init__(
        self,
        store: Store,
        client: Client,
        namespaces: Sequence[str | None],
        interval: float,
        *,
        found: Callable[[set[Key]], None],
        resynced: Callable[[], None],
        history_reset: Callable[[HistoryReset], None],
    ) -> None:
        """Sweep each scope every `interval` seconds, give or take a tenth.

        `found` is told of WebApps that a sweep had news of, `resynced` is called when the WebApps were swept because
        it was time, and `history_reset` when a LIST showed that history ran backwards.
        """
        self._store = store
        self._client = client
        self._interval = interval
        self._found = found
        self._resynced = resynced
        self._history_reset = history_reset
        self._wanted: dict[Scope, asyncio.Event] = {
            (kind, namespace): asyncio.Event() for kind in KINDS for namespace in namespaces
        }
        self._pending: set[Scope] = set(self._wanted)
        self._starts = 0
        self.complete = asyncio.Event()
        """Set while every kind of every scope has been swept since the last start of history."""

    async def run(self) -> None:
        """Run for ever."""
        async with asyncio.TaskGroup() as tasks:
            for scope in self._wanted:
                tasks.create_task(self._keep_swept(scope))

    def sweep_soon(self, kind: Kind, namespace: str | None) -> None:
        """Sweep a scope now; a namespace without a scope of its own is part of the cluster's."""
        scope = (kind, namespace) if (kind, namespace) in self._wanted else (kind, None)
        self._wanted[scope].set()

    def start_over(self) -> None:
        """Count nothing as swept: each scope is swept again once its watch runs anew."""
        self._pending = set(self._wanted)
        self._starts += 1
        self.complete.clear()

    @property
    def pending(self) -> list[str]:
        """What has not been swept yet, for readiness."""
        return sorted(f"{shown(scope)} not listed yet" for scope in self._pending)

    async def _keep_swept(self, scope: Scope) -> None:
        wanted = self._wanted[scope]
        await wanted.wait()
        timely = False
        while True:
            # What is wanted while it is being swept is swept for once more: it may be about what came in between.
            wanted.clear()
            await self._sweep_until_done(scope)
            if timely and scope[0] is WEBAPP:
                self._resynced()
            timely = not await _set_within(wanted, self._interval * random.uniform(0.9, 1.1))  # noqa: S311
            if timely and scope in self._pending:
                await wanted.wait()  # history starts over: its watch comes first

    async def _sweep_until_done(self, scope: Scope) -> None:
        delay = _RETRY_SECONDS
        starts = self._starts
        expired = 0
        while starts == self._starts:
            try:
                await self._sweep(*scope)
            except HistoryReset as reset:
                self._history_reset(reset)
            except RequestFailed as error:
                if _token_expired(error) and expired < _EXPIRED_AT_ONCE:
                    expired += 1
                    log.debug("the pages of %s took too long: from the first again", shown(scope))
                    continue
                pause = max(delay * random.uniform(0.75, 1), _asked_for(error))  # noqa: S311
                log.warning("%s can't be listed: %s; trying again in %.0f s", scope[0].plural, error, pause)
                await asyncio.sleep(pause)
                delay = min(delay * 2, _RETRY_LIMIT_SECONDS)
                continue
            else:
                self._swept(scope, starts)
            return

    def _swept(self, scope: Scope, starts: int) -> None:
        # A sweep that was under way when history started over says nothing of what came after.
        if starts == self._starts:
            self._pending.discard(scope)
        if not self._pending and not self.complete.is_set():
            log.info("in step with the cluster: %d WebApps", len(self._store.webapps()))
            self.complete.set()

    async def _sweep(self, kind: Kind, namespace: str | None) -> None:
        starts = self._starts
        sweep = self._store.begin_sweep(kind, namespace)
        version = None
        listed: set[Key] = set()
        touched: set[Key] = set()
        async for page in self._client.pages(kind, namespace):
            if starts != self._starts:
                return
            version = version or int(page["metadata"]["resourceVersion"])
            for raw in page["items"]:
                observed = observe(kind, raw)
                listed.add(Key(observed.namespace, observed.name))
                touched |= self._store.listed(observed, version)
        touched |= self._store.end_sweep(sweep, version or 0, listed)
        self._found(touched)


def _token_expired(error: RequestFailed) -> bool:
    return isinstance(error, Refused) and error.status == 410


def _asked_for(error: RequestFailed) -> float:
    return (error.retry_after if isinstance(error, Refused) else None) or 0.0


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
