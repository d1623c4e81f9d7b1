"""The last state that a child was brought to: distinguishes a removed field from one that was never set."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from coxswain.kernel.reconciling.scaling import said
from coxswain.webapp.policy import within
from coxswain.webapp.spec import Manifest, WebApp


@dataclass(frozen=True)
class LastApplied:
    """The generation that a child last matched, and the fields in which it did not."""

    generation: int
    scaling: tuple[Any, Any]
    """Replicas and replicas annotation of the manifest: an autoscaler changes them without a new generation."""
    left: tuple[str, ...]
    """Fields that were left to others."""

    @classmethod
    def of(cls, parent: WebApp, manifest: Manifest, left: Iterable[str] = ()) -> Self:
        """Remember that a child matches its manifest, except for fields that were left to others."""
        return cls(parent.generation, said(manifest), tuple(left))

    def had(self, parent: WebApp, manifest: Manifest, field: str) -> bool:
        """Tell whether the child had the desired value of a field: if not now, someone changed or removed it."""
        if (self.generation, self.scaling) != (parent.generation, said(manifest)):
            return False
        return not any(within(field, other) or within(other, field) for other in self.left)
