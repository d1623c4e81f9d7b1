"""The Events of a reconcile that every workload has, with their reasons."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.reconciling.result import Correction, Result
from coxswain.kernel.status.conditions import CONTESTED, READY, worst
from coxswain.kernel.status.conflict_report import shown
from coxswain.kernel.status.health import Level, replaced
from coxswain.kernel.workload import P, Workload

_NAMED_CORRECTIONS = 3

_TOLD_OTHERWISE = ("Differs", "Halted", "Contested")
"""Reasons of a child's health that are no trouble, or have an Event of their own."""


def event_records(
    parent: P,
    workload: Workload[P],
    results: Sequence[Result],
    previous: Status,
    present: Status,
    *,
    undeclared: Sequence[str] = (),
) -> list[EventRecord]:
    """Return the Events of a reconcile: failures or else the first children, corrected drift, and other writers.

    A paused parent has none.
    """
    if parent.paused:
        return []
    found = [
        _trouble(results, previous) or _created(results, previous),
        _adopted(results),
        _replaced(results),
        _drift(parent, workload, results, previous),
        _conflicts(previous, present),
        _contested(previous, present),
        _undeclared(undeclared),
    ]
    return [occurrence for occurrence in found if occurrence is not None]


def _trouble(results: Sequence[Result], previous: Status) -> EventRecord | None:
    told = {(child["kind"], child["name"], child["health"]) for child in previous.get("children", [])}
    reason = next((found["reason"] for found in previous.get("conditions", []) if found["type"] == READY), None)
    decides = worst([result.child for result in results])
    for result in results:
        child = result.child
        new = (child.kind, child.name, child.health.level.text) not in told
        another = child is decides and child.health.reason != reason
        if (new or another) and child.health.level >= Level.DEGRADED and child.health.reason not in _TOLD_OTHERWISE:
            return EventRecord(
                child.health.reason, "Apply", f"{child.kind} {child.name}: {child.health.message}", "Warning"
            )
    return None


def _created(results: Sequence[Result], previous: Status) -> EventRecord | None:
    created = [result.child.kind for result in results if result.created]
    if not created or previous.get("observedGeneration"):
        return None
    return EventRecord("Created", "Create", f"created {', '.join(created)}")


def _adopted(results: Sequence[Result]) -> EventRecord | None:
    adopted = [f"{result.child.kind} {result.child.name}" for result in results if result.adopted]
    return EventRecord("Adopted", "Adopt", f"adopted {', '.join(adopted)}") if adopted else None


def _replaced(results: Sequence[Result]) -> EventRecord | None:
    sentences = [
        f"{result.child.kind} {result.child.name} {replaced(result.deleted_for).message}"
        for result in results
        if result.deleted_for is not None
    ]
    return EventRecord("Replaced", "Replace", "; ".join(sentences)) if sentences else None


def _drift(parent: P, workload: Workload[P], results: Sequence[Result], previous: Status) -> EventRecord | None:
    if previous.get("observedGeneration") != parent.generation:
        return None
    told = {Level.HEALTHY.text, Level.PROGRESSING.text, Level.TERMINATING.text}
    were_there = {(child["kind"], child["name"]) for child in previous.get("children", []) if child["health"] in told}
    sentences = []
    advices = {child_type.kind.kind: child_type.advice for child_type in workload.children}
    for result in results:
        child = result.child
        if result.created and not result.replaced and (child.kind, child.name) in were_there:
            sentences.append(f"{child.kind} {child.name} was deleted and is made anew")
        foreign = [found for found in result.corrections if found.is_foreign]
        if foreign:
            more = f" and {len(foreign) - _NAMED_CORRECTIONS} more" if len(foreign) > _NAMED_CORRECTIONS else ""
            fields = ", ".join(_told(found) for found in foreign[:_NAMED_CORRECTIONS])
            advice = advices[child.kind](parent, [found.difference.text for found in foreign])
            sentences.append(f"{child.kind} {child.name} was put back: {fields}{more}{advice}")
    return EventRecord("DriftCorrected", "Apply", "; ".join(sentences)) if sentences else None


def _conflicts(previous: Status, present: Status) -> EventRecord | None:
    told = previous.get("conflicts", [])
    new = [entry for entry in present.get("conflicts", []) if entry not in told]
    if not new:
        return None
    halted = any(entry["policy"] == Policy.HALT for entry in new)
    fields = ", ".join(f"{entry['object']} {entry['field']} ({entry['manager']})" for entry in new[:_NAMED_CORRECTIONS])
    more = f" and {len(new) - _NAMED_CORRECTIONS} more" if len(new) > _NAMED_CORRECTIONS else ""
    what = "nothing is written to it until that is resolved" if halted else "left to that manager"
    return EventRecord("FieldConflict", "Apply", f"held by another manager: {fields}{more}: {what}", _type(halted))


def _contested(previous: Status, present: Status) -> EventRecord | None:
    before, now = (_condition(found, CONTESTED) for found in (previous, present))
    if now.get("status") != "True" or now.get("message") == before.get("message"):
        return None
    return EventRecord("Contested", "Apply", f"left alone for a while: {now['message']}", "Warning")


def _undeclared(fields: Sequence[str]) -> EventRecord | None:
    if not fields:
        return None
    note = f"the CRD has no {', '.join(fields)} in its status: it is older than the operator; apply the CRD"
    return EventRecord("StatusPruned", "WriteStatus", note, "Warning")


def _type(warning: bool) -> Literal["Normal", "Warning"]:
    return "Warning" if warning else "Normal"


def _condition(found: Status, name: str) -> Mapping[str, Any]:
    return next((condition for condition in found.get("conditions", []) if condition["type"] == name), {})


def _told(correction: Correction) -> str:
    difference = correction.difference
    who = f" by {correction.changed_by}" if correction.changed_by else ""
    if isinstance(difference.wanted, (dict, list)):
        return f"{difference.text} (changed{who})"
    if difference.found is None:
        return f"{difference.text} (removed{who})"
    found, wanted = (shown(difference.text, value) for value in (difference.found, difference.wanted))
    return f"{difference.text} {found} to {wanted} (changed{who})"
