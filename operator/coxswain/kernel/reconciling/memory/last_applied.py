"""The last applied state of a child: distinguishes removed fields from fields never set."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from coxswain.kernel.conflicts.policy import overlaps
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.memory.attempts import digest


@dataclass(frozen=True)
class LastApplied:
    """The manifest that a child last matched, with its exceptions."""

    manifest: str
    """A digest."""
    left: tuple[str, ...]
    """Fields with another value: left to others, or changed by admission."""
    overridden: tuple[str, ...]
    """The subset of `left` in our managedFields entry: applied, and then changed by admission."""

    @classmethod
    def of(cls, manifest: Manifest, left: Iterable[str] = (), overridden: Iterable[str] = ()) -> Self:
        """Remember a child that matches its manifest, except for fields left to others or changed by admission."""
        return cls(digest(manifest), tuple(left), tuple(overridden))

    def had(self, manifest: Manifest) -> "Had":
        """Return the fields of a manifest with their desired value: a missing one was changed or removed by someone."""
        same = self.manifest == digest(manifest)
        return Had(self.left if same else None, self.overridden if same else ())


@dataclass(frozen=True)
class Had:
    """Fields with their desired value at the last reconcile."""

    left: tuple[str, ...] | None
    """All except these; None if the manifest was another one."""
    overridden: tuple[str, ...] = ()
    """Fields that our entry owned although admission had changed their values."""

    def __call__(self, field: str) -> bool:
        """Tell whether the child had the desired value of a field."""
        return self.left is not None and not overlaps(field, self.left)

    def owned_overridden(self, field: str) -> bool:
        """Tell whether our entry owned a field, or a part of it, although admission had changed its value."""
        return overlaps(field, self.overridden)
