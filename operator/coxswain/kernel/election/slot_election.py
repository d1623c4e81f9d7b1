"""The election with several slots as the main loop sees it. The elector itself runs in a thread of its own."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from coxswain import event_loop, metrics
from coxswain.kernel.api.transport import Transport
from coxswain.kernel.election.changes import Acquired, Change, Surplus
from coxswain.kernel.election.election_thread import ElectionThread, RunInThread, new_identity, until_stopped
from coxswain.kernel.election.elector import NO_ANSWER
from coxswain.kernel.election.leadership import SlotLeadership, monotonic
from coxswain.kernel.election.lease_client import LeaseClient, SlotLeasesClient
from coxswain.kernel.election.slot_elector import SlotElector, shared_holder
from coxswain.kernel.election.slots import Slot, slot_number, slots
from coxswain.settings import ElectionSettings


class SlotElection:
    """Shares slots with other replicas in a thread of its own, within the context, and releases them at its end."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Transport]],
        namespace: str,
        name: str,
        settings: ElectionSettings,
        *,
        count: int,
        clock: Callable[[], float] = monotonic,
        run: RunInThread = event_loop.run_in_thread,
    ) -> None:
        """Create a candidate for slots.

        Args:
            connect: returns the transport of the thread. It is called in the thread.
            namespace: the namespace of the Leases.
            name: the name of the Lease that all replicas share. The names of the others begin with it.
            settings: the durations.
            count: the number of slots, greater than 1.
            clock: returns monotonic seconds.
            run: runs a coroutine beside the main loop until an event is set, as `event_loop.run_in_thread`.
        """
        self._connect = connect
        self._namespace = namespace
        self._name = name
        self._settings = settings
        self._slots = slots(count)
        self._identity = new_identity()
        self._leadership = SlotLeadership(count, clock)
        self._clock = clock
        self._thread = ElectionThread(run, clock)
        self._elector: SlotElector | None = None
        self._changes: asyncio.Queue[Change] = asyncio.Queue()
        self._led: set[Slot] = set()
        self._draining: set[Slot] = set()
        self._synced = self._ending = False

    @property
    def led_slots(self) -> int:
        """The number of slots that this process leads, also if it is giving them back."""
        return len(self._led) if self._thread.running else 0

    def leads(self, namespace: str) -> bool:
        """Return whether this process may write to a namespace now. Any thread may ask."""
        return self._leadership.holds(namespace)

    def serves(self, namespace: str) -> bool:
        """Return whether this process may begin a reconcile in a namespace."""
        slot = self._slots[slot_number(namespace, len(self._slots))]
        return slot in self._led and slot not in self._draining and self._thread.running

    async def next_change(self) -> Change:
        """Wait for the next change of what this process leads."""
        return await self._changes.get()

    async def ended(self) -> None:
        """Wait for the end of the thread.

        Raises:
            LeadershipLost: this process led, and has lost the Lease that all replicas share.
            Exception: the elector has failed.
        """
        await self._thread.ended()

    def drained(self, slot: Slot) -> None:
        """Release a slot after `Surplus`: no reconcile in its namespaces is in flight."""
        if slot in self._draining:
            self._draining.discard(slot)
            self._led.discard(slot)
            metrics.leading(slot.lease_name(self._name), is_leader=False)
            if self._elector is not None:
                self._in_thread(self._elector.drained, slot)

    def synced(self) -> None:
        """Take part, because the cache is complete."""
        self._synced = True
        if self._elector is not None:
            self._elector.synced = True

    def ending(self) -> None:
        """Take nothing more. The slots that this process leads are released at the end of the context.

        The time for the release counts from now.
        """
        self._thread.ending()
        self._ending = True
        if self._elector is not None:
            self._elector.ending = True

    def role(self) -> list[str]:
        """Return the role of this process, and the holder of each slot, as lines."""
        elector = self._elector
        own = shared_holder(len(self._slots))
        if elector is None or elector.group != own:
            holder = elector.group if elector else ""
            return [f"standby: {holder} leads" if holder else "standby: nobody leads yet"]
        holders = elector.holders
        led = sum(holder == self._identity for holder in holders.values())
        return [
            f"{'leader' if led else 'standby'} of {led} of {len(self._slots)} slots: {self._identity}",
            *(f"slot {slot.number}: {self._slot_role(slot, holder)}" for slot, holder in holders.items()),
        ]

    def _slot_role(self, slot: Slot, holder: str) -> str:
        if holder == self._identity:
            return "leader, giving it back" if slot in self._draining else "leader"
        return f"standby, {holder} leads" if holder else "standby, nobody leads"

    def obstacles(self) -> list[str]:
        """Return the reason why this process could not take over, as one line; empty if it could, or leads."""
        failure = self._elector.failure if self._elector else NO_ANSWER
        if self.led_slots or failure is None:
            return []
        return [f"the Leases {self._namespace}/{self._name}* cannot be read or acquired: {failure}"]

    def dead(self) -> list[str]:
        """Return that the thread is hung, as one line; empty while it is alive."""
        return self._thread.dead(self._elector.heartbeat if self._elector else None)

    async def __aenter__(self) -> Self:
        """Start the thread."""
        for slot in self._slots:
            metrics.leading(slot.lease_name(self._name), is_leader=False)
        self._main = asyncio.get_running_loop()
        self._thread.start(self._compete)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release all slots, within `release_timeout`. Call this after the last write."""
        await self._thread.end(self._settings.release_timeout)
        for slot in self._slots:
            metrics.leading(slot.lease_name(self._name), is_leader=False)

    async def _compete(self, stop: asyncio.Event) -> None:
        """Run the elector until `stop`, then release all slots. This runs in the thread."""
        self._loop = asyncio.get_running_loop()
        transport = await self._connect()
        timeout = self._settings.request_timeout
        elector = self._elector = SlotElector(
            LeaseClient(transport, self._namespace, self._name, timeout=timeout),
            SlotLeasesClient(transport, self._namespace, self._name, timeout=timeout),
            self._leadership,
            self._identity,
            self._settings,
            count=len(self._slots),
            report=self._report,
            clock=self._clock,
        )
        elector.synced, elector.ending = self._synced, self._ending
        try:
            await until_stopped(elector.run(), stop)
            await elector.end()
        finally:
            self._leadership.end()
            await transport.close()

    def _in_thread(self, call: Callable[[Slot], None], slot: Slot) -> None:
        # The thread may have ended.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, slot)

    def _report(self, change: Change) -> None:
        """Pass a change from the thread to the main loop, which may already be closed."""
        with contextlib.suppress(RuntimeError):
            self._main.call_soon_threadsafe(self._hear, change)

    def _hear(self, change: Change) -> None:
        slot = change.slot
        if isinstance(change, Surplus):
            self._draining.add(slot)
        else:
            self._draining.discard(slot)
            led = isinstance(change, Acquired)
            (self._led.add if led else self._led.discard)(slot)
            metrics.leading(slot.lease_name(self._name), is_leader=led)
        self._changes.put_nowait(change)
