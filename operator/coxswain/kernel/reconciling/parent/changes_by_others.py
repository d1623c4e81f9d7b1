"""Corrected and left changes of other writers, for the status."""

from collections.abc import Sequence

from coxswain.kernel.conflicts.managed_fields import UNKNOWN
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.status.conflict_report import Conflict, Repair


def repairs(results: Sequence[Result]) -> list[Repair]:
    """Return the corrected changes of other writers."""
    return [
        Repair(
            result.child.key,
            correction.difference.text,
            correction.changed_by or UNKNOWN,
            correction.difference.wanted,
            correction.difference.found,
        )
        for result in results
        for correction in result.writes.corrections
        if correction.is_drift
    ]


def conflicts(results: Sequence[Result]) -> list[Conflict]:
    """Return the desired fields held by other managers after a reconcile."""
    return [
        Conflict(
            result.child.key,
            held.difference.text,
            held.manager,
            held.policy,
            differs=held.differs,
            contested=held.contested,
        )
        for result in results
        for held in result.left
    ]
