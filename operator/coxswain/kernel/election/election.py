"""The election as the main loop sees it. The elector itself runs in a thread of its own."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self

from coxswain import event_loop, metrics
from coxswain.kernel.api.transport import Transport
from coxswain.kernel.election.changes import Acquired, Change
from coxswain.kernel.election.election_thread import ElectionThread, RunInThread, new_identity, until_stopped
from coxswain.kernel.election.elector import NO_ANSWER, Elector
from coxswain.kernel.election.leadership import Leadership, monotonic
from coxswain.kernel.election.lease_client import LeaseClient
from coxswain.kernel.election.slots import WHOLE, Slot
from coxswain.settings import ElectionSettings


class Election(Protocol):
    """Tells which namespaces this process leads."""

    @property
    def led_slots(self) -> int:
        """The number of slots that this process leads, also if it is giving them back."""

    def leads(self, namespace: str) -> bool:
        """Return whether this process may write to a namespace now. Ask before each write."""

    def serves(self, namespace: str) -> bool:
        """Return whether this process may begin a reconcile in a namespace."""

    async def next_change(self) -> Change:
        """Wait for the next change of what this process leads.

        Raises:
            LeadershipLost: it led, and may not lead any more.
            Exception: the elector has failed.
        """

    async def ended(self) -> None:
        """Wait until this process may not lead any more.

        Raises:
            LeadershipLost: it led, and has lost the Lease.
            Exception: the elector has failed.
        """

    def drained(self, slot: Slot) -> None:
        """Release a slot after `Surplus`: no reconcile in its namespaces is in flight."""

    def synced(self) -> None:
        """Called when the cache is complete."""

    def ending(self) -> None:
        """Called when this process ends: it must acquire nothing more, because its workers have stopped."""


class WholeElection(ABC):
    """The part of an election without slots: this process leads all namespaces or none."""

    def __init__(self) -> None:
        self._told = False

    @property
    @abstractmethod
    def leading(self) -> bool:
        """Whether this process has begun to lead, and has not lost the Lease."""

    @abstractmethod
    async def acquired(self) -> None:
        """Wait until this process leads."""

    @abstractmethod
    async def ended(self) -> None:
        """Wait until this process may not lead any more."""

    @property
    def led_slots(self) -> int:
        """1 if this process leads."""
        return int(self.leading)

    def serves(self, namespace: str) -> bool:  # noqa: ARG002 - part of the interface
        """Return whether this process leads."""
        return self.leading

    async def next_change(self) -> Change:
        """Wait until this process leads, and after that until it may not lead any more."""
        if self._told:
            await self.ended()
            await asyncio.Event().wait()  # stopped: the main loop ends too
        await self.acquired()
        self._told = True
        return Acquired(WHOLE)

    def drained(self, slot: Slot) -> None:  # noqa: B027 - nothing to do is the default
        """Do nothing: nothing is given back."""

    def synced(self) -> None:  # noqa: B027 - as above
        """Do nothing: a standby may take over before."""

    def ending(self) -> None:  # noqa: B027 - as above
        """Do nothing: there is no Lease to release."""


class Unelected(WholeElection):
    """The only process: it always leads."""

    leading = True

    def leads(self, namespace: str) -> bool:  # noqa: ARG002 - part of the interface
        """Return True."""
        return True

    async def acquired(self) -> None:
        """Return at once."""

    async def ended(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()

    def obstacles(self) -> list[str]:
        """Return nothing."""
        return []

    dead = role = obstacles

    async def __aenter__(self) -> Self:
        """Do nothing."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing."""


class LeaseElection(WholeElection):
    """Competes for a Lease in a thread of its own, within the context, and releases the Lease at its end."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Transport]],
        namespace: str,
        name: str,
        settings: ElectionSettings,
        *,
        clock: Callable[[], float] = monotonic,
        run: RunInThread = event_loop.run_in_thread,
    ) -> None:
        """Create a candidate for the Lease `name` in `namespace`.

        Args:
            connect: returns the transport of the thread. It is called in the thread.
            namespace: the namespace of the Lease.
            name: the name of the Lease.
            settings: the durations.
            clock: returns monotonic seconds.
            run: runs a coroutine beside the main loop until an event is set, as `event_loop.run_in_thread`.
        """
        super().__init__()
        self._connect = connect
        self._namespace = namespace
        self._name = name
        self._settings = settings
        self._identity = new_identity()
        self._clock = clock
        self._leadership = Leadership(clock)
        self._acquired = asyncio.Event()
        self._thread = ElectionThread(run, clock)
        self._elector: Elector | None = None

    @property
    def leading(self) -> bool:
        """Whether this process has begun to lead, and has not lost the Lease."""
        return self._acquired.is_set() and self._thread.running

    def leads(self, namespace: str) -> bool:  # noqa: ARG002 - one Lease covers all namespaces
        """Return whether this process may write to a namespace now. Any thread may ask."""
        return self._leadership.held

    async def acquired(self) -> None:
        """Wait until this process leads."""
        await self._acquired.wait()

    def ending(self) -> None:
        """Count the time for the release from now. A leader keeps the Lease for its drain."""
        self._thread.ending()

    async def ended(self) -> None:
        """Wait for the end of the thread.

        Raises:
            LeadershipLost: this process led, and has lost the Lease.
            Exception: the elector has failed.
        """
        await self._thread.ended()

    def role(self) -> list[str]:
        """Return the role of this process and the holder, as one line."""
        if self.leading:
            return [f"leader: {self._identity}"]
        holder = self._elector.holder if self._elector else ""
        return [f"standby: {holder} leads" if holder else "standby: nobody leads yet"]

    def obstacles(self) -> list[str]:
        """Return the reason why this process could not take over, as one line; empty if it could, or leads."""
        failure = self._elector.failure if self._elector else NO_ANSWER
        if self.leading or failure is None:
            return []
        return [f"the Lease {self._namespace}/{self._name} cannot be read or acquired: {failure}"]

    def dead(self) -> list[str]:
        """Return that the thread is hung, as one line; empty while it is alive."""
        return self._thread.dead(self._elector.heartbeat if self._elector else None)

    async def __aenter__(self) -> Self:
        """Start the thread."""
        metrics.leading(self._name, is_leader=False)
        self._main = asyncio.get_running_loop()
        self._thread.start(self._compete)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the Lease, within `release_timeout`. Call this after the last write."""
        await self._thread.end(self._settings.release_timeout)
        metrics.leading(self._name, is_leader=False)

    async def _compete(self, stop: asyncio.Event) -> None:
        """Run the elector until `stop`, then release the Lease. This runs in the thread."""
        transport = await self._connect()
        elector = self._elector = Elector(
            LeaseClient(transport, self._namespace, self._name, timeout=self._settings.request_timeout),
            self._leadership,
            self._identity,
            self._settings,
            clock=self._clock,
            acquired=self._begin,
        )
        try:
            await until_stopped(elector.run(), stop)
            await elector.release()
        finally:
            self._leadership.end()
            await transport.close()

    def _begin(self) -> None:
        metrics.leading(self._name, is_leader=True)
        # The main loop may already be closed.
        with contextlib.suppress(RuntimeError):
            self._main.call_soon_threadsafe(self._acquired.set)
