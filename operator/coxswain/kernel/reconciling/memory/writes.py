"""Writes of one child: those without a report, and the apply without an answer."""

from dataclasses import dataclass

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR
from coxswain.kernel.objects.edit import contains
from coxswain.kernel.objects.projection import Projection


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
        by_another_manager = self.manager is not None and (changed or bool(difference.rivals))
        return by_another_manager or self.is_unrecorded

    @property
    def is_contested(self) -> bool:
        """Whether the correction is a round of a write war.

        Another writer may also clear managedFields, or take the ownership of a field whose value admission sets. The
        value stays, so only the lost ownership shows the writer.
        """
        return self.is_foreign or self.is_lost or (self.was_overridden and not self.ours)

    @property
    def is_unrecorded(self) -> bool:
        """Whether managedFields do not show the writer that changed the applied value.

        It wrote under our name, removed the field, changed an order, which has no owner, or cleared managedFields.
        """
        difference = self.difference
        changed = bool(difference.rivals) or not contains(difference.found, difference.wanted)
        return self.by_another_operator or (self.is_lost and changed)

    @property
    def is_lost(self) -> bool:
        """Whether no manager owns what this process has applied, and it is no note of ours."""
        return self.was_there and not self.ours and self.manager is None and not self.is_note

    @property
    def by_another_operator(self) -> bool:
        """Whether another process wrote under our name after this process had applied the desired value."""
        return self.ours and self.was_there and self.difference.wanted != self.difference.found

    @property
    def changed_by(self) -> str | None:
        """The author of the difference, if known."""
        return self.manager or (ANOTHER_OPERATOR if self.by_another_operator else None)


@dataclass(frozen=True)
class Writes:
    """Successful writes for one child in one reconcile."""

    created: bool = False
    adopted: bool = False
    deleted_for: str | None = None
    """The immutable field, if the child was deleted in order to create it again."""
    replaced: bool = False
    """Whether it was created after such a deletion."""
    corrections: tuple[Correction, ...] = ()


NOTHING_WRITTEN = Writes()


@dataclass(frozen=True)
class PlannedApply:
    """An apply in preparation, or sent without an answer.

    Its corrections are recorded first: the preparations hide the owners of the fields, and the answer may be lost
    although the server carries the apply out.
    """

    uid: str
    """The uid of the object."""
    corrections: tuple[Correction, ...]
    adopting: bool
    sent_for: int | None = None
    """The resourceVersion of the object that the apply was sent for; None if it was not sent or was refused."""

    def is_decided(self, live: Projection) -> bool:
        """Tell whether the object shows the effect of the apply.

        The apply has the resourceVersion as a precondition, so it has no effect on a newer object.
        """
        return self.sent_for is not None and live.uid == self.uid and live.version > self.sent_for
