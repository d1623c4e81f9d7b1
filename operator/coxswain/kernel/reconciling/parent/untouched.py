"""Health of the children of a parent that is not written, because some kinds cannot be listed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.status.health import DIFFERS, Health, held_back, not_listed


def untouched(compared: Sequence[Result], unlisted: Mapping[str, str]) -> list[Result]:
    """Return the children with their known health; `unlisted` maps kinds that cannot be listed to the cause."""
    return [replace(each, child=replace(each.child, health=_health(each, unlisted))) for each in compared]


def _health(compared: Result, unlisted: Mapping[str, str]) -> Health:
    child = compared.child
    if child.kind in unlisted:
        return not_listed(unlisted[child.kind])
    if compared.live is None:
        return held_back(f"a LIST of {' and '.join(unlisted)} objects", there=False)
    # The parent may need no child of the unlisted kind, so this child reports why the drift is not corrected.
    return not_listed("; ".join(unlisted.values())) if child.health.reason == DIFFERS else child.health
