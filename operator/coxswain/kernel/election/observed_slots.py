"""The Leases of all slots as last observed by one replica."""

from collections.abc import Callable, Iterable
from typing import Protocol

from coxswain.kernel.api.errors import ErrorClass, Refused, RequestFailed, Unreachable
from coxswain.kernel.election import lease as leases
from coxswain.kernel.election.elector import LeaseStore
from coxswain.kernel.election.lease import Lease, Observation, Write
from coxswain.kernel.election.requests import within
from coxswain.kernel.election.slots import Slot
from coxswain.settings import ElectionSettings


class SlotLeases(Protocol):
    """The requests for the Leases of all slots."""

    def lease(self, name: str) -> LeaseStore:
        """Return the requests for one of them."""

    async def leases(self) -> dict[str, Lease]:
        """Return the existing ones by name. Raises `RequestFailed`."""


class ObservedSlots:
    """Observes the Leases of slots without a leader in this process."""

    def __init__(
        self,
        requests: SlotLeases,
        name: str,
        identity: str,
        settings: ElectionSettings,
        *,
        clock: Callable[[], float],
    ) -> None:
        """Start without observations.

        Args:
            requests: sends the requests.
            name: the name of the election. The names of the Leases begin with it.
            identity: the identity of this process.
            settings: the durations.
            clock: returns monotonic seconds.
        """
        self._requests = requests
        self._name = name
        self._identity = identity
        self._settings = settings
        self._clock = clock
        self._observed: dict[Slot, Observation] = {}

    def store(self, slot: Slot) -> LeaseStore:
        """Return the requests for the Lease of a slot."""
        return self._requests.lease(slot.lease_name(self._name))

    def observation(self, slot: Slot) -> Observation | None:
        """Return the last observation of a slot; None before the first."""
        return self._observed.get(slot)

    def is_free(self, slot: Slot) -> bool:
        """Return whether a slot without a leader in this process can be acquired."""
        observed = self._observed.get(slot)
        if observed is None or observed.lease is None:
            return False
        action = leases.decide(observed, self._identity, leading=False, now=self._clock(), settings=self._settings)
        return isinstance(action, Write)

    def holder(self, slot: Slot) -> str:
        """Return the holder of a slot without a leader in this process; empty if nobody is known to hold it."""
        observed = self._observed.get(slot)
        return "" if observed is None or observed.lease is None or self.is_free(slot) else observed.lease.holder

    async def look(self, slots: Iterable[Slot], beat: Callable[[], None]) -> RequestFailed | None:
        """Observe the Leases of some slots, and create missing ones without a holder.

        A quota or a policy may refuse the creation of a Lease. The other slots must not wait for it. The error of the
        last failed creation is returned.

        Args:
            slots: the slots.
            beat: called after each creation. At the first start, there may be as many requests as slots.

        Raises:
            RequestFailed: the Leases cannot be listed. The earlier observations stay.
        """
        found = await within(self._settings.request_timeout, self._requests.leases())
        failure: RequestFailed | None = None
        for slot in slots:
            lease = found.get(slot.lease_name(self._name))
            # After a creation without an answer the next ones would only wait for their timeouts.
            if lease is None and not isinstance(failure, Unreachable):
                try:
                    lease = await within(self._settings.request_timeout, self._missing(slot))
                except RequestFailed as error:
                    failure = error
                beat()
            self._observed[slot] = leases.observe(self._observed.get(slot), lease, self._clock())
        return failure

    async def _missing(self, slot: Slot) -> Lease | None:
        """Create a Lease. If it exists without our label, return it."""
        store = self.store(slot)
        try:
            return await store.create(leases.unheld(name=store.name, duration=self._settings.lease_duration))
        except Refused as error:
            if error.error_class is not ErrorClass.CONFLICT:
                raise
            return await store.get()
