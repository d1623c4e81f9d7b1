"""Slots: ranges of the hash of the namespace, each with a Lease. Pure."""

from dataclasses import dataclass
from hashlib import sha256

_HASH_BITS = 64


@dataclass(frozen=True, order=True)
class Slot:
    """One of `count` equal ranges of the hash. With one slot it covers all namespaces."""

    number: int
    """From 0 to `count` - 1."""
    count: int

    def covers(self, namespace: str) -> bool:
        """Return whether a namespace belongs to this slot."""
        return slot_number(namespace, self.count) == self.number

    def lease_name(self, name: str) -> str:
        """Return the name of its Lease; `name` is the one of the election."""
        return name if self.count == 1 else f"{name}-slot-{self.number}"


WHOLE = Slot(0, 1)
"""All namespaces."""


def slots(count: int) -> tuple[Slot, ...]:
    """Return all slots."""
    return tuple(Slot(number, count) for number in range(count))


def slot_number(namespace: str, count: int) -> int:
    """Return the number of the slot of a namespace, the same in each process.

    The hash is SHA-256 and not the FNV-1a of server-side sharding (KEP-5866): FNV-1a hardly changes its upper bits with
    the last characters, so all of team-00 to team-99 would be in one of six slots.
    """
    return _hash(namespace) * count >> _HASH_BITS


def _hash(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[: _HASH_BITS // 8], "big")
