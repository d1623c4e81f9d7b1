"""Competes for the Leases of several slots, and shares them with the other replicas.

One `Elector` for each slot that this replica holds or tries to acquire, and one for the Lease that all replicas share.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coxswain import event_loop
from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.election.balance import Plan, balance
from coxswain.kernel.election.changes import Acquired, Change, Dropped, Surplus
from coxswain.kernel.election.elector import NO_ANSWER, Elector, LeadershipLost, LeaseStore, Right, pause
from coxswain.kernel.election.leadership import SlotLeadership
from coxswain.kernel.election.members import Members, SharedLease
from coxswain.kernel.election.observed_slots import ObservedSlots, SlotLeases
from coxswain.kernel.election.requests import retry, within
from coxswain.kernel.election.slots import Slot, slots
from coxswain.settings import ElectionSettings

log = logging.getLogger(__name__)

SYNC_SECONDS = 30.0
"""Seconds until a replica without a complete cache takes part nevertheless. It leads slots only while no other replica
has a complete one. Its parents then report the reason."""
_SLOT = Right(gained="this process leads its namespaces", lost="leaving its namespaces to others")
_SHARED = Right(gained="this process takes part", shared=True)


@dataclass
class _Term:
    """The attempt to acquire a slot, and the time as its leader."""

    slot: Slot
    elector: Elector
    task: asyncio.Task[None]
    leading: bool = False
    giving: bool = False
    """Whether it is to be given back."""
    releasing: bool = False

    @property
    def refused(self) -> bool:
        """Whether the API server refuses to give the slot to this replica: other slots must not wait for it."""
        return not self.leading and self.elector.refused


class SlotElector:
    """One replica of an election with several slots."""

    def __init__(
        self,
        shared: LeaseStore,
        leases: SlotLeases,
        leadership: SlotLeadership,
        identity: str,
        settings: ElectionSettings,
        *,
        count: int,
        report: Callable[[Change], None],
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Compete for the Leases when `run` is called.

        Args:
            shared: sends the requests for the Lease that all replicas share. Its holder is the number of slots.
            leases: sends the requests for the Leases of the slots.
            leadership: the right to write, extended by each renewal.
            identity: the holder to write into the Leases, unique for this process.
            settings: the durations.
            count: the number of slots, the same in all replicas.
            report: called with each change, in the thread of the elector.
            clock: returns monotonic seconds, the same as the clock of `leadership`.
            chance: returns random numbers from 0 to 1 for the jitter.
        """
        self._leadership = leadership
        self._identity = identity
        self._settings = settings
        self._slots = slots(count)
        self._report = report
        self._clock = clock
        self._chance = chance
        name = shared.name.rpartition("/")[2]
        self._observed = ObservedSlots(leases, name, identity, settings, clock=clock)
        self._members = Members(
            identity, expiry=settings.lease_duration, settling=settings.settling_period, clock=clock
        )
        self._shared = SharedLease(shared, self._members)
        self._membership = self._new_membership()
        self._terms: dict[Slot, _Term] = {}
        """Each change replaces the dictionary, because the main loop reads it too."""
        self._has_led = False
        self._releases: set[asyncio.Task[None]] = set()
        self._begun = clock()
        self._joined = float("inf")
        self._beat = clock()
        self._failure: str | None = NO_ANSWER
        """The error of the last look; None if there was none."""
        self._listed = False
        """Whether the last look has listed the Leases: its error is that of the creation of one."""
        self.synced = False
        """Set it when the cache is complete: a replica leaves all slots to ready ones until then."""
        self.ending = False
        """Set it when the process ends: it takes nothing more, and others count it as gone."""

    @property
    def heartbeat(self) -> float:
        """The time of the last request or pause of the slowest part, in seconds of the clock."""
        electors = [self._membership, *(term.elector for term in self._terms.values())]
        return min(self._beat, *(elector.heartbeat for elector in electors))

    @property
    def failure(self) -> str | None:
        """The error that prevents this replica from leading slots; None if there is none.

        The error of a single slot counts only if no slot has a holder: a rollout must not wait for that slot.
        """
        failures = [self._membership.failure]
        led = any(self.holders.values())
        if not (led and self._listed):
            failures.append(self._failure)
        if not led:
            failures += [term.elector.failure for term in self._terms.values()]
        return next(filter(None, failures), None)

    @property
    def group(self) -> str:
        """The holder of the shared Lease: `slots-6` for replicas with six slots; empty if there is none."""
        return self._membership.holder

    @property
    def holders(self) -> Mapping[Slot, str]:
        """The last known holder of each slot; empty if nobody holds it."""
        return {slot: self._identity if self._leads(slot) else self._observed.holder(slot) for slot in self._slots}

    async def run(self) -> None:
        """Acquire, renew and share slots, until cancelled. Call `end` afterwards.

        Raises:
            LeadershipLost: the shared Lease is lost, and this replica has led a slot.
        """
        joining = asyncio.create_task(self._membership.run(), name="membership")
        try:
            while True:
                self._pulse()
                if joining.done():
                    joining = self._joining_again(joining)
                self._reap()
                try:
                    failure = await self._observed.look([s for s in self._slots if not self._leads(s)], self._pulse)
                except RequestFailed as error:
                    self._failed(error, listed=False)
                else:
                    self._failed(failure, listed=True)
                    self._change()
                self._pulse()
                await asyncio.wait([joining], timeout=pause(self._settings, self._chance))
        finally:
            await event_loop.cancel([joining, *(term.task for term in self._terms.values()), *self._releases])

    def drained(self, slot: Slot) -> None:
        """Release a slot after the last write to its namespaces. Nothing happens if it was lost meanwhile."""
        term = self._terms.get(slot)
        if term is not None and term.giving and not term.releasing:
            term.releasing = True
            task = asyncio.create_task(self._release(term), name=f"release of slot {slot.number}")
            self._releases.add(task)
            task.add_done_callback(self._releases.discard)

    async def end(self) -> None:
        """Release all slots and leave the other replicas. Call this after `run` has ended, and after the last write."""
        self._leadership.end()
        # An acquisition in flight may succeed, so terms that do not lead yet are released too.
        electors = [term.elector for term in self._terms.values()]
        await asyncio.gather(*(elector.release() for elector in electors), self._leave())

    async def _leave(self) -> None:
        # A renewal in flight would store the entry of this replica again.
        await self._membership.answered()
        if not self._members.entered:
            return
        action, seconds = f"leaving the Lease {self._shared.name}", self._settings.release_timeout
        await retry(self._attempt_to_leave, action, seconds, clock=self._clock, chance=self._chance)

    async def _attempt_to_leave(self) -> None:
        await within(self._settings.request_timeout, self._shared.leave())

    def _change(self) -> None:
        """Take and give back slots."""
        synced = self.synced or self._clock() >= self._begun + SYNC_SECONDS
        self._members.announced = not self.ending and (self._members.announced or synced)
        self._members.complete = self.synced
        shared = self._leadership.shared.held
        # Another replica was faster.
        lost = {
            slot
            for slot, term in self._terms.items()
            if not term.leading and not (shared and self._observed.is_free(slot))
        }
        for slot in lost:
            self._terms[slot].task.cancel()
        # Others that waited for the same Lease join within one period.
        if not shared or not self._members.announced or self._clock() < self._joined + self._settings.retry_period:
            return
        plan = self._plan(
            [slot for slot, term in self._terms.items() if slot not in lost and not (term.giving or term.refused)]
        )
        for slot in plan.take:
            self._take(slot)
        for slot in plan.give:
            if self._terms[slot].leading:
                self._terms[slot].giving = True
                self._report(Surplus(slot))
            else:
                self._terms[slot].task.cancel()

    def _plan(self, held: list[Slot]) -> Plan:
        """Return the next changes. `held` are the slots that this replica keeps or tries to acquire."""
        ready = self._members.ready()
        if ready and not self._members.complete:
            # Its reconciles may wait for the missing kinds, those of ready replicas do not.
            return Plan(give=tuple(held) if any(ready.values()) else ())
        sharing = {**(ready or self._members.live()), self._identity: True}
        return balance(
            self._identity,
            held,
            [slot for slot in self._slots if slot not in self._terms and self._observed.is_free(slot)],
            slots=len(self._slots),
            replicas=len(sharing),
            settled=sum(sharing.values()),
        )

    def _take(self, slot: Slot) -> None:
        """Begin to acquire a free slot."""

        def acquired() -> None:
            term.leading = self._has_led = True
            self._report(Acquired(slot))

        leadership = self._leadership.begin(slot)
        elector = Elector(
            self._observed.store(slot),
            leadership,
            self._identity,
            self._settings,
            clock=self._clock,
            acquired=acquired,
            chance=self._chance,
            observed=self._observed.observation(slot),
            right=_SLOT,
        )
        task = asyncio.create_task(elector.run(), name=f"slot {slot.number}")
        term = _Term(slot, elector, task)
        self._terms = {**self._terms, slot: term}

    async def _release(self, term: _Term) -> None:
        """Release the Lease of a slot without writes in progress."""
        await event_loop.cancel([term.task])
        await term.elector.release()
        self._remove(term)

    def _reap(self) -> None:
        """Remove the slots that are lost, or that another replica has acquired."""
        ended = [term for term in self._terms.values() if term.task.done() and not term.releasing]
        for term in ended:
            self._remove(term)
            error = None if term.task.cancelled() else term.task.exception()
            if error is not None and not isinstance(error, LeadershipLost):
                raise error
            if term.leading:
                log.warning("%s", error)
                self._report(Dropped(term.slot))

    def _remove(self, term: _Term) -> None:
        self._terms = {slot: each for slot, each in self._terms.items() if each is not term}

    def _leads(self, slot: Slot) -> bool:
        term = self._terms.get(slot)
        return term is not None and term.leading

    def _joining_again(self, joined: asyncio.Task[None]) -> asyncio.Task[None]:
        """Join the other replicas again after the loss of the shared Lease.

        Raises:
            LeadershipLost: this replica has led a slot. Its slots are lost at the same time, before or after.
        """
        try:
            joined.result()
        except LeadershipLost as error:
            if self._has_led:
                raise
            log.warning("joining again: %s", error)
        # Replicas of another group may hold the shared Lease now. An acquired slot would be renewed without end.
        for term in self._terms.values():
            term.task.cancel()
        self._membership = self._new_membership()
        return asyncio.create_task(self._membership.run(), name="membership")

    def _new_membership(self) -> Elector:
        return Elector(
            self._shared,
            self._leadership.join(),
            shared_holder(len(self._slots)),
            self._settings,
            clock=self._clock,
            acquired=self._join,
            chance=self._chance,
            right=_SHARED,
        )

    def _join(self) -> None:
        self._joined = self._clock()

    def _pulse(self) -> None:
        self._beat = self._clock()

    def _failed(self, error: RequestFailed | None, *, listed: bool) -> None:
        """Record the error of a look; None if there was none."""
        self._listed = listed
        before, self._failure = self._failure, None if error is None else str(error)
        if error is not None:
            level = logging.DEBUG if before == self._failure else logging.WARNING
            log.log(level, "the Leases of the slots cannot be listed or created, retrying: %s", error)


def shared_holder(count: int) -> str:
    """Return the holder of the shared Lease for replicas with `count` slots."""
    return f"slots-{count}"
