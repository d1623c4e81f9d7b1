"""Conditions: the state of all children in the form of the API conventions.

A status is a function of its inputs: the same state gives the same bytes, so a status is written only when it changes.
Times enter by `now`, and only where a condition changes
(https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coxswain.kernel.conflicts.managed_fields import ANOTHER_COXSWAIN, UNKNOWN
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.quote import MESSAGE_LIMIT, clean
from coxswain.kernel.objects.status_fields import ChildStatus, Condition, ConflictStatus, Status
from coxswain.kernel.status.conflict_report import Conflict, Repair, conflicts, drift
from coxswain.kernel.status.health import DELETED_AGAIN, HEALTHY, OPERATOR, Child, Level

READY, PROGRESSING, STALLED, CONFLICTED, CONTESTED = TYPES = (
    "Ready",
    "Progressing",
    "Stalled",
    "Conflicted",
    "Contested",
)
"""Types of the conditions that every workload has."""

_NAMED = 5
_TWO_OPERATORS = f"a second {OPERATOR} operator that serves this namespace: leave only one of them running"


@dataclass(frozen=True)
class ConditionState:
    """The content of a condition."""

    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


def standard_findings(
    children: Sequence[Child], held: Sequence[Conflict], previous: Status, *, paused: bool, unknown_policies: str
) -> dict[str, ConditionState]:
    """Return the conditions that every workload has, by type.

    Args:
        children: each child that the parent should have, with its health.
        held: desired fields that other managers hold.
        previous: the status that the parent has.
        paused: whether nothing but the status is written.
        unknown_policies: a sentence about conflict policies that this version does not know, or "".
    """
    return {
        READY: _ready(children),
        PROGRESSING: _progressing(children, paused=paused),
        STALLED: _stalled(children),
        CONFLICTED: _conflicted(conflicts(previous, held), unknown_policies),
        CONTESTED: _contested(held),
    }


def conditions(findings: Mapping[str, ConditionState], generation: int, previous: Status, now: str) -> list[Condition]:
    """Return conditions; each has the time of its last change of status."""
    return [_condition(name, finding, generation, previous, now) for name, finding in findings.items()]


def standard_fields(
    children: Sequence[Child], held: Sequence[Conflict], repairs: Sequence[Repair], previous: Status
) -> Status:
    """Return the children, conflicts and drift of a status."""
    conflicted, ledger = conflicts(previous, held), drift(previous, repairs)
    fields: Status = {"children": [_child(child) for child in children]}
    if conflicted:
        fields["conflicts"] = conflicted
    if ledger:
        fields["drift"] = ledger
    return fields


def worst(children: Sequence[Child]) -> Child | None:
    """Return the child that decides Ready; None if all are healthy."""
    unhealthy = [child for child in children if child.health.level is not Level.HEALTHY]
    return max(unhealthy, key=lambda child: child.health.level, default=None)


def listed(sentences: Sequence[str]) -> str:
    """Join sentences, the first ones if there are many."""
    more = f" and {len(sentences) - _NAMED} more" if len(sentences) > _NAMED else ""
    return "; ".join(sentences[:_NAMED]) + more


def _ready(children: Sequence[Child]) -> ConditionState:
    found = worst(children)
    if found is None:
        return ConditionState("True", HEALTHY.reason, "everything runs as the spec says")
    return ConditionState("False", found.health.reason, _sentence(found))


def _progressing(children: Sequence[Child], *, paused: bool) -> ConditionState:
    if paused:
        return ConditionState("False", "Paused", "spec.paused is true: nothing is written but this status")
    stalled = next((child for child in children if child.health.stalled), None)
    if stalled is not None:
        return ConditionState("False", stalled.health.reason, _sentence(stalled))
    found = worst(children)
    if found is None:
        return ConditionState("False", "Complete", "nothing is left to do")
    return ConditionState("True", found.health.reason, _sentence(found))


def _stalled(children: Sequence[Child]) -> ConditionState:
    stalled = next((child for child in children if child.health.stalled), None)
    if stalled is None:
        return ConditionState("False", "NotStalled", "nothing is in the way")
    return ConditionState("True", stalled.health.reason, _sentence(stalled))


def _conflicted(conflicted: Sequence[ConflictStatus], unknown: str) -> ConditionState:
    more = f"; {unknown}" if unknown else ""
    if not conflicted:
        return ConditionState("False", "NoConflict", "no other manager holds a field of the spec" + more)
    reason = "Halted" if any(entry["policy"] == Policy.HALT for entry in conflicted) else "Yielded"
    sentences = [f"{entry['object']} {entry['field']} is held by {entry['manager']}" for entry in conflicted]
    return ConditionState("True", reason, listed(sentences) + more)


def _contested(held: Sequence[Conflict]) -> ConditionState:
    fought = [conflict for conflict in held if conflict.contested]
    if not fought:
        return ConditionState("False", "NotContested", "no field is taken again and again")
    sentences = [
        f"{conflict.object} {conflict.field} is set by {conflict.manager} as often as {OPERATOR} takes it back"
        if conflict.field
        else f"{conflict.object.replace('/', ' ')} is {DELETED_AGAIN}"
        for conflict in fought
    ]
    managers = {conflict.manager for conflict in fought if conflict.field}
    return ConditionState("True", "WriteWar", listed(sentences) + _cause(managers))


def _cause(managers: Collection[str]) -> str:
    """Return the probable cause if no other manager is known; anyone may remove a field without a trace."""
    if ANOTHER_COXSWAIN in managers:
        return f"; the probable cause is {_TWO_OPERATORS}"
    return f"; a possible cause is {_TWO_OPERATORS}" if UNKNOWN in managers else ""


def _sentence(child: Child) -> str:
    return f"{child.kind} {child.name}: {child.health.message}"


def _condition(name: str, finding: ConditionState, generation: int, previous: Status, now: str) -> Condition:
    before = next((found for found in previous.get("conditions", []) if found.get("type") == name), None)
    unchanged = before is not None and before.get("status") == finding.status
    return {
        "type": name,
        "status": finding.status,
        "observedGeneration": generation,
        "lastTransitionTime": before.get("lastTransitionTime", now) if before is not None and unchanged else now,
        "reason": finding.reason,
        "message": clean(finding.message, MESSAGE_LIMIT),
    }


def _child(child: Child) -> ChildStatus:
    shown: ChildStatus = {"kind": child.kind, "name": child.name, "health": child.health.level.text}
    if child.health.message:
        shown["message"] = child.health.message
    return shown
