"""Counts the parents by the status of their conditions, for the metrics."""

from collections import Counter
from collections.abc import Mapping, Sequence

from coxswain.kernel.objects.projection import Projection

_STATUSES = ("True", "False", "Unknown")


class ConditionCounts:
    """The number of parents by type and status of a condition, updated with each change of a parent.

    Reading all parents instead would unpack each of them. Only our types are counted: users can write others.
    """

    def __init__(self, types: Sequence[str]) -> None:
        """Count the conditions of these types."""
        self._types = tuple(types)
        self._counts: Counter[tuple[str, str]] = Counter()

    def replace(self, before: Projection | None, after: Projection | None) -> None:
        """Count a parent as `after` instead of `before`; None is an absent one."""
        old, new = _statuses(before), _statuses(after)
        if old == new:
            return
        for statuses, change in ((old, -1), (new, 1)):
            if statuses is not None:
                for each in self._types:
                    # As in the API conventions, a missing condition is Unknown.
                    self._counts[each, statuses.get(each, "Unknown")] += change

    def clear(self) -> None:
        """Count no parents."""
        self._counts.clear()

    def all(self) -> dict[tuple[str, str], int]:
        """Return the number of parents by type and status, for every type and status."""
        return {(each, status): self._counts[each, status] for each in self._types for status in _STATUSES}


def _statuses(parent: Projection | None) -> Mapping[str, str] | None:
    """Return the valid statuses of its conditions by type. A CRD without schema accepts anything as status."""
    if parent is None:
        return None
    status = parent.content.get("status")
    found = status.get("conditions") if isinstance(status, Mapping) else None
    conditions = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    return {str(each.get("type")): str(each["status"]) for each in conditions if each.get("status") in _STATUSES}
