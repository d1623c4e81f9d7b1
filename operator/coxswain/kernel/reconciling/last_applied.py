"""The last state that a child was brought to: distinguishes removed fields from fields never set."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from coxswain.kernel.conflicts.policy import within
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.attempts import digest


@dataclass(frozen=True)
class LastApplied:
    """The manifest that a child last matched, with its exceptions."""

    manifest: str
    """A digest."""
    left: tuple[str, ...]
    """Fields left to others."""

    @classmethod
    def of(cls, manifest: Manifest, left: Iterable[str] = ()) -> Self:
        """Remember a child that matches its manifest, except for fields left to others."""
        return cls(digest(manifest), tuple(left))

    def had(self, manifest: Manifest) -> "Had":
        """Return the fields of a manifest with their desired value: a missing one was changed or removed by someone."""
        return Had(self.left if self.manifest == digest(manifest) else None)


@dataclass(frozen=True)
class Had:
    """Fields with their desired value at the last reconcile."""

    left: tuple[str, ...] | None
    """All except these; None if the manifest was another one."""

    def __call__(self, field: str) -> bool:
        """Tell whether the child had the desired value of a field."""
        return self.left is not None and not any(within(field, other) or within(other, field) for other in self.left)
