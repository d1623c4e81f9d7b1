"""Resync: sweeps, at intervals and whenever a watch has started over.

A sweep is a paged LIST of one kind in one scope. It begins only after that kind's watch runs: what vanishes after the
LIST the watch tells, and what vanished before it the sweep does. That is what makes missed events harmless.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Refused, RequestFailed, Undecodable
from coxswain.kernel.cache.coverage import Coverage, Scope, shown
from coxswain.kernel.cache.decode import place, read
from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projector

log = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
_RETRY_LIMIT_SECONDS = 10.0
_EXPIRED_AT_ONCE = 3
"""How often in a row pages that expired are asked for again at once."""


@dataclass
class _Wish:
    """What is wanted of a scope."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    sweep: bool = False
    """A sweep, as soon as possible."""
    reason: bool = False
    """The reason for which its watch does not open."""

    def make(self, *, sweep: bool = False, reason: bool = False) -> None:
        self.sweep, self.reason = self.sweep or sweep, self.reason or reason
        self.event.set()


class Resync:
    """Sweeps every kind of every scope."""

    def __init__(
        self,
        store: Store,
        client: Client,
        projector: Projector,
        namespaces: Sequence[str | None],
        interval: float,
        *,
        found: Callable[[set[Key]], None],
        resynced: Callable[[], None],
        history_reset: Callable[[HistoryReset], None],
        covered: Callable[[], None] = lambda: None,
    ) -> None:
        """Sweep each scope every `interval` seconds, give or take a tenth.

        `found` is told of WebApps that a page had news of, `resynced` is called once in each interval, `history_reset`
        when a LIST showed that history ran backwards, and `covered` when a scope was listed or could not be.
        """
        self._store = store
        self._client = client
        self._projector = projector
        self._interval = interval
        self._found = found
        self._resynced = resynced
        self._history_reset = history_reset
        self._covered = covered
        self._wishes: dict[Scope, _Wish] = {
            (kind, namespace): _Wish() for kind in projector.kinds.watched for namespace in namespaces
        }
        self._starts = 0
        self.coverage = Coverage(projector.kinds, namespaces, asyncio.get_running_loop().time)
        self.complete = asyncio.Event()
        """Set while every kind of every scope has been swept since the last start of history."""

    async def run(self) -> None:
        """Run for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_time())
            for scope in self._wishes:
                tasks.create_task(self._keep_swept(scope))

    def sweep_soon(self, kind: Kind, namespace: str | None) -> None:
        """Sweep a scope now; a namespace without a scope of its own is part of the cluster's."""
        self._wishes[self.coverage.scope(kind, namespace)].make(sweep=True)

    def ask_why(self, scope: Scope) -> None:
        """Find out why a scope that was not listed yet can't be watched."""
        if not self.coverage.is_listed(scope):
            self._wishes[scope].make(reason=True)

    def start_over(self) -> None:
        """Count nothing as swept: each scope is swept again once its watch runs anew."""
        self.coverage.start_over()
        self._starts += 1
        self.complete.clear()

    async def _keep_time(self) -> None:
        # Apart from the sweeps: with flapping watches, or many namespaces, these come at any time.
        while True:
            await asyncio.sleep(self._jittered(self._interval))
            self._resynced()

    async def _keep_swept(self, scope: Scope) -> None:
        wish, clock = self._wishes[scope], asyncio.get_running_loop().time
        due, asked = inf, -inf
        while True:
            timely = not await _set_within(wish.event, due - clock())
            wish.event.clear()
            # What is wanted while it is being swept is swept for once more: it may be about what came in between.
            sweep, reason, wish.sweep, wish.reason = wish.sweep, wish.reason, False, False
            if not sweep and not self.coverage.is_listed(scope):
                # At the start, and when history starts over: its watch comes first.
                due = inf
                if reason and clock() - asked >= _RETRY_LIMIT_SECONDS:
                    asked = clock()
                    await self._ask(scope)
            elif sweep or timely:
                # A deadline of its own: a relist doesn't put it off.
                due = due if clock() < due < inf else clock() + self._jittered(self._interval)
                await self._sweep_until_done(scope)

    async def _ask(self, scope: Scope) -> None:
        try:
            await anext(aiter(self._client.pages(*scope)), None)
        except Exception as error:  # noqa: BLE001 - as of a sweep
            self._failed(scope, error)
        else:
            self._failed(scope, None)

    async def _sweep_until_done(self, scope: Scope) -> None:
        delay = _RETRY_SECONDS
        starts = self._starts
        expired = 0
        while starts == self._starts:
            try:
                await self._sweep(*scope)
            except HistoryReset as reset:
                self._history_reset(reset)
            # One scope's trouble, whatever it is, must not end the sweeps of the others.
            except Exception as error:
                if _token_expired(error) and expired < _EXPIRED_AT_ONCE:
                    expired += 1
                    log.debug("the pages of %s took too long: from the first again", shown(scope))
                    continue
                pause = max(delay * random.uniform(0.75, 1), _asked_for(error))  # noqa: S311
                self._failed(scope, error)
                text = "%s can't be listed: %s; trying again in %.0f s"
                defect = not isinstance(error, RequestFailed)
                log.warning(text, shown(scope), str(error) or repr(error), pause, exc_info=defect)
                await asyncio.sleep(pause)
                delay = min(delay * 2, _RETRY_LIMIT_SECONDS)
                continue
            else:
                self._swept(scope, starts)
            return

    def _failed(self, scope: Scope, error: Exception | None) -> None:
        self.coverage.failed(scope, error)
        self._covered()

    def _swept(self, scope: Scope, starts: int) -> None:
        # A sweep that was under way when history started over says nothing of what came after.
        if starts == self._starts:
            self.coverage.listed(scope)
        if self.coverage.complete and not self.complete.is_set():
            log.info("in step with the cluster: %d %s", len(self._store.parents()), self._projector.kinds.parent.plural)
            self.complete.set()
        self._covered()

    async def _sweep(self, kind: Kind, namespace: str | None) -> None:
        starts = self._starts
        sweep = self._store.begin_sweep(kind, namespace)
        version = 0
        listed: set[Key] = set()
        async for page in self._client.pages(kind, namespace):
            if starts != self._starts:
                return
            page_version, items = _contents(page)
            version = version or page_version
            # At once: the store knows of it now, so no later sweep would find it new.
            self._found(self._take_in(kind, items, version, listed))
            # Not to be kept beside the next page.
            del page, items
        if starts == self._starts:
            self._found(self._store.end_sweep(sweep, version, listed))

    def _take_in(self, kind: Kind, items: Sequence[Any], version: int, listed: set[Key]) -> set[Key]:
        touched: set[Key] = set()
        for raw in items:
            name = place(raw)
            if name is not None:
                # Also if it can't be read: it is there, so the one that is known stays.
                listed.add(Key(*name))
            observed = read(self._projector, kind, raw)
            if observed is not None:
                touched |= self._store.listed(observed, version)
        return touched

    @staticmethod
    def _jittered(seconds: float) -> float:
        return seconds * random.uniform(0.9, 1.1)  # noqa: S311


def _contents(page: Mapping[str, Any]) -> tuple[int, Sequence[Any]]:
    """Return version and items of a page of a LIST."""
    try:
        version, items = int(page["metadata"]["resourceVersion"]), page["items"]
    except (KeyError, TypeError, ValueError) as error:
        raise Undecodable(f"the answer is no list: {error!r} in {str(page)[:80]!r}") from error
    if items is not None and not isinstance(items, list):
        raise Undecodable(f"the answer is no list: its items are {str(items)[:80]!r}")
    return version, items or ()


def _token_expired(error: Exception) -> bool:
    return isinstance(error, Refused) and error.status == 410


def _asked_for(error: Exception) -> float:
    return (error.retry_after if isinstance(error, Refused) else None) or 0.0


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(None if seconds == inf else seconds):
            return await event.wait()
    except TimeoutError:
        return False
