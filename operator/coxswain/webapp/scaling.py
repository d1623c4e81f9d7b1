"""Who says how many replicas the Deployment has: the WebApp, or a HorizontalPodAutoscaler that someone made for it.

The field changes hands without the count changing. What there is to remember of that is noted in an annotation on the
Deployment itself, so that a restart changes nothing.
"""

import re
from dataclasses import dataclass

AUTOSCALED = "autoscaled"
"""The note while a HorizontalPodAutoscaler has the field."""

_KEPT = re.compile(r"kept=(0|[1-9][0-9]{0,9}),spec=(0|[1-9][0-9]{0,9})", re.ASCII)
_MOST = 2**31 - 1


@dataclass(frozen=True)
class Scaling:
    """What the Deployment's manifest says of replicas."""

    replicas: int | None
    """The count; None leaves it to others."""
    note: str | None = None
    """The value of `REPLICAS_ANNOTATION`; None for no annotation."""

    @property
    def autoscaled(self) -> bool:
        """Whether the field is left to a HorizontalPodAutoscaler."""
        return self.note == AUTOSCALED


@dataclass(frozen=True)
class Kept:
    """A count that was left behind by a HorizontalPodAutoscaler, and stays until `spec.replicas` is changed."""

    replicas: int
    spec: int
    """`spec.replicas` of that time."""

    @property
    def note(self) -> str:
        """How it is noted."""
        return f"kept={self.replicas},spec={self.spec}"


def scaling(wanted: int, live: int | None, note: str | None, *, autoscaled: bool) -> Scaling:
    """Return what the manifest should say.

    `wanted` is `spec.replicas`, `live` the count of the Deployment as it is (None if there is none), `note` what it
    has noted, and `autoscaled` tells whether a HorizontalPodAutoscaler targets it.
    """
    if live is None:
        # Without a count of ours a new Deployment would begin with one pod.
        return Scaling(wanted)
    if autoscaled:
        return Scaling(None, AUTOSCALED)
    kept = Kept(live, wanted) if note == AUTOSCALED else kept_of(note)
    if kept is None or kept.spec != wanted or kept.replicas == wanted:
        return Scaling(wanted)
    return Scaling(kept.replicas, kept.note)


def kept_of(note: str | None) -> Kept | None:
    """Return the count that a note tells of, or None if it tells of none, or in no form of ours."""
    found = _KEPT.fullmatch(note or "")
    if found is None:
        return None
    kept = Kept(int(found[1]), int(found[2]))
    return kept if max(kept.replicas, kept.spec) <= _MOST else None
