"""Bounds of the invariants, and the error for a violation."""

from dataclasses import dataclass


class Violated(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, why: str) -> None:
        super().__init__(f"{invariant}: {why}")
        self.invariant = invariant


@dataclass
class Bounds:
    """Time limits in virtual seconds, and limits of requests."""

    calm: float = 45.0
    """For a child, without faults: network delays and a few conflicts."""
    status: float = 75.0
    """For the status: updates of counts alone may wait half a minute."""
    after: float = 150.0
    """After a fault: the longest backoff, and the time to reopen a watch."""
    name: float = 90.0
    """For a taken name, which is checked every minute."""
    uncovered: float = 150.0
    """Until all resources are watched and listed, without a fault."""
    succession: float = 17.0
    """From the last fault of the election to the next leader, without the delays of the network."""
    slots: float = 20.8
    """The same for each slot: 15 s until the expiry, counted from a look up to 1.8 s after the last renewal, and 1.8 s
    until the next look. After a loss of the Lease that all replicas share: 15 s, 2 s for others to join, and a look.
    Another look if two replicas try to acquire the same slot: one of them takes another slot then."""
    balance: float = 31.0
    """From the last fault of the election until no replica leads more than its share of slots, without the drain: all
    slots have a leader after 19 s, and a handover to a replica that joined takes 12 s: two renewals of the shared
    Lease, 5 s to settle, and two looks."""
    memory: float = 60.0
    """From the end of the work on a slot until nothing of its parents is remembered: in-flight reconciles end."""
    write_war: float = 45.0
    """From three writes of two processes to one object until the status reports their write war."""
    suspension: float = 610.0
    """From another writer's last write until the operator tries to enforce a contested field: its longest suspension is
    ten minutes. `calm` and `after` bound the write itself."""
    retry: float = 70.0
    """The same for a field or child that is not contested: the longest backoff, or the longest delay of a creation."""
    unseen: float = 105.0
    """Until an optional kind is watched and listed after it has come, or after a fault of its watch: discovery is asked
    every 30 s, and a watch that was opened silent in the fault's last moment is reopened 90 s later."""
    relist: float = 30.0
    """From the end of a fault of a kind until its next list: failed lists are repeated every ten seconds."""
    requests: int = 60
    """Writes to one object within a minute, in addition to those caused by users."""
    long_requests: int = 240
    """The same within half an hour."""
    refusals: int = 20
    """Terminal refusals of writes to one object within a minute, if nobody else writes it."""
