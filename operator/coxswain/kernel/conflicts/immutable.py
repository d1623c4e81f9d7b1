"""Fields that cannot be changed in place: the API server refuses the change, or keeps the old value silently."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from coxswain.kernel.conflicts.policy import within


class Remedy(Enum):
    """How a child comes to be as desired, if not in place."""

    REPLACE = "replace"
    """It is deleted and made anew: nobody misses it meanwhile."""
    REPLACE_AROUND_PODS = "replace around pods"
    """So is it, but its pods stay, and the new one adopts them."""
    BY_HAND = "by hand"
    """Its going would be felt, so a person decides when."""


@dataclass(frozen=True)
class Obstacle:
    """A desired field that a live object can't take."""

    field: str
    """As a person writes it: spec.selector."""
    remedy: Remedy
    alone: bool = False
    """Whether all else can be changed."""

    def is_left_alone(self, fields: Sequence[str]) -> bool:
        """Tell whether it is among fields that aren't to be taken back now."""
        return any(within(field, self.field) for field in fields)


def command(kind: str, name: str, namespace: str) -> str:
    """Return the command that makes way for a child; the pods of a Deployment stay."""
    pods_stay = " --cascade=orphan" if kind == "Deployment" else ""
    return f"kubectl delete {kind.lower()} {name}{pods_stay} -n {namespace}"
