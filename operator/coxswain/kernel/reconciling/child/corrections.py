"""The corrections of an apply, and their causes. Pure."""

from collections.abc import Callable, Collection, Iterable

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.write_plan import other_manager
from coxswain.kernel.objects.edit import contains
from coxswain.kernel.objects.field_paths import Path, owns
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.last_applied import LastApplied
from coxswain.kernel.reconciling.memory.writes import Cause, Correction


def corrected(
    found: Iterable[Difference],
    observed: Projection,
    last: LastApplied | None,
    *,
    ours: Collection[str],
    is_note: Callable[[Difference], bool],
) -> tuple[Correction, ...]:
    """Return the corrections that an apply makes.

    Args:
        found: the differences that it corrects.
        observed: the object before.
        last: the last applied state; None if that was another manifest.
        ours: our field managers.
        is_note: whether nothing but a note of ours differs.
    """
    owned, corrections = observed.owned or {}, []
    for each in found:
        manager = other_manager(each, observed, ours)
        cause = cause_of(
            each,
            manager,
            ours=owns(owned, each.path),
            was_there=last is not None and last.matched(each.text),
            is_note=is_note(each),
            was_overridden=last is not None and last.owned_overridden(each.text),
        )
        corrections.append(Correction(each, manager, cause))
    return tuple(corrections)


def cause_of(
    difference: Difference,
    manager: str | None,
    *,
    ours: bool,
    was_there: bool,
    is_note: bool,
    was_overridden: bool,
) -> Cause:
    """Return the cause of a difference.

    Args:
        difference: the difference.
        manager: the other field manager that owns the field.
        ours: whether our entry owns the live value: either the desired value is new, or another operator changed it.
        was_there: whether the child had the desired value before: otherwise a missing field was never set.
        is_note: whether nothing but a note of ours differs.
        was_overridden: whether our entry owned the field before although admission had changed its value.
    """
    wanted, found, rivals = difference.wanted, difference.found, difference.rivals
    if ours and was_there and wanted != found:
        return Cause.ANOTHER_OPERATOR
    if manager is not None and (rivals or (wanted not in (None, found) and not ours)):
        return Cause.MANAGER
    if manager is None and was_there and not ours and not is_note:
        # More entries of a live map are defaults, or belong to others.
        return Cause.UNRECORDED if rivals or not contains(found, wanted) else Cause.OWNERSHIP
    return Cause.OWNERSHIP if was_overridden and not ours else Cause.INTENT


def with_authors(found: Iterable[Correction], earlier: Iterable[Correction]) -> tuple[Correction, ...]:
    """Return the corrections of an apply that is planned again after its preparations.

    They may have hidden an author, so the author found before counts. A field that a preparation moved into our entry
    was not changed by another operator.
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

    If a value that nobody else owns still differs after the apply, admission has set it. Then nothing was corrected.
    """
    same, unowned = [difference.path for difference in after], (Cause.ANOTHER_OPERATOR, Cause.UNRECORDED)
    return tuple(each for each in corrections if each.cause not in unowned or each.difference.path not in same)


def contested_paths(corrections: Iterable[Correction]) -> list[Path]:
    """Return the paths changed by other writers."""
    return [each.difference.path for each in corrections if each.is_round]
