"""The replicas of an election with several slots, as an annotation on their shared Lease.

Each replica increments a number of its own with each renewal, with a minus sign while its cache is incomplete. Others
count it as gone when its number has not changed for the duration of a Lease, by their own clocks, or for a shorter time
if a new process of the same pod has an entry.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.election.elector import LeaseStore
from coxswain.kernel.election.lease import Lease

ANNOTATION = "coxswain.dev/members"

_MAXIMUM = 256
"""Maximum number of entries to read. Anyone with the right to the Lease may write any value."""


@dataclass(frozen=True)
class _Member:
    number: int
    """Negative while its cache is incomplete."""
    first: float
    """The time at which it was first seen with a cache in this state, in monotonic seconds of this process."""
    changed: float
    """The time at which its number was seen to change."""

    @property
    def complete(self) -> bool:
        """Whether its cache is complete."""
        return self.number > 0

    def followed_by(self, number: int, now: float) -> "_Member":
        """Return the same replica as seen now."""
        first = self.first if self.complete == (number > 0) else now
        return _Member(number, first, self.changed if self.number == number else now)


class Members:
    """The known replicas, as seen by one of them. One thread owns it."""

    def __init__(self, identity: str, *, expiry: float, settling: float, clock: Callable[[], float]) -> None:
        """Start without any replica.

        Args:
            identity: this replica.
            expiry: seconds without a change of its number until a replica counts as gone.
            settling: seconds until a replica is settled, from its first sight or the completion of its cache.
            clock: returns monotonic seconds.
        """
        self._identity = identity
        self._expiry = expiry
        self._settling = settling
        self._clock = clock
        self._known: dict[str, _Member] = {}
        self._number = 0
        self.announced = False
        """Whether this replica takes part, so that its next renewal has its entry."""
        self.complete = False
        """Whether the cache of this replica is complete. Others count it as ready only then."""
        self.entered = False
        """Whether a renewal with its entry may have been sent."""

    def observe(self, raw: Mapping[str, Any]) -> None:
        """Read the annotation of the Lease."""
        now = self._clock()
        found: dict[str, _Member] = {}
        for identity, number in _parsed(raw).items():
            known = self._known.get(identity)
            found[identity] = _Member(number, now, now) if known is None else known.followed_by(number, now)
        self._known = found

    def live(self) -> dict[str, bool]:
        """Return the replicas that are not gone, and whether each is settled. This one always counts as settled."""
        now = self._clock()
        return {
            identity: identity == self._identity or now - member.first >= self._settling
            for identity, member in self._known.items()
            if identity == self._identity or now - member.changed < self._expiry_of(identity, member)
        }

    def ready(self) -> dict[str, bool]:
        """Return the replicas of `live` whose caches are complete."""
        return {identity: settled for identity, settled in self.live().items() if self._known[identity].complete}

    def _expiry_of(self, identity: str, member: _Member) -> float:
        """Return the seconds without a change until a replica counts as gone.

        They are fewer if another process of its pod is alive: its container was restarted. Without the restart the pod
        would count twice before the new process is settled, and others would give slots back for it. One entry does not
        replace the other at once, because processes on one machine have the same name of the pod.
        """
        restarted = any(
            _pod(other) == _pod(identity) and known.changed > member.changed for other, known in self._known.items()
        )
        return self._settling if restarted else self._expiry

    def renewed(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return a manifest of the Lease with the next number of this replica, without ended replicas."""
        self._number += 1
        self.entered = self.entered or self.announced
        others, number = self._others(manifest), self._number if self.complete else -self._number
        return _annotated(manifest, {**others, self._identity: number} if self.announced else others)

    def has_this(self, manifest: Mapping[str, Any]) -> bool:
        """Return whether the Lease has an entry of this replica."""
        return self._identity in _parsed(manifest)

    def without_this(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return a manifest of the Lease without the entry of this replica."""
        return _annotated(manifest, self._others(manifest))

    def _others(self, manifest: Mapping[str, Any]) -> dict[str, int]:
        live = self.live()
        return {
            identity: number
            for identity, number in _parsed(manifest).items()
            if identity != self._identity and (identity in live or identity not in self._known)
        }


class SharedLease:
    """The requests for the shared Lease of all replicas; each renewal carries the entry of this replica."""

    def __init__(self, store: LeaseStore, members: Members) -> None:
        self._store = store
        self._members = members

    @property
    def name(self) -> str:
        """The Lease as namespace/name."""
        return self._store.name

    async def get(self) -> Lease | None:
        """Return the Lease; None if it does not exist."""
        lease = await self._store.get()
        self._members.observe(lease.raw if lease else {})
        return lease

    async def create(self, manifest: Mapping[str, Any]) -> Lease:
        """Create the Lease."""
        return await self._observed(self._store.create(manifest))

    async def update(self, manifest: Mapping[str, Any]) -> Lease:
        """Renew the Lease, with the preconditions in its metadata."""
        return await self._observed(self._store.update(self._members.renewed(manifest)))

    async def leave(self) -> None:
        """Remove the entry of this replica. The Lease stays: it belongs to the other replicas too."""
        lease = await self.get()
        if lease is not None and self._members.has_this(lease.raw):
            await self._store.update(self._members.without_this(lease.raw))

    async def _observed(self, writing: Awaitable[Lease]) -> Lease:
        lease = await writing
        self._members.observe(lease.raw)
        return lease


def _pod(identity: str) -> str:
    return identity.rpartition("_")[0] or identity


def _parsed(raw: Mapping[str, Any]) -> dict[str, int]:
    text = ((raw.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION, "")
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):  # the latter by too many brackets
        return {}
    entries = list(found.items())[:_MAXIMUM] if isinstance(found, dict) else []
    return {identity: number for identity, number in entries if isinstance(number, int)}


def _annotated(manifest: Mapping[str, Any], entries: Mapping[str, int]) -> dict[str, Any]:
    metadata = manifest["metadata"]
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: json.dumps(dict(sorted(entries.items())))}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
