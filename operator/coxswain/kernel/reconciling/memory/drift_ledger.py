"""Corrected drift without a status report."""

from collections.abc import Sequence

from coxswain.kernel.status.conflict_report import Repair
from coxswain.metrics import drift_corrected

LIMIT = 500
"""Maximum repairs, the latest ones: failing status writes must not use ever more memory."""


class DriftLedger:
    """Repairs of one parent without a status report."""

    def __init__(self) -> None:
        self._repairs: list[Repair] = []

    def add(self, repairs: Sequence[Repair]) -> None:
        """Add corrected drift."""
        for repair in repairs:
            drift_corrected(repair.object.partition("/")[0])
        self._repairs = [*self._repairs, *repairs][-LIMIT:]

    def unreported(self) -> tuple[Repair, ...]:
        """Return the repairs for the next status."""
        return tuple(self._repairs)

    def written(self, repairs: Sequence[Repair]) -> None:
        """Forget these repairs after a status with them was written. Equal ones since then are other repairs."""
        reported = {id(repair) for repair in repairs}
        self._repairs = [repair for repair in self._repairs if id(repair) not in reported]
