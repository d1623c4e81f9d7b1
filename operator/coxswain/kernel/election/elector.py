"""Acquires and renews the Lease, modelled on client-go's leaderelection.

The differences to client-go: leadership counts from the moment at which the last successful renewal was sent, a deleted
Lease is waited for like a held one, and a candidate looks at the moment of the expiry.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from coxswain.kernel.api.errors import ErrorClass, Refused, RequestFailed
from coxswain.kernel.election import lease as leases
from coxswain.kernel.election.leadership import Leadership
from coxswain.kernel.election.lease import Action, Create, Lease, Observation, Wait, Write, Yield
from coxswain.kernel.election.requests import SPREAD, NoAnswer, retry, within
from coxswain.settings import ElectionSettings

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_SHORTEST, _LONGEST = 0.7, 0.9
"""Bounds of the delay between two requests, as parts of the retry period. Candidates must not poll in step, and the
longest delay, the expiry and two requests are less than 17 s."""
NO_ANSWER = "no answer yet"
_ATTEMPTS = 2
"""Maximum writes in a row: the known version may be outdated once."""


@dataclass(frozen=True)
class Right:
    """The right that a Lease grants, for messages, and who may hold the Lease."""

    gained: str = "this process leads"
    lost: str = "ending, to start again as a standby"
    shared: bool = False
    """Whether several processes hold the Lease under one identity, so that each must read it before it writes. The
    renewal of one extends the right of all, because their conflicts may refuse those of one for a long time."""


class LeadershipLost(Exception):
    """The Lease is lost: the process may not write any more."""


class LeaseStore(Protocol):
    """The requests for one Lease. All raise `RequestFailed`."""

    @property
    def name(self) -> str:
        """The Lease as namespace/name, for messages."""

    async def get(self) -> Lease | None:
        """Return the Lease; None if it does not exist."""

    async def create(self, manifest: Mapping[str, Any]) -> Lease:
        """Create the Lease."""

    async def update(self, manifest: Mapping[str, Any]) -> Lease:
        """Replace the Lease, with the preconditions in its metadata."""


def pause(settings: ElectionSettings, chance: Callable[[], float]) -> float:
    """Return the seconds until the next request, with jitter."""
    return (_SHORTEST + (_LONGEST - _SHORTEST) * chance()) * settings.retry_period


def _retrieve(write: "asyncio.Future[Lease]") -> None:
    """Take the error of a write after a cancellation, so that asyncio does not log it as lost."""
    if not write.cancelled():
        write.exception()


class Elector:
    """One candidate for one Lease."""

    def __init__(
        self,
        store: LeaseStore,
        leadership: Leadership,
        identity: str,
        settings: ElectionSettings,
        *,
        clock: Callable[[], float],
        acquired: Callable[[], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
        observed: Observation | None = None,
        right: Right = Right(),
    ) -> None:
        """Compete for the Lease of `store` when `run` is called.

        Args:
            store: sends the requests.
            leadership: the right to write, extended by each renewal.
            identity: the holder to write into the Lease, unique for this process.
            settings: the durations.
            clock: returns monotonic seconds, the same as the clock of `leadership`.
            acquired: called once, after the first acquisition.
            now: returns the wall clock's time, written for people.
            chance: returns random numbers from 0 to 1 for the jitter.
            observed: the Lease as observed so far; without it the observation begins now.
            right: the right that the Lease grants.
        """
        self._store = store
        self._leadership = leadership
        self._identity = identity
        self._settings = settings
        self._clock = clock
        self._acquired = acquired
        self._now = now
        self._chance = chance
        self._observed = observed or Observation(None, clock())
        self._right = right
        self._sent = float("-inf")
        """The time at which the last request was sent whose response had the known version."""
        self._unanswered: asyncio.Future[Lease] | None = None
        """The last write, until a later response tells whether it is stored."""
        self._leading = False
        self._reported: str | None = None
        self.heartbeat = clock()
        """The time of the last request or pause, in seconds of the clock."""
        self.failure: str | None = NO_ANSWER
        """The error of the last attempt; None if the API server answered as expected."""
        self.refused = False
        """Whether this error is a refusal that may last, such as a missing right."""

    @property
    def holder(self) -> str:
        """The identity of the last known holder; empty if there is none."""
        return self._observed.lease.holder if self._observed.lease else ""

    async def run(self) -> None:
        """Acquire the Lease and renew it, until cancelled.

        Raises:
            LeadershipLost: the renewals failed for too long, or another process holds the Lease.
        """
        while True:
            delay = pause(self._settings, self._chance)
            try:
                action = await self._attempt()
            except RequestFailed as error:
                self._failed(error)
            else:
                self.failure, self.refused = None, False
                if isinstance(action, Yield):
                    raise self._lost(f"{self.holder} holds it")
                if isinstance(action, Wait):
                    delay = min(delay, action.until - self._clock() + SPREAD * self._chance())
            self._report()
            if self._leading:
                delay = min(delay, self._leadership.until - self._clock())
            self.heartbeat = self._clock()
            await asyncio.sleep(max(delay, 0.0))

    async def release(self) -> None:
        """Give the Lease up if this process holds it, so that another one need not wait for the expiry.

        Call this after `run` has been cancelled, and after the last write. An acquisition in flight is waited for. A
        failed request is repeated for `release_timeout`.
        """
        self._leadership.end()
        action, seconds = f"releasing the Lease {self._store.name}", self._settings.release_timeout
        await retry(self._attempt_release, action, seconds, clock=self._clock, chance=self._chance)

    async def answered(self) -> None:
        """Wait for the answer to a write that was in flight when `run` was cancelled, for `request_timeout` at most."""
        if self._unanswered is not None:
            await asyncio.wait([self._unanswered], timeout=self._settings.request_timeout)

    async def _attempt_release(self) -> None:
        if self._unanswered is not None and self.holder != self._identity:
            # The Lease may have been acquired without an answer so far.
            await self.answered()
            await self._read()
        lease = self._observed.lease
        if lease is None or lease.holder != self._identity:
            return
        # The answer to the last renewal may be lost, so that the known version is outdated.
        manifest = leases.released(lease, name=self._store.name, now=self._now())
        conflict = await self._conflict(self._store.update(manifest))
        if conflict is not None:
            raise conflict
        log.info("released the Lease %s", self._store.name)

    async def _attempt(self) -> Action:
        """Read the Lease if necessary, and write it if possible. Return the last decision.

        Raises:
            RequestFailed: a request failed, or all writes had conflicts.
            LeadershipLost: the leadership ended meanwhile.
        """
        self._require_leadership()
        if self.holder != self._identity or self._right.shared:
            await self._read()
        action, attempts, conflict = self._decide(), 0, None
        while isinstance(action, Write | Create) and attempts < _ATTEMPTS:
            attempts += 1
            sent = self._clock()
            conflict = await self._conflict(self._creation() if isinstance(action, Create) else self._renewal())
            if conflict is None and isinstance(action, Write):
                self._leadership.extend(sent + self._settings.renew_deadline)
                self._begin()
                return action
            action = self._decide()
        renewed_by_others = self._right.shared and self._leading
        if conflict is not None and isinstance(action, Write | Create) and not renewed_by_others:
            raise conflict
        return action

    def _decide(self) -> Action:
        self._require_leadership()
        return leases.decide(
            self._observed, self._identity, leading=self._leading, now=self._clock(), settings=self._settings
        )

    def _creation(self) -> Awaitable[Lease]:
        return self._store.create(leases.unheld(name=self._store.name, duration=self._settings.lease_duration))

    def _renewal(self) -> Awaitable[Lease]:
        lease, name, duration = self._observed.lease, self._store.name, self._settings.lease_duration
        manifest = leases.held(lease, self._identity, name=name, now=self._now(), duration=duration)
        return self._store.update(manifest) if lease else self._store.create(manifest)

    async def _conflict(self, writing: Awaitable[Lease]) -> Refused | None:
        """Send a write. If the known version is outdated, read the Lease and return the conflict.

        A cancellation does not interrupt the write: it may be stored, and `release` needs to know that.
        """
        sent = self._clock()
        write = self._unanswered = asyncio.ensure_future(writing)
        write.add_done_callback(_retrieve)
        try:
            lease = await self._within_timeout(asyncio.shield(write))
        except (NoAnswer, LeadershipLost):
            write.cancel()
            raise
        except Refused as error:
            if error.status < 500:
                self._unanswered = None
            if error.error_class is not ErrorClass.CONFLICT:
                raise
            if self._right.shared:
                await asyncio.sleep(SPREAD * self._chance())
            await self._read()
            return error
        self._observe(lease, sent)
        return None

    async def _read(self) -> None:
        sent, known = self._clock(), self._observed
        lease = await self._within_timeout(self._store.get())
        before = self._sent
        self._observe(lease, sent)
        if self._right.shared and self._leading and self._observed is not known and self.holder == self._identity:
            # Another process has renewed the Lease since the previous request, so nobody acquires it sooner.
            self._leadership.extend(before + self._settings.renew_deadline)

    def _observe(self, lease: Lease | None, sent: float) -> None:
        self._observed, self._sent = leases.observe(self._observed, lease, self._clock()), sent
        self._unanswered = None

    async def _within_timeout(self, request: Awaitable[_T]) -> _T:
        """Send a request. A leader does not wait beyond the end of its leadership.

        Raises:
            LeadershipLost: the leadership ended before the answer.
        """
        self.heartbeat = self._clock()
        remaining = self._leadership.until - self._clock()
        timeout = self._settings.request_timeout
        if not 0 < remaining < timeout:
            return await within(timeout, request)
        try:
            return await within(remaining, request)
        except NoAnswer as error:
            raise self._expired(str(error)) from error

    def _require_leadership(self) -> None:
        if self._leading and self._clock() >= self._leadership.until:
            raise self._expired("the process or its machine was suspended")

    def _expired(self, last: str) -> LeadershipLost:
        """Return the loss after too many failures.

        Its reason is the failure before the last one, if there was one: only that request had the time for an answer.
        """
        return self._lost(f"not renewed for {self._settings.renew_deadline:.3g} s ({self.failure or last})")

    def _lost(self, reason: str) -> LeadershipLost:
        self._leadership.end()
        return LeadershipLost(f"lost the Lease {self._store.name}: {reason}; {self._right.lost}")

    def _begin(self) -> None:
        if not self._leading:
            self._leading = True
            log.info("acquired the Lease %s as %s: %s", self._store.name, self._identity, self._right.gained)
            self._acquired()

    def _failed(self, error: RequestFailed) -> None:
        before, self.failure = self.failure, str(error)
        self.refused = isinstance(error, Refused) and (error.status < 429 or error.by_admission)
        level = logging.DEBUG if before == self.failure else logging.WARNING
        log.log(
            level,
            "the Lease %s cannot be %s, retrying: %s",
            self._store.name,
            "renewed" if self._leading else "read or acquired",
            error,
        )

    def _report(self) -> None:
        """Log the holder once for each change."""
        if self._leading or self.failure:
            return
        if self.holder != self._reported:
            self._reported = self.holder
            state = f"{self.holder} leads" if self.holder else "nobody leads yet"
            log.info("standing by: %s (Lease %s)", state, self._store.name)
