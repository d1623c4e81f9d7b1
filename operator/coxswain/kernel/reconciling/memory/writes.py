"""Writes of one child: those without a report, and the apply without an answer."""

from dataclasses import dataclass
from enum import Enum

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR
from coxswain.kernel.objects.projection import Projection


class Cause(Enum):
    """The cause of a corrected difference, as far as managedFields show it."""

    INTENT = "a new desired value, or a note of the operator"
    MANAGER = "another field manager changed the value"
    ANOTHER_OPERATOR = "another process changed the value under our manager name"
    UNRECORDED = "an unknown writer removed the field, changed an order, or cleared managedFields with the value"
    OWNERSHIP = "another writer changed only the owner: it cleared managedFields, or took a field that admission sets"


@dataclass(frozen=True)
class Correction:
    """A corrected difference with its cause."""

    difference: Difference
    manager: str | None
    """The other field manager that owns the field; None if there is none."""
    cause: Cause

    @property
    def is_drift(self) -> bool:
        """Whether another writer changed the value: the status and an Event report it."""
        return self.cause not in (Cause.INTENT, Cause.OWNERSHIP)

    @property
    def is_round(self) -> bool:
        """Whether the correction is a round of a write war: also if only the ownership shows the other writer."""
        return self.cause is not Cause.INTENT

    @property
    def changed_by(self) -> str | None:
        """The author of the difference, if known."""
        return self.manager or (ANOTHER_OPERATOR if self.cause is Cause.ANOTHER_OPERATOR else None)


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
