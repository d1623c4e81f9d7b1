"""Breaks for F22: every field, set and unset."""

from typing import Any

from coxswain.kernel.conflicts import write_plan
from coxswain.kernel.conflicts.diff import Difference
from faults.breaks import broken, put


@broken("ignores owned fields that were removed from the desired state")
def keeps_removed_fields() -> None:
    compare = write_plan.differences  # type: ignore[attr-defined]

    def lenient(*arguments: Any) -> list[Difference]:
        return [found for found in compare(*arguments) if found.wanted is not None]

    put(write_plan, differences=lenient)
