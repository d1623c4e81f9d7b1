"""Immutable fields: the API server rejects a change, or silently keeps the old value."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from coxswain.kernel.conflicts.policy import within
from coxswain.kernel.objects.field_paths import Path


class Remedy(Enum):
    """How to bring a child with an immutable difference to its desired state."""

    REPLACE = "replace"
    """Delete and recreate it; the interruption is harmless."""
    REPLACE_AROUND_PODS = "replace around pods"
    """Delete it with propagationPolicy Orphan and recreate it; the new object adopts the pods."""
    BY_HAND = "by hand"
    """Wait for a person to delete it, because the deletion would disrupt the application."""


@dataclass(frozen=True)
class Obstacle:
    """A desired field of a child that cannot be changed in place."""

    field: str
    """The field in readable form: spec.selector."""
    remedy: Remedy
    others_mutable: bool = False
    """Whether all other fields can be changed in place."""
    advice: str = ""
    """A sentence about another way than to delete the child by hand."""

    @property
    def path(self) -> Path:
        """The field as a path. It consists of names alone."""
        return tuple(f"f:{name}" for name in self.field.split("."))

    def is_left_alone(self, fields: Sequence[str]) -> bool:
        """Report whether it is one of the fields not enforced for now."""
        return any(within(field, self.field) for field in fields)
