"""Whether this process may write, as a fact of its clock."""

import time
from collections.abc import Callable

from coxswain.kernel.election.slots import Slot, slot_number


def monotonic() -> float:
    """Return monotonic seconds; on Linux they include the time during which the machine was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Leadership:
    """The right to write until a point in time.

    One thread extends and ends it, and any thread may ask. It needs no lock: each attribute is one reference, and the
    end is final.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Start without the right. `clock` returns monotonic seconds and may be called in any thread."""
        self._clock = clock
        self._until = float("-inf")
        self._ended = False

    @property
    def held(self) -> bool:
        """Whether this process has the right now."""
        return not self._ended and self._clock() < self._until

    @property
    def until(self) -> float:
        """The end of the right, in seconds of the clock."""
        return float("-inf") if self._ended else self._until

    def extend(self, until: float) -> None:
        """Grant the right until `until`, in seconds of the clock."""
        self._until = max(self._until, until)

    def end(self) -> None:
        """End the right, finally."""
        self._ended = True


class SlotLeadership:
    """The right to write to the namespaces of several slots.

    It needs the Lease of the slot and the Lease that all replicas share. The second one ensures that all replicas have
    the same number of slots. Threads use it as they use `Leadership`.
    """

    def __init__(self, count: int, clock: Callable[[], float] = monotonic) -> None:
        """Start without the right to any of `count` slots."""
        self._clock = clock
        self._count = count
        self.shared = Leadership(clock)
        """That of the shared Lease."""
        self._slots = [Leadership(clock) for _ in range(count)]

    def holds(self, namespace: str) -> bool:
        """Return whether this process may write to a namespace now."""
        slot = self._slots[slot_number(namespace, self._count)]
        return slot.held and self.shared.held

    def begin(self, slot: Slot) -> Leadership:
        """Return a new right to a slot, which has to be extended. The previous one ends."""
        self._slots[slot.number].end()
        leadership = self._slots[slot.number] = Leadership(self._clock)
        return leadership

    def join(self) -> Leadership:
        """Return a new right to the shared Lease, which has to be extended. The previous one ends."""
        self.shared.end()
        self.shared = Leadership(self._clock)
        return self.shared

    def end(self) -> None:
        """End all rights."""
        for leadership in (self.shared, *self._slots):
            leadership.end()
