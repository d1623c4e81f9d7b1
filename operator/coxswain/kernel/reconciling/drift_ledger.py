"""What was put back and is not in a status yet: kept until a status that tells of it was written."""

from collections.abc import Sequence

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.result import Result
from coxswain.metrics import drift_corrected
from coxswain.webapp.co_writers import UNKNOWN, Conflict, Repair

_WAITING = 500
"""How many wait at most, the latest: a status that can't be written must not cost ever more memory."""


class DriftLedger:
    """Repairs that wait for their status."""

    def __init__(self) -> None:
        self._repairs: dict[Key, list[Repair]] = {}

    def add(self, key: Key, repairs: Sequence[Repair]) -> None:
        """Add what was just put back."""
        for repair in repairs:
            drift_corrected(repair.object.partition("/")[0])
        if repairs:
            self._repairs[key] = [*self._repairs.get(key, []), *repairs][-_WAITING:]

    def waiting(self, key: Key) -> tuple[Repair, ...]:
        """Return what no status tells of yet."""
        return tuple(self._repairs.get(key, ()))

    def clear(self) -> None:
        """Forget all WebApps."""
        self._repairs.clear()

    def written(self, key: Key) -> None:
        """Forget what a status tells of now, or wouldn't tell of, or of a WebApp that is gone."""
        self._repairs.pop(key, None)


def repairs(results: Sequence[Result]) -> list[Repair]:
    """Return what a reconcile put back that someone else had changed."""
    return [
        Repair(
            f"{result.child.kind}/{result.child.name}",
            found.difference.text,
            found.changed_by or UNKNOWN,
            found.difference.wanted,
            found.difference.found,
        )
        for result in results
        for found in result.corrections
        if found.is_foreign
    ]


def conflicts(results: Sequence[Result]) -> list[Conflict]:
    """Return the desired fields that other managers hold after a reconcile."""
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
