"""Computes status conditions from the health of all children, as the API conventions define them.

A status is a pure function of its inputs: the same state gives the same bytes, so an unchanged status causes no write.
`now` is used only for lastTransitionTime, after a change of status
(https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR, UNKNOWN
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.quote import MESSAGE_LIMIT, clean, enumerated
from coxswain.kernel.objects.status_fields import ChildStatus, Condition, ConflictStatus, Status, condition_of
from coxswain.kernel.status.conflict_report import Conflict, Repair, conflicts, drift
from coxswain.kernel.status.health import (
    ABSENCE_ADVICE,
    DELETED_AGAIN,
    FIELD_ADVICE,
    HALTED,
    HALTED_ADVICE,
    HEALTHY,
    SUSPENDED,
    YIELDED,
    YIELDED_ADVICE,
    Child,
    Level,
)

READY, PROGRESSING, STALLED, CONFLICTED, CONTESTED = TYPES = (
    "Ready",
    "Progressing",
    "Stalled",
    "Conflicted",
    "Contested",
)
"""Condition types of every workload."""

_NAMED = 5
_CHILDREN = 64
"""Maximum entries of `children`, as in the CRD: the API server refuses a status with more."""
_ALL_HEALTHY = "all children match the spec and are healthy"
_OWNERLESS_ADVICE = (
    "Kubernetes records no owner of such a change, so Yield has no effect. Stop the other client: the audit log of the "
    "API server names it"
)
_PAUSED = "spec.paused is true. The operator writes only the status. To resume, set spec.paused to false"


@dataclass(frozen=True)
class ConditionState:
    """Status, reason and message of a condition."""

    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


def standard_conditions(
    children: Sequence[Child],
    held: Sequence[Conflict],
    previous: Status,
    commands: Commands,
    *,
    paused: bool,
    unknown_policies: str,
) -> dict[str, ConditionState]:
    """Return the conditions of every workload, by type.

    Args:
        children: the desired children with their health.
        held: desired fields owned by other field managers.
        previous: the current status of the parent.
        commands: the commands about the parent, for the ends of messages.
        paused: whether the operator writes only the status.
        unknown_policies: a sentence about conflict policies unknown to this version, or "".
    """
    return {
        READY: _ready(children),
        PROGRESSING: _progressing(children, commands, paused=paused),
        STALLED: _stalled(children),
        CONFLICTED: _conflicted(conflicts(previous, held), commands, unknown_policies),
        CONTESTED: _contested(held, commands),
    }


def conditions(states: Mapping[str, ConditionState], generation: int, previous: Status, now: str) -> list[Condition]:
    """Return the list of conditions. lastTransitionTime changes only with the status of a condition."""
    return [_condition(name, state, generation, previous, now) for name, state in states.items()]


def standard_fields(
    children: Sequence[Child], held: Sequence[Conflict], repairs: Sequence[Repair], previous: Status
) -> Status:
    """Return the status fields `children`, `conflicts` and `drift`."""
    conflicted, ledger = conflicts(previous, held), drift(previous, repairs)
    fields: Status = {"children": _children(children)}
    if conflicted:
        fields["conflicts"] = conflicted
    if ledger:
        fields["drift"] = ledger
    return fields


def worst(children: Sequence[Child]) -> Child | None:
    """Return the child with the worst health. It decides Ready. None if all are healthy, or optional."""
    unhealthy = [child for child in _unhealthy(children) if not child.health.non_blocking]
    return max(unhealthy, key=lambda child: child.health.level, default=None)


def listed(sentences: Sequence[str]) -> str:
    """Join the first five sentences and append the number of the others."""
    return enumerated(sentences, _NAMED, "; ")


def _unhealthy(children: Sequence[Child]) -> list[Child]:
    return [child for child in children if child.health.level is not Level.HEALTHY]


def _ready(children: Sequence[Child]) -> ConditionState:
    unhealthy = worst(children)
    if unhealthy is None:
        awaited = [_sentence(child) for child in _unhealthy(children)]
        healthy = "all children match the spec and the application serves" if awaited else _ALL_HEALTHY
        return ConditionState("True", HEALTHY.reason, ". ".join([healthy, *awaited]))
    return ConditionState("False", unhealthy.health.reason, _sentence(unhealthy))


def _progressing(children: Sequence[Child], commands: Commands, *, paused: bool) -> ConditionState:
    if paused:
        return ConditionState("False", "Paused", f"{_PAUSED}: {commands.edit}")
    stalled = next((child for child in children if child.health.stalled), None)
    if stalled is not None:
        return ConditionState("False", stalled.health.reason, _sentence(stalled))
    unhealthy = worst(children) or next(iter(_unhealthy(children)), None)
    if unhealthy is None:
        return ConditionState("False", "Complete", "the spec is applied and rolled out")
    return ConditionState("True", unhealthy.health.reason, _sentence(unhealthy))


def _stalled(children: Sequence[Child]) -> ConditionState:
    stalled = next((child for child in children if child.health.stalled), None)
    if stalled is None:
        return ConditionState("False", "NotStalled", "no child is blocked")
    return ConditionState("True", stalled.health.reason, _sentence(stalled))


def _conflicted(conflicted: Sequence[ConflictStatus], commands: Commands, unknown: str) -> ConditionState:
    if not conflicted:
        more = f". {unknown}: {commands.edit}" if unknown else ""
        return ConditionState("False", "NoConflict", f"no other field manager owns a field of the spec{more}")
    halts = any(entry["policy"] == Policy.HALT for entry in conflicted)
    sentences = [
        f"{entry['object']} {entry['field']} is owned by {entry['manager']} (policy {entry['policy']})"
        for entry in conflicted
    ]
    reason = "Halted" if halts else "Yielded"
    # The sentence about unknown policies has its own advice.
    action, advice = (HALTED, HALTED_ADVICE) if halts else (YIELDED, YIELDED_ADVICE)
    advice = f"{action}. {unknown}" if unknown else advice
    return ConditionState("True", reason, f"{listed(sentences)}. {advice}: {commands.edit}")


def _contested(held: Sequence[Conflict], commands: Commands) -> ConditionState:
    contested = [conflict for conflict in held if conflict.contested]
    if not contested:
        return ConditionState("False", "NotContested", "no other writer keeps overwriting a field")
    rounds = f"each time {commands.manager} enforces it"
    sentences = [
        f"{conflict.object} {conflict.field} is overwritten by {conflict.manager} {rounds}"
        if conflict.field
        else f"{conflict.object.replace('/', ' ')} is {DELETED_AGAIN}"
        for conflict in contested
    ]
    managers = {conflict.manager for conflict in contested if conflict.field}
    advice = _contested_advice(managers, contested[0].object, commands)
    return ConditionState("True", "WriteWar", f"{listed(sentences)}. {SUSPENDED} {advice}")


def _contested_advice(managers: Collection[str], first: str, commands: Commands) -> str:
    """Return the advice for a write war with `managers`; without any, `first` is a child that another client deletes.

    The policy Yield has no effect on a second operator, because its field manager has the same name. The manager is
    unknown after a removal or another order of list items, which leaves no managedFields entry.
    """
    if not managers:
        return f"{ABSENCE_ADVICE}: {commands.events_about(*first.split('/'))}"
    if ANOTHER_OPERATOR in managers:
        return f"Probable cause: {commands.two_operators}"
    cause = f". Possible cause: {commands.two_operators}" if UNKNOWN in managers else ""
    if set(managers) == {UNKNOWN}:
        return f"{_OWNERLESS_ADVICE}{cause}"
    return f"{FIELD_ADVICE}: {commands.edit}{cause}"


def _sentence(child: Child) -> str:
    return f"{child.kind} {child.name}: {child.health.message}"


def _condition(name: str, state: ConditionState, generation: int, previous: Status, now: str) -> Condition:
    before = condition_of(previous, name)
    return {
        "type": name,
        "status": state.status,
        "observedGeneration": generation,
        "lastTransitionTime": before.get("lastTransitionTime", now) if before.get("status") == state.status else now,
        "reason": state.reason,
        "message": clean(state.message, MESSAGE_LIMIT),
    }


def _children(children: Sequence[Child]) -> list[ChildStatus]:
    """Return the entries of `children`. The last of a list that is cut says so."""
    entries = [_child(child) for child in children[:_CHILDREN]]
    more = len(children) - len(entries)
    if more:
        cut = f"{more} more children are not listed: status.children has at most {_CHILDREN} entries"
        message = entries[-1].get("message", "")
        entries[-1]["message"] = f"{message}. {cut}" if message else cut
    return entries


def _child(child: Child) -> ChildStatus:
    entry: ChildStatus = {"kind": child.kind, "name": child.name, "health": child.health.level.text}
    if child.health.message:
        entry["message"] = child.health.message
    return entry
