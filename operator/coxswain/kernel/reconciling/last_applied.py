"""The last state that a child was brought to: distinguishes a removed field from one that was never set."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from coxswain.kernel.conflicts.policy import within
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.attempts import digest


@dataclass(frozen=True)
class LastApplied:
    """The manifest that a child last matched, and the fields in which it did not."""

    manifest: str
    """A digest."""
    left: tuple[str, ...]
    """Fields that were left to others."""

    @classmethod
    def of(cls, manifest: Manifest, left: Iterable[str] = ()) -> Self:
        """Remember that a child matches its manifest, except for fields that were left to others."""
        return cls(digest(manifest), tuple(left))

    def had(self, manifest: Manifest) -> "Had":
        """Return which fields of a manifest the child had: if it has one no more, someone changed or removed it."""
        return Had(self.left if self.manifest == digest(manifest) else None)


@dataclass(frozen=True)
class Had:
    """The fields that a child had."""

    left: tuple[str, ...] | None
    """All but these; None if it had another manifest."""

    def __call__(self, field: str) -> bool:
        """Tell whether the child had the desired value of a field."""
        return self.left is not None and not any(within(field, other) or within(other, field) for other in self.left)
