"""The result of a reconcile for one child."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR
from coxswain.kernel.conflicts.write_plan import HeldField, foreign_manager
from coxswain.kernel.objects.field_paths import Path, owns
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.last_applied import Had
from coxswain.kernel.reconciling.memory.writes import Progress
from coxswain.kernel.status.health import Child


@dataclass(frozen=True)
class Correction:
    """A corrected difference, with its author as far as managedFields show it."""

    difference: Difference
    manager: str | None
    ours: bool = False
    """Whether our entry owns the live value: either the desired value is new, or another operator has changed it."""
    was_there: bool = True
    """Whether the child had the desired value before: otherwise a missing field was never set."""
    is_note: bool = False
    """Whether nothing but a note of ours differs."""
    was_overridden: bool = False
    """Whether our entry owned the field before although admission had changed its value."""

    @property
    def is_foreign(self) -> bool:
        """Whether another writer caused it, rather than a new desired value or a note of ours."""
        difference = self.difference
        changed = difference.wanted not in (None, difference.found) and not self.ours
        removed = difference.found is None and self.was_there and not self.is_note
        by_another_manager = (changed or bool(difference.rivals)) and (self.manager is not None or removed)
        return by_another_manager or self.by_another_operator

    @property
    def is_contested(self) -> bool:
        """Whether the correction is a round of a write war.

        Another writer may also remove a field whose value is admission's. Then the value stays, so nothing is
        corrected, and only the lost ownership shows the writer.
        """
        return self.is_foreign or (self.was_overridden and not self.ours)

    @property
    def by_another_operator(self) -> bool:
        """Whether another process wrote under our name after this process had applied the desired value."""
        difference = self.difference
        return self.ours and self.was_there and not difference.order and difference.wanted != difference.found

    @property
    def changed_by(self) -> str | None:
        """The author of the difference, if known."""
        return self.manager or (ANOTHER_OPERATOR if self.by_another_operator else None)


def corrected(
    found: Iterable[Difference],
    observed: Projection,
    had: Had,
    *,
    ours: Collection[str],
    is_note: Callable[[Difference], bool],
) -> tuple[Correction, ...]:
    """Return the corrections that an apply makes.

    Args:
        found: the differences that it corrects.
        observed: the object before.
        had: the fields with their desired value before.
        ours: our field managers.
        is_note: whether nothing but a note of ours differs.
    """
    owned = observed.owned or {}
    return tuple(
        Correction(
            each,
            foreign_manager(each, observed, ours),
            owns(owned, each.path),
            had(each.text),
            is_note(each),
            had.owned_overridden(each.text),
        )
        for each in found
    )


def with_authors(found: Iterable[Correction], earlier: Iterable[Correction]) -> tuple[Correction, ...]:
    """Return the corrections `found` now, with the authors that the preparations of an `earlier` apply may have hidden.

    Another coxswain did not change the fields that a preparation has reassigned to our entry.
    """
    before = {each.difference.path: each for each in earlier}
    reassigned = {path for each in before.values() for path in each.difference.rivals}
    corrections = []
    for each in found:
        known = before.get(each.difference.path)
        if each.manager is None and known is not None and known.difference.wanted == each.difference.wanted:
            corrections.append(known)
        elif each.manager is not None or each.difference.path not in reassigned:
            corrections.append(each)
    return tuple(corrections)


def effective(corrections: Iterable[Correction], after: Iterable[Difference]) -> tuple[Correction, ...]:
    """Return the effective corrections, given the differences after the apply.

    A value under our own name that stays is the cluster's admission's, not another operator's.
    """
    same = [difference.path for difference in after]
    return tuple(each for each in corrections if not each.by_another_operator or each.difference.path not in same)


def contested_places(corrections: Iterable[Correction]) -> list[Path]:
    """Return the places changed by other writers."""
    return [each.difference.path for each in corrections if each.is_contested]


@dataclass(frozen=True)
class Result:
    """The result for one child."""

    child: Child
    live: Projection | None = None
    """The live child, if it exists and belongs to the parent."""
    created: bool = False
    adopted: bool = False
    deleted_for: str | None = None
    """The immutable field, if it was deleted in this reconcile in order to create it again."""
    replaced: bool = False
    """Whether it was created after such a deletion."""
    corrections: tuple[Correction, ...] = ()
    left: tuple[HeldField, ...] = ()
    """Fields left to other managers for now."""
    failed: RequestFailed | None = None
    """The failed request."""
    after: float | None = None
    """Seconds until it is reconciled again without an event."""
    backoff: float | None = None
    """Remaining seconds of its backoff after failures; None if it does not wait."""

    @property
    def waiting(self) -> bool:
        """Whether it waits in its backoff after failures: neither a success nor a failure."""
        return self.backoff is not None

    @property
    def retry(self) -> bool:
        """Whether to retry a failed request."""
        return self.failed is not None and not self.child.health.stalled


def sooner(*delays: float | None) -> float | None:
    """Return the shortest delay in seconds; None without one."""
    return min((delay for delay in delays if delay is not None), default=None)


def with_writes(result: Result, progress: Progress[Correction]) -> Result:
    """Return a result with the successful writes of a child: a later request may have failed."""
    return replace(
        result,
        created=progress.created,
        adopted=progress.adopted,
        deleted_for=progress.deleted_for,
        replaced=progress.replaced,
        corrections=progress.corrections,
    )
