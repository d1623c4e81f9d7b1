"""The last applied state of a child: distinguishes removed fields from fields never set."""

from dataclasses import dataclass
from typing import Self

from coxswain.kernel.conflicts.policy import overlaps
from coxswain.kernel.conflicts.write_plan import Plan
from coxswain.kernel.objects.field_paths import owns
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
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
    def of(cls, manifest: Manifest, planned: Plan, live: Projection) -> Self:
        """Remember a child that matches its manifest, except for the fields in its write plan after that."""
        left = (*(held.difference for held in planned.left), *planned.differences)
        owned = live.owned or {}
        overridden = [each.text for each in planned.differences if each.changes_value and owns(owned, each.path)]
        return cls(digest(manifest), tuple(each.text for each in left), tuple(overridden))

    def is_of(self, manifest: Manifest) -> bool:
        """Tell whether it is the state of this manifest."""
        return self.manifest == digest(manifest)

    def matched(self, field: str) -> bool:
        """Tell whether the child had the desired value of a field."""
        return not overlaps(field, self.left)

    def owned_overridden(self, field: str) -> bool:
        """Tell whether our entry owned a field, or a part of it, although admission had changed its value."""
        return overlaps(field, self.overridden)
