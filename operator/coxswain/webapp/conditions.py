"""Health to conditions and status.

The status is a function of what it is given: a status that says the same is the same bytes, so it is written only when
it changes. Times enter by `now`, and only where a condition's status changes
(https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

from coxswain.webapp.children.service import url
from coxswain.webapp.co_writers import ANOTHER_COXSWAIN, UNKNOWN, Conflict, Repair, conflicts, drift
from coxswain.webapp.health import DELETED_AGAIN, HEALTHY, Child, Level, condition
from coxswain.webapp.identity import MANAGED_BY, WEBAPP_LABEL
from coxswain.webapp.pod_security import Violation
from coxswain.webapp.policy import Policy, unknown_policies
from coxswain.webapp.quote import MESSAGE_LIMIT, clean, without_numbers
from coxswain.webapp.spec import ChildStatus, Condition, ConflictStatus, Status, WebApp

READY, PROGRESSING, AVAILABLE, STALLED, CONFLICTED, CONTESTED = TYPES = (
    "Ready",
    "Progressing",
    "Available",
    "Stalled",
    "Conflicted",
    "Contested",
)

POD_SECURITY_VIOLATED = "PodSecurityViolated"
"""A condition that is there only while it is True, so that nearly all WebApps do without it."""

_OURS = (*TYPES, POD_SECURITY_VIOLATED)

_NAMED = 5

COUNTS = ("replicas", "readyReplicas", "updatedReplicas")
"""Fields of the status that count pods."""

_TWO_OPERATORS = "a second coxswain operator that serves this namespace: leave only one of them running"


@dataclass(frozen=True)
class _Finding:
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str


class Urgency(IntEnum):
    """How soon a status must be written over the one before it."""

    NONE = 0
    """They say the same, numbers in what is quoted apart: the last words of a program have the time in them."""
    DRIFT = 1
    """Only the ledger of what was put back differs."""
    COUNTS = 2
    """Replicas or updatedReplicas differ too."""
    PROGRESS = 3
    """Ready pods and messages differ too: mere progress."""
    NOW = 4
    """A condition, the observed generation, a child's health or an address differs."""


@dataclass(frozen=True)
class Observations:
    """What was found of a WebApp's children."""

    children: Sequence[Child]
    """Each child that it should have, with its health."""
    deployment: Mapping[str, Any] | None = None
    """The Deployment, if it is there and the WebApp's."""
    held: Sequence[Conflict] = ()
    """Desired fields that other managers hold."""
    repairs: Sequence[Repair] = ()
    """What was put back and is not in the ledger yet."""
    insecure: Sequence[Violation] = ()
    """Fields of the pod template that fail Pod Security `restricted`."""


def status(webapp: WebApp, found: Observations, previous: Status, now: str) -> Status:
    """Return the status of a WebApp.

    Args:
        webapp: the WebApp that was reconciled.
        found: what was found of its children.
        previous: the status that the WebApp has.
        now: the present time, in the form of RFC 3339 with seconds.
    """
    live, children = found.deployment or {}, found.children
    conflicted, ledger = conflicts(previous, found.held), drift(previous, found.repairs)
    counts = live.get("status", {})
    findings = {
        READY: _ready(children),
        PROGRESSING: _progressing(webapp, children),
        AVAILABLE: _available(live),
        STALLED: _stalled(children),
        CONFLICTED: _conflicted(conflicted, unknown_policies(webapp)),
        CONTESTED: _contested(found.held),
    }
    if found.insecure:
        findings[POD_SECURITY_VIOLATED] = _insecure(webapp, found.insecure)
    address = url(webapp)
    return {
        "observedGeneration": webapp.generation,
        "conditions": [_condition(webapp, name, finding, previous, now) for name, finding in findings.items()],
        "replicas": counts.get("replicas", 0),
        "readyReplicas": counts.get("readyReplicas", 0),
        "updatedReplicas": counts.get("updatedReplicas", 0),
        "selector": f"{WEBAPP_LABEL}={webapp.name}",
        **({"url": address} if address else {}),
        "children": [_child(child) for child in children],
        **({"conflicts": conflicted} if conflicted else {}),
        **({"drift": ledger} if ledger else {}),
    }


def fingerprint(status: Status) -> str:
    """Return a digest of what a status says: two are equal if neither needs to be written over the other."""
    return hashlib.sha256(json.dumps(_said(status), sort_keys=True).encode()).hexdigest()


def urgency(previous: Status, wanted: Status, replicas: int) -> Urgency:
    """Return how soon `wanted` must be written over `previous`, which may hold conditions of other writers.

    Ready pods beyond the `replicas` that the Deployment should have are of two revisions side by side: no progress.
    """
    if _said(previous) == _said(wanted):
        return Urgency.NONE
    before, after = (min(each.get("readyReplicas", 0), replicas) for each in (previous, wanted))
    all_counts = (*COUNTS, "drift")
    some = all_counts if before == after else ("replicas", "updatedReplicas", "drift")
    if _said(previous, ("drift",)) == _said(wanted, ("drift",)):
        return Urgency.DRIFT
    if _said(previous, some) == _said(wanted, some):
        return Urgency.COUNTS
    if _said(previous, all_counts, messages=False) == _said(wanted, all_counts, messages=False):
        return Urgency.PROGRESS
    return Urgency.NOW


def _said(status: Status, without: Sequence[str] = (), *, messages: bool = True) -> dict[str, Any]:
    """Return our part of a status in a comparable form: in order, and quotations without their numbers."""

    def shown(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**item, "message": without_numbers(item.get("message", "")) if messages else ""} for item in items]

    ours = [found for found in status.get("conditions", []) if found.get("type") in _OURS]
    return {
        **{key: value for key, value in status.items() if key not in without},
        "conditions": sorted(shown(ours), key=lambda found: _OURS.index(found["type"])),
        "children": shown(status.get("children", [])),
    }


def worst(children: Sequence[Child]) -> Child | None:
    """Return the child that decides what the status says; None if all are healthy."""
    unhealthy = [child for child in children if child.health.level is not Level.HEALTHY]
    return max(unhealthy, key=lambda child: child.health.level, default=None)


def _ready(children: Sequence[Child]) -> _Finding:
    found = worst(children)
    if found is None:
        return _Finding("True", HEALTHY.reason, "everything runs as the spec says")
    return _Finding("False", found.health.reason, _sentence(found))


def _progressing(webapp: WebApp, children: Sequence[Child]) -> _Finding:
    if webapp.paused:
        return _Finding("False", "Paused", "spec.paused is true: nothing is written but this status")
    stalled = next((child for child in children if child.health.stalled), None)
    if stalled is not None:
        return _Finding("False", stalled.health.reason, _sentence(stalled))
    found = worst(children)
    if found is None:
        return _Finding("False", "Complete", "nothing is left to do")
    return _Finding("True", found.health.reason, _sentence(found))


def _available(deployment: Mapping[str, Any]) -> _Finding:
    if condition(deployment, "Available").get("status") == "True":
        return _Finding("True", "MinimumReplicasAvailable", "enough pods serve")
    return _Finding("False", "MinimumReplicasUnavailable", "too few pods serve")


def _stalled(children: Sequence[Child]) -> _Finding:
    stalled = next((child for child in children if child.health.stalled), None)
    if stalled is None:
        return _Finding("False", "NotStalled", "nothing is in the way")
    return _Finding("True", stalled.health.reason, _sentence(stalled))


def _conflicted(conflicted: Sequence[ConflictStatus], unknown: str) -> _Finding:
    more = f"; {unknown}" if unknown else ""
    if not conflicted:
        return _Finding("False", "NoConflict", "no other manager holds a field of the spec" + more)
    reason = "Halted" if any(entry["policy"] == Policy.HALT for entry in conflicted) else "Yielded"
    return _Finding(
        "True",
        reason,
        _listed([f"{entry['object']} {entry['field']} is held by {entry['manager']}" for entry in conflicted]) + more,
    )


def _contested(held: Sequence[Conflict]) -> _Finding:
    fought = [found for found in held if found.contested]
    if not fought:
        return _Finding("False", "NotContested", "no field is taken again and again")
    sentences = [
        f"{found.object} {found.field} is set by {found.manager} as often as {MANAGED_BY} takes it back"
        if found.field
        else f"{found.object.replace('/', ' ')} is {DELETED_AGAIN}"
        for found in fought
    ]
    return _Finding("True", "WriteWar", _listed(sentences) + _cause({found.manager for found in fought if found.field}))


def _cause(managers: Collection[str]) -> str:
    """Return the cause that leaves no other manager behind; who only removes a field may be anyone."""
    if ANOTHER_COXSWAIN in managers:
        return f"; the probable cause is {_TWO_OPERATORS}"
    return f"; a possible cause is {_TWO_OPERATORS}" if UNKNOWN in managers else ""


def _insecure(webapp: WebApp, insecure: Sequence[Violation]) -> _Finding:
    fields = _listed([f"{each.field} is set by {each.manager}" for each in insecure])
    message = (
        f"the pods of Deployment {webapp.name} fail Pod Security 'restricted': {fields}. {MANAGED_BY} does not write"
        " fields that the WebApp does not set. Remove them from the Deployment, or have these managers remove them"
    )
    return _Finding("True", "NotRestricted", message)


def _listed(sentences: Sequence[str]) -> str:
    more = f" and {len(sentences) - _NAMED} more" if len(sentences) > _NAMED else ""
    return "; ".join(sentences[:_NAMED]) + more


def _sentence(child: Child) -> str:
    return f"{child.kind} {child.name}: {child.health.message}"


def _condition(webapp: WebApp, name: str, finding: _Finding, previous: Status, now: str) -> Condition:
    before = next((found for found in previous.get("conditions", []) if found.get("type") == name), None)
    unchanged = before is not None and before.get("status") == finding.status
    return {
        "type": name,
        "status": finding.status,
        "observedGeneration": webapp.generation,
        "lastTransitionTime": before.get("lastTransitionTime", now) if before is not None and unchanged else now,
        "reason": finding.reason,
        "message": clean(finding.message, MESSAGE_LIMIT),
    }


def _child(child: Child) -> ChildStatus:
    shown: ChildStatus = {"kind": child.kind, "name": child.name, "health": child.health.level.text}
    if child.health.message:
        shown["message"] = child.health.message
    return shown
