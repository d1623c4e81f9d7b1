"""The decision which slots a replica takes and which it gives back. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256

from coxswain.kernel.election.slots import Slot


@dataclass(frozen=True)
class Plan:
    """The next changes of one replica."""

    take: tuple[Slot, ...] = ()
    """Slots whose Leases it tries to acquire. Another replica may be faster."""
    give: tuple[Slot, ...] = ()
    """Slots to give back after a drain."""


def quota(slots: int, replicas: int) -> int:
    """Return the maximum number of slots of one replica."""
    return -(-slots // max(replicas, 1))


def balance(
    identity: str, held: Collection[Slot], free: Collection[Slot], *, slots: int, replicas: int, settled: int
) -> Plan:
    """Return the next changes of the replica `identity`.

    Each replica decides for itself, and the Lease of a slot decides between two that want it. With a constant number
    of replicas a replica that takes has less than the quota afterwards or exactly it, so that nobody gives back what it
    took.

    Args:
        identity: this replica.
        held: the slots that it holds or tries to acquire, without those that it gives back.
        free: the slots that nobody holds.
        slots: the number of all slots.
        replicas: the number of all replicas, this one included. It limits what this replica takes.
        settled: the number of replicas without those that have just joined. It limits what this replica keeps: a
            replica that joins and ends again and again must not move slots. Not greater than `replicas`.
    """
    preferred = sorted(held, key=lambda slot: _preference(identity, slot))
    surplus = preferred[quota(slots, settled) :]
    if surplus:
        return Plan(give=tuple(surplus))
    room = max(0, quota(slots, replicas) - len(held))
    # Each replica has an order of its own, so that two of them rarely try to take the same slot.
    return Plan(take=tuple(sorted(free, key=lambda slot: _preference(identity, slot))[:room]))


def _preference(identity: str, slot: Slot) -> bytes:
    return sha256(f"{identity}/{slot.number}".encode()).digest()
