"""The owners of a child's fields: policies of the parent, and fields outside of all policies."""

from collections.abc import Sequence
from functools import lru_cache, partial

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.policy import Policy, overlaps, within
from coxswain.kernel.conflicts.write_plan import Ownership
from coxswain.kernel.workload import ChildType, Desired, P, Workload

_ANNOTATIONS = ("f:metadata", "f:annotations")
_LABELLED = ("metadata.labels", "spec.template.metadata.labels")


def ownership(workload: Workload[P], child_type: ChildType[P], parent: P, desired: Desired) -> Ownership:
    """Return the rules for one child of a parent."""
    is_identity = partial(_is_identity, _identity(workload.labels, child_type.identity), child_type.notes)

    def policy_of(field: str) -> Policy:
        enforced = field in desired.enforced or is_identity(field)
        return Policy.ENFORCE if enforced else parent.policies.of(child_type.kind.kind, field)

    return Ownership(
        frozenset((workload.projector.manager, workload.projector.keeper)),
        None if parent.policies.enforce_all else policy_of,
        is_identity,
        child_type.comparable,
        child_type.former,
    )


def is_note(notes: Sequence[str], difference: Difference) -> bool:
    """Tell whether a difference concerns only a note of the operator in an annotation."""
    if difference.path in [(*_ANNOTATIONS, f"f:{note}") for note in notes]:
        return True
    # Where nobody owned an annotation, or nobody is to, they differ as a whole.
    if difference.path != _ANNOTATIONS or not (difference.wanted or {}).keys() <= set(notes):
        return False
    return any((difference.wanted or {}).get(note) != (difference.found or {}).get(note) for note in notes)


@lru_cache
def _identity(labels: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    labelled = (f"{where}[{label}]" for where in _LABELLED for label in labels)
    return ("metadata.ownerReferences", *labelled, *more)


def _is_identity(identity: Sequence[str], notes: Sequence[str], field: str) -> bool:
    return any(within(field, f"metadata.annotations[{note}]") for note in notes) or overlaps(field, identity)
