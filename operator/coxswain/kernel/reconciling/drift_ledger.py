"""Corrected drift without a status report."""

from collections.abc import Sequence

from coxswain.kernel.conflicts.managed_fields import UNKNOWN
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.status.conflict_report import Conflict, Repair
from coxswain.metrics import drift_corrected

LIMIT = 500
"""Maximum repairs, the latest ones: failing status writes must not use ever more memory."""


class DriftLedger:
    """Repairs of one parent, waiting for the next status."""

    def __init__(self) -> None:
        self._repairs: list[Repair] = []

    def add(self, repairs: Sequence[Repair]) -> None:
        """Add corrected drift."""
        for repair in repairs:
            drift_corrected(repair.object.partition("/")[0])
        self._repairs = [*self._repairs, *repairs][-LIMIT:]

    def waiting(self) -> tuple[Repair, ...]:
        """Return the repairs for the next status."""
        return tuple(self._repairs)

    def written(self) -> None:
        """Forget the repairs after a status with them was written."""
        self._repairs.clear()


def repairs(results: Sequence[Result]) -> list[Repair]:
    """Return the corrected changes of other writers."""
    return [
        Repair(
            f"{result.child.kind}/{result.child.name}",
            correction.difference.text,
            correction.changed_by or UNKNOWN,
            correction.difference.wanted,
            correction.difference.found,
        )
        for result in results
        for correction in result.corrections
        if correction.is_foreign
    ]


def conflicts(results: Sequence[Result]) -> list[Conflict]:
    """Return the desired fields held by other managers after a reconcile."""
    return [
        Conflict(
            f"{result.child.kind}/{result.child.name}",
            held.difference.text,
            held.manager,
            held.policy,
            differs=held.differs,
            contested=held.contested,
        )
        for result in results
        for held in result.left
    ]
