"""An object with the name of a child that no watch reports: it lacks our label, so it is read again and again."""

from dataclasses import dataclass, replace
from math import inf
from typing import Self

from coxswain.kernel.objects.projection import Projection

_TERMINATING_SECONDS = 1.0
"""Seconds until a terminating object is read again: no event reports its end."""


@dataclass(frozen=True)
class Unwatched:
    """The object with a child's name, as last read, and the time of its next read."""

    observed: Projection | None = None
    """None if a watch reports the object, or nothing has the name."""
    generation: int = 0
    """Generation of the parent at the last read: a change of the spec is a reason to read again."""
    until: float = inf
    """Monotonic time after which it is read again."""

    @classmethod
    def read(cls, found: Projection, generation: int, now: float, interval: float) -> Self:
        """Remember an object after an answer with it; `interval` is the usual number of seconds between two reads."""
        return cls(found, generation, now + (_TERMINATING_SECONDS if found.terminating else interval))

    def postponed(self, generation: int, until: float) -> Self:
        """Return the same object with another time for the next read."""
        return replace(self, generation=generation, until=until)

    def is_due(self, generation: int, now: float) -> bool:
        """Tell whether to read it before a decision about the child."""
        return self.observed is not None and (self.generation != generation or now >= self.until)

    def next_read(self, now: float) -> float | None:
        """Return the seconds until the next read; None without one.

        An overdue read does not count: either it failed, and is retried like any failed request, or this reconcile did
        not reach it, and a requeue would not either.
        """
        left = self.until - now
        return left if self.observed is not None and left > 0 else None


NOTHING_UNWATCHED = Unwatched()
