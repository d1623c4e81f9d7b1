"""The fields that the status of every workload has."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict


class Condition(TypedDict):
    """A condition in the form of the API conventions."""

    type: str
    status: Literal["True", "False", "Unknown"]
    observedGeneration: int
    lastTransitionTime: str
    reason: str
    message: str


class ChildStatus(TypedDict):
    """What the status tells of one child."""

    kind: str
    name: str
    health: str
    message: NotRequired[str]


class ConflictStatus(TypedDict):
    """What the status tells of a field that another manager holds."""

    object: str
    field: str
    manager: str
    policy: str


class DriftStatus(TypedDict):
    """What the status tells of a field that was put back: the last values, and how often."""

    object: str
    field: str
    manager: str
    wanted: str
    found: str
    count: int


class Status(TypedDict, total=False):
    """`status` of a parent."""

    observedGeneration: int
    conditions: Sequence[Condition]
    children: Sequence[ChildStatus]
    conflicts: Sequence[ConflictStatus]
    drift: Sequence[DriftStatus]
