"""Writes of one child: those without a report, and the apply without an answer.

Their corrections are of a type of the layer above: `child.result.Correction`.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from coxswain.kernel.objects.projection import Projection

C = TypeVar("C")


@dataclass
class Progress(Generic[C]):
    """Successful writes for one child in one reconcile."""

    created: bool = False
    adopted: bool = False
    deleted_for: str | None = None
    """The immutable field, if the child was deleted in order to create it again."""
    replaced: bool = False
    """Whether it was created after such a deletion."""
    corrections: tuple[C, ...] = ()


@dataclass(frozen=True)
class PlannedApply(Generic[C]):
    """An apply in preparation, or sent without an answer.

    Its corrections are recorded first: the preparations hide the owners of the fields, and the answer may be lost
    although the server carries the apply out.
    """

    uid: str
    """The uid of the object."""
    corrections: tuple[C, ...]
    adopting: bool
    sent_for: int | None = None
    """The resourceVersion of the object that the apply was sent for; None if it was not sent or was refused."""

    def is_decided(self, live: Projection) -> bool:
        """Tell whether the object shows the effect of the apply.

        The apply has the resourceVersion as a precondition, so it has no effect on a newer object.
        """
        return self.sent_for is not None and live.uid == self.uid and live.version > self.sent_for
