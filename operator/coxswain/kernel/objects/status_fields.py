"""The common status fields of all workloads."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict


class Condition(TypedDict):
    """A condition, as defined by the Kubernetes API conventions."""

    type: str
    status: Literal["True", "False", "Unknown"]
    observedGeneration: int
    lastTransitionTime: str
    reason: str
    message: str


class ChildStatus(TypedDict):
    """The health of one child."""

    kind: str
    name: str
    health: str
    message: NotRequired[str]


class ConflictStatus(TypedDict):
    """A field of a child held by another manager."""

    object: str
    field: str
    manager: str
    policy: str


class DriftStatus(TypedDict):
    """A field of a child enforced by the operator: the last values, and the number of corrections."""

    object: str
    field: str
    manager: str
    wanted: str
    found: str
    count: int


class Status(TypedDict, total=False):
    """The `status` of a parent."""

    observedGeneration: int
    conditions: Sequence[Condition]
    children: Sequence[ChildStatus]
    conflicts: Sequence[ConflictStatus]
    drift: Sequence[DriftStatus]


def condition_of(status: Status, type_: str) -> Mapping[str, Any]:
    """Return the condition of a type; empty without one."""
    return next((each for each in status.get("conditions", []) if each.get("type") == type_), {})
