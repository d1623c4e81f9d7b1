"""Replacement: an object with a wrong immutable field is deleted and created again."""

from dataclasses import dataclass

from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection


@dataclass(frozen=True)
class Deletion:
    """A deleted object without a successor yet."""

    observed: Projection
    manifest: Manifest
    """Its desired state at that time."""
    field: str
    """The immutable field."""
    paths: tuple[Path, ...]
    """The desired fields that the object could not take."""
    answered: bool = False
    """Whether the DELETE was answered, or its effect was seen. If not, it may or may not have been carried out."""

    def is_in_progress(self, live: Projection) -> bool:
        """Tell whether this object is deleted: its DELETE was answered, or it is terminating.

        The answer of a DELETE has no resourceVersion, so the end is known from the watch alone.
        """
        return self.observed.uid == live.uid and (self.answered or live.terminating)

    def is_seen(self, live: Projection | None) -> bool:
        """Tell whether the live object, None if it is gone, shows the effect of a DELETE without an answer."""
        return not self.answered and live is not None and (live.terminating or live.uid != self.observed.uid)
