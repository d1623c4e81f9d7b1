"""The children of a WebApp that nothing is written for: objects of some kinds can't be listed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.status.health import DIFFERS, Health, held_back, not_listed


def untouched(compared: Sequence[Result], unlisted: Mapping[str, str]) -> list[Result]:
    """Return the children as far as they are known; `unlisted` has the kinds that can't be listed, and why."""
    return [replace(each, child=replace(each.child, health=_health(each, unlisted))) for each in compared]


def _health(compared: Result, unlisted: Mapping[str, str]) -> Health:
    child = compared.child
    if child.kind in unlisted:
        return not_listed(unlisted[child.kind])
    if compared.live is None:
        return held_back(f"list of each {' and '.join(unlisted)}", there=False)
    # Not applied for a reason that no child of the kind may tell: the WebApp needs none.
    return not_listed("; ".join(unlisted.values())) if child.health.reason == DIFFERS else child.health
