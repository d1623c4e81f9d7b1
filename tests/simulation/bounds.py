"""Bounds of the invariants, and their failure."""

from dataclasses import dataclass

from simulation.cluster import CHILDREN

RESOURCES = ("webapps", *CHILDREN, "replicasets", "pods", "horizontalpodautoscalers")


class Violated(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, why: str) -> None:
        super().__init__(f"{invariant}: {why}")
        self.invariant = invariant


@dataclass
class Bounds:
    """Virtual seconds within which things must happen."""

    calm: float = 45.0
    """A child, while nothing goes wrong: network delays and a few conflicts."""
    status: float = 75.0
    """The status: counts alone may wait for half a minute."""
    after: float = 150.0
    """After a trouble: the longest backoff, and a watch that is opened anew."""
    name: float = 90.0
    """A name that is taken: looked at each minute."""
    uncovered: float = 150.0
    """Until all is watched and listed, without a trouble."""
    requests: int = 60
    """Writes to one object within a minute, beyond those that users ask for."""
    long_requests: int = 240
    """The same within half an hour."""
