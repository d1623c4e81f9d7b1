"""Relists every kind at intervals (resync) and after each start of a watch.

A relist is a paged LIST of one kind in one scope; it removes absent objects from the store. It begins only after the
watch of that kind has started, or in place of a watch that does not open for a minute. The relist finds objects that
were deleted before the LIST, and the watch reports later deletions. Missed events are therefore harmless.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Refused, RequestFailed, Undecodable
from coxswain.kernel.cache.coverage import Coverage, Scope, describe
from coxswain.kernel.cache.decode import place, read
from coxswain.kernel.cache.relist_schedule import RelistSchedule, Step
from coxswain.kernel.cache.store import HistoryReset, Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projector
from coxswain.metrics import relisted

log = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
_RETRY_LIMIT_SECONDS = 10.0
_EXPIRED_AT_ONCE = 3
"""Consecutive relists without a delay after an expired continue token."""


class WatchNotOpened(Exception):
    """The API server answers the LIST of a scope, but its watch does not open."""


@dataclass
class _Request:
    """Pending requests for one scope."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    relist: bool = False
    """Relist as soon as possible."""
    diagnose: bool = False
    """Determine why its watch does not open; a listed scope is relisted in place of the watch."""

    def add(self, *, relist: bool = False, diagnose: bool = False) -> None:
        self.relist, self.diagnose = self.relist or relist, self.diagnose or diagnose
        self.event.set()

    def take(self) -> tuple[bool, bool]:
        """Return `relist` and `diagnose`, and clear them before the LIST: later requests may concern later changes."""
        taken = self.relist, self.diagnose
        self.relist = self.diagnose = False
        self.event.clear()
        return taken


class Resync:
    """Relists every kind in every scope."""

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
        """Relist each scope every `interval` seconds, with 10 % jitter.

        Args:
            store: Receives the objects.
            client: Sends the LIST requests.
            projector: Decodes the objects.
            namespaces: Served namespaces; None is the whole cluster.
            interval: Seconds between two relists of a scope.
            found: Called with the parents that changed in the store, after each page and at the end of a relist.
            resynced: Called once per interval.
            history_reset: Called when a LIST shows that the resourceVersion ran backwards.
            covered: Called after the success or failure of a LIST.
        """
        self._store = store
        self._client = client
        self._projector = projector
        self._interval = interval
        self._found = found
        self._resynced = resynced
        self._history_reset = history_reset
        self._covered = covered
        self._requests: dict[Scope, _Request] = {
            (kind, namespace): _Request() for kind in projector.kinds.watched for namespace in namespaces
        }
        self._history_resets = 0
        self.coverage = Coverage(projector.kinds, namespaces, asyncio.get_running_loop().time)
        self.complete = asyncio.Event()
        """Set while every scope has been relisted since the last history reset."""

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._run_resync_timer())
            for scope in self._requests:
                tasks.create_task(self._keep_listed(scope))

    def begin_watches(self, kinds: Collection[Kind]) -> None:
        """Record a restart of all watches, for the served `kinds`, and forget the objects of the others."""
        self.coverage.begin_watches(kinds)
        for kind in self._projector.kinds.optional:
            if kind in kinds:
                self._store.serve(kind)
            else:
                self._store.drop(kind)
        for request in self._requests.values():
            request.add()

    def relist_soon(self, kind: Kind, namespace: str | None) -> None:
        """Relist a kind in a namespace now, or in the whole cluster if the operator serves it."""
        self._requests[self.coverage.scope(kind, namespace)].add(relist=True)

    def diagnose(self, scope: Scope) -> None:
        """Find the reason why the watch of a scope does not open, if the scope was not listed yet.

        A listed scope is relisted each minute if its watch does not open for long.
        """
        if not self.coverage.is_listed(scope) or self.coverage.is_unwatched(scope):
            self._requests[scope].add(diagnose=True)

    def start_over(self) -> None:
        """Handle a history reset: relist each scope after its watch has started again."""
        self.coverage.start_over()
        self._history_resets += 1
        self.complete.clear()

    async def _run_resync_timer(self) -> None:
        # Independent of the relists: with flapping watches or many namespaces these have no common end.
        while True:
            await asyncio.sleep(self._jittered(self._interval))
            self._resynced()

    async def _keep_listed(self, scope: Scope) -> None:
        """Relist a scope on request and at each interval.

        While it is unlisted, find the reason why its watch does not open.
        """
        request, clock = self._requests[scope], asyncio.get_running_loop().time
        optional = scope[0] in self._projector.kinds.optional
        schedule = RelistSchedule(optional, interval=lambda: self._jittered(self._interval))
        while True:
            due = not await _set_within(request.event, schedule.timer - clock())
            relist, diagnose = request.take()
            state = self.coverage.state(scope)
            match schedule.next_step(state, clock(), due=due, relist=relist, diagnose=diagnose):
                case Step.RELIST:
                    await self._relist_until_done(scope)
                case Step.RELIST_ONCE:
                    await self._relist_unwatched(scope)
                case Step.DIAGNOSE:
                    await self._diagnose(scope)

    async def _diagnose(self, scope: Scope) -> None:
        try:
            await anext(aiter(self._client.pages(*scope)), None)
        except Exception as error:  # noqa: BLE001 - as in _relist_until_done
            self._failed(scope, error)
        else:
            self._failed(scope, WatchNotOpened("the API server answers the LIST, but the watch does not open"))

    async def _relist_until_done(self, scope: Scope) -> None:
        delay = _RETRY_SECONDS
        history_resets, clock = self._history_resets, asyncio.get_running_loop().time
        expired = 0
        while history_resets == self._history_resets and self.coverage.is_served(scope):
            begun, gaps = clock(), self.coverage.gaps(scope)
            try:
                await self._relist(*scope)
            except HistoryReset as reset:
                self._history_reset(reset)
            # An error in one scope must not end the relists of the others.
            except Exception as error:
                if _token_expired(error) and expired < _EXPIRED_AT_ONCE:
                    expired += 1
                    log.debug("the continue token for %s expired; relisting from the first page", describe(scope))
                    continue
                requested = error.retry_after if isinstance(error, RequestFailed) else None
                pause = max(delay * random.uniform(0.75, 1), requested or 0.0)  # noqa: S311 - jitter
                self._failed(scope, error)
                text = "%s cannot be listed: %s; retrying in %.0f s"
                defect = not isinstance(error, RequestFailed)
                log.warning(text, describe(scope), str(error) or repr(error), pause, exc_info=defect)
                await asyncio.sleep(pause)
                delay = min(delay * 2, _RETRY_LIMIT_SECONDS)
                continue
            else:
                self._relisted(scope, history_resets, gaps, clock() - begun)
            return

    async def _relist_unwatched(self, scope: Scope) -> None:
        """Relist a scope once, in place of its watch.

        A failure is neither retried nor recorded: during an outage the watch reports the recovery first, and no relist
        would end that record.
        """
        history_resets, gaps, clock = self._history_resets, self.coverage.gaps(scope), asyncio.get_running_loop().time
        begun = clock()
        try:
            await self._relist(*scope)
        except HistoryReset as reset:
            self._history_reset(reset)
        except Exception as error:  # noqa: BLE001 - as in _relist_until_done
            log.debug("%s cannot be listed in place of their watch: %s", describe(scope), error)
        else:
            self._relisted(scope, history_resets, gaps, clock() - begun)

    def _failed(self, scope: Scope, error: Exception) -> None:
        self.coverage.failed(scope, error)
        self._covered()

    def _relisted(self, scope: Scope, history_resets: int, gaps: int, seconds: float) -> None:
        # A relist that began before a history reset says nothing about the new history.
        if history_resets == self._history_resets:
            self.coverage.listed(scope, gaps)
            relisted(scope[0].collection, seconds)
        if self.coverage.complete and not self.complete.is_set():
            log.info("caches synced: %d %s", len(self._store.parents()), self._projector.kinds.parent.plural)
            self.complete.set()
        self._covered()

    async def _relist(self, kind: Kind, namespace: str | None) -> None:
        history_resets = self._history_resets
        relist = self._store.begin_relist(kind, namespace)
        version = 0
        listed: set[Key] = set()
        async for page in self._client.pages(kind, namespace):
            if history_resets != self._history_resets:
                return
            page_version, items = _contents(page)
            version = version or page_version
            # Enqueue each page at once: if a later page fails, the next relist finds no change in these objects.
            self._found(self._take_in(kind, items, version, listed))
            # Free the memory before the next page arrives.
            del page, items
        if history_resets == self._history_resets:
            self._found(self._store.end_relist(relist, version, listed))

    def _take_in(self, kind: Kind, items: Sequence[Any], version: int, listed: set[Key]) -> set[Key]:
        touched: set[Key] = set()
        for raw in items:
            name = place(raw)
            if name is not None:
                # Also if it cannot be decoded: the object exists, so the store keeps its last projection.
                listed.add(Key(*name))
            observed = read(self._projector, kind, raw)
            if observed is not None:
                touched |= self._store.listed(observed, version)
        return touched

    @staticmethod
    def _jittered(seconds: float) -> float:
        return seconds * random.uniform(0.9, 1.1)  # noqa: S311 - jitter


def _contents(page: Mapping[str, Any]) -> tuple[int, Sequence[Any]]:
    """Return the resourceVersion and the items of a page of a LIST.

    Raises:
        Undecodable: The page is no valid list.
    """
    try:
        version, items = int(page["metadata"]["resourceVersion"]), page["items"]
    except (KeyError, TypeError, ValueError) as error:
        raise Undecodable(f"the answer is no list: {error!r} in {str(page)[:80]!r}") from error
    if items is not None and not isinstance(items, list):
        raise Undecodable(f"the answer is no list: its items are {str(items)[:80]!r}")
    return version, items or ()


def _token_expired(error: Exception) -> bool:
    return isinstance(error, Refused) and error.status == 410


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(None if seconds == inf else seconds):
            return await event.wait()
    except TimeoutError:
        return False
