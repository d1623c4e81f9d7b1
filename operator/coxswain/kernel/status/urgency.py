"""How soon a status must be written over the one before it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from coxswain.kernel.objects.quote import without_numbers
from coxswain.kernel.objects.status_fields import Status


class Urgency(IntEnum):
    """The urgency of a status, the least urgent first."""

    NONE = 0
    """Both say the same, except for numbers in quotations: the last words of a program contain times."""
    DRIFT = 1
    """Only the ledger of corrected drift differs."""
    COUNTS = 2
    """Counts other than the progress differ too."""
    PROGRESS = 3
    """The progress and messages differ too."""
    NOW = 4
    """A condition, the observed generation, a child's health or another field differs."""


@dataclass(frozen=True)
class Pace:
    """Facts about a rollout that the urgency of a status depends on."""

    replicas: int = 0
    """The pods that should exist."""
    unobserved: int | None = None
    """The generation that the controller of the pods has observed, if there is a newer one while nothing is known to be
    missing; 0 if something is missing, None if it has observed the present one."""
    uncounted: bool = False
    """Whether the status reports nothing but that this controller has not counted a pod of the present spec yet."""
    retried: bool = False
    """Whether a write of a child failed that will probably succeed soon."""


@dataclass(frozen=True)
class StatusRules:
    """The parts of a workload's status."""

    types: tuple[str, ...]
    """Types of our conditions; others have other writers."""
    counts: tuple[str, ...] = ()
    """Fields that count pods, whose changes wait for the next change."""
    progress: str | None = None
    """The count that shows progress: up to the pods that should exist, it is more urgent than the other counts."""

    early: tuple[str, ...] = ()
    """Counts that are written although no pod of a new spec has been counted yet."""

    def urgency(self, previous: Status, wanted: Status, replicas: int) -> Urgency:
        """Return how soon `wanted` must be written over `previous`.

        A progress beyond the `replicas` that should exist means two revisions side by side: that is no progress.
        """
        if self._said(previous) == self._said(wanted):
            return Urgency.NONE
        before, after = (min(_count(each, self.progress), replicas) for each in (previous, wanted))
        all_counts = (*self.counts, "drift")
        some = all_counts if before == after else tuple(name for name in all_counts if name != self.progress)
        if self._said(previous, ("drift",)) == self._said(wanted, ("drift",)):
            return Urgency.DRIFT
        if self._said(previous, some) == self._said(wanted, some):
            return Urgency.COUNTS
        if self._said(previous, all_counts, messages=False) == self._said(wanted, all_counts, messages=False):
            return Urgency.PROGRESS
        return Urgency.NOW

    def fingerprint(self, status: Status) -> str:
        """Return a digest of a status: of two with the same digest neither must be written over the other."""
        return hashlib.sha256(json.dumps(self._said(status), sort_keys=True).encode()).hexdigest()

    def changed_counts(self, previous: Status, wanted: Status) -> list[str]:
        """Return the counts that differ."""
        return [name for name in self.counts if _count(previous, name) != _count(wanted, name)]

    def is_surge(self, previous: Status, wanted: Status, replicas: int) -> bool:
        """Tell whether the progress exceeds both its last value and the `replicas` that should exist."""
        return max(_count(previous, self.progress), replicas) < _count(wanted, self.progress)

    def _said(self, status: Status, without: Sequence[str] = (), *, messages: bool = True) -> dict[str, Any]:
        """Return our part of a status in a comparable form: sorted, and quotations without their numbers."""

        def shown(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
            return [{**item, "message": without_numbers(item.get("message", "")) if messages else ""} for item in items]

        ours = [found for found in status.get("conditions", []) if found.get("type") in self.types]
        return {
            **{key: value for key, value in status.items() if key not in without},
            "conditions": sorted(shown(ours), key=lambda found: self.types.index(found["type"])),
            "children": shown(status.get("children", [])),
        }


def _count(status: Status, name: str | None) -> int:
    counts: Mapping[str, Any] = status
    return int(counts.get(name, 0)) if name else 0
