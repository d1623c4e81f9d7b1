"""Events of a reconcile for every workload, with their reasons."""

from collections.abc import Sequence
from typing import Literal

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.commands import APPLY_CRDS, Commands
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.quote import enumerated
from coxswain.kernel.objects.status_fields import Status, condition_of
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.reconciling.memory.writes import Correction
from coxswain.kernel.status.conditions import CONTESTED, READY, worst
from coxswain.kernel.status.conflict_report import shown
from coxswain.kernel.status.health import HALTED_ADVICE, YIELDED_ADVICE, Level, replaced
from coxswain.kernel.workload import P, Workload

_NAMED_CORRECTIONS = 3

_WITHOUT_FAILURE_EVENT = ("Differs", "Halted", "Contested")
"""Reasons of a child's health that are no failure or have their own Event."""

_DRIFT_ADVICE = ". To keep such a change, make it in the spec, or choose Yield in spec.conflicts"


def event_records(
    parent: P,
    workload: Workload[P],
    results: Sequence[Result],
    previous: Status,
    present: Status,
    *,
    undeclared: Sequence[str] = (),
) -> list[EventRecord]:
    """Return the Events of a reconcile: failures, created children, corrected drift and conflicts.

    A paused parent gets no Events.
    """
    if parent.paused:
        return []
    records = [
        *_failures(results, previous, present),
        *records_of_writes(parent, workload, results, previous),
        _conflicts(previous, present, _commands(parent, workload)),
        _contested(previous, present),
        _undeclared(undeclared),
    ]
    return [record for record in records if record is not None]


def records_of_writes(
    parent: P, workload: Workload[P], results: Sequence[Result], previous: Status
) -> list[EventRecord]:
    """Return the Events of the successful writes: they do not depend on the other children."""
    records = [
        _created(results, previous),
        _adopted(results),
        _replaced(results),
        _drift(parent, workload, results, previous),
    ]
    return [record for record in records if record is not None]


def _failures(results: Sequence[Result], previous: Status, present: Status) -> list[EventRecord]:
    """Return one Event for each newly failing child. A child beyond the end of `children` counts if it decides Ready.

    No status ever lists such a child, so it would seem to fail newly in each reconcile.
    """
    listed = {(child["kind"], child["name"]) for child in present.get("children", [])}
    reported = {(child["kind"], child["name"], child["health"]) for child in previous.get("children", [])}
    reason = condition_of(previous, READY).get("reason")
    decides = worst([result.child for result in results])
    return [
        EventRecord(child.health.reason, "Apply", f"{child.kind} {child.name}: {child.health.message}", "Warning")
        for child in (result.child for result in results)
        if child.health.level >= Level.DEGRADED and child.health.reason not in _WITHOUT_FAILURE_EVENT
        if ((child.kind, child.name) in listed and (child.kind, child.name, child.health.level.text) not in reported)
        or (child is decides and child.health.reason != reason)
    ]


def _created(results: Sequence[Result], previous: Status) -> EventRecord | None:
    created = [result.child.kind for result in results if result.writes.created]
    if not created or previous.get("observedGeneration"):
        return None
    return EventRecord("Created", "Create", f"created {', '.join(created)}")


def _adopted(results: Sequence[Result]) -> EventRecord | None:
    adopted = [f"{result.child.kind} {result.child.name}" for result in results if result.writes.adopted]
    return EventRecord("Adopted", "Adopt", f"adopted {', '.join(adopted)}") if adopted else None


def _replaced(results: Sequence[Result]) -> EventRecord | None:
    sentences = [
        f"{result.child.kind} {result.child.name} {replaced(result.writes.deleted_for).message}"
        for result in results
        if result.writes.deleted_for is not None
    ]
    return EventRecord("Replaced", "Replace", "; ".join(sentences)) if sentences else None


def _drift(parent: P, workload: Workload[P], results: Sequence[Result], previous: Status) -> EventRecord | None:
    if previous.get("observedGeneration") != parent.generation:
        return None
    existing = {Level.HEALTHY.text, Level.PROGRESSING.text, Level.TERMINATING.text}
    before = {(child["kind"], child["name"]) for child in previous.get("children", []) if child["health"] in existing}
    sentences, advice = [], ""
    advices = {child_type.kind.kind: child_type.advice for child_type in workload.children}
    for result in results:
        child = result.child
        if result.writes.created and not result.writes.replaced and (child.kind, child.name) in before:
            sentences.append(f"recreated {child.kind} {child.name} after its deletion")
        drift = [each for each in result.writes.corrections if each.is_drift]
        if drift:
            fields = enumerated([_described(each) for each in drift], _NAMED_CORRECTIONS)
            managers = {each.changed_by for each in drift if each.changed_by}
            special = advices[child.kind](parent, [each.difference.text for each in drift], managers)
            advice = special or advice or f"{_DRIFT_ADVICE}: {_commands(parent, workload).edit}"
            sentences.append(f"reverted {child.kind} {child.name}: {fields}")
    return EventRecord("DriftCorrected", "Apply", "; ".join(sentences) + advice) if sentences else None


def _conflicts(previous: Status, present: Status, commands: Commands) -> EventRecord | None:
    reported = previous.get("conflicts", [])
    new = [entry for entry in present.get("conflicts", []) if entry not in reported]
    if not new:
        return None
    halted = any(entry["policy"] == Policy.HALT for entry in new)
    owned = [f"{entry['object']} {entry['field']} ({entry['manager']})" for entry in new]
    advice = HALTED_ADVICE if halted else YIELDED_ADVICE
    note = f"owned by another field manager: {enumerated(owned, _NAMED_CORRECTIONS)}. {advice}: {commands.edit}"
    return EventRecord("FieldConflict", "Apply", note, _type(halted))


def _contested(previous: Status, present: Status) -> EventRecord | None:
    before, now = (condition_of(status, CONTESTED) for status in (previous, present))
    if now.get("status") != "True" or now.get("message") == before.get("message"):
        return None
    return EventRecord("Contested", "Apply", now["message"], "Warning")


def _undeclared(fields: Sequence[str]) -> EventRecord | None:
    if not fields:
        return None
    problem = f"the CRD lacks the status fields {', '.join(fields)}: it is older than the operator"
    note = f"{problem}. The operator omits them. Apply the CRD of the operator's version, {APPLY_CRDS}"
    return EventRecord("StatusPruned", "WriteStatus", note, "Warning")


def _commands(parent: P, workload: Workload[P]) -> Commands:
    return Commands.of(parent, workload.projector.kinds.parent, workload.projector.manager)


def _type(warning: bool) -> Literal["Normal", "Warning"]:
    return "Warning" if warning else "Normal"


def _described(correction: Correction) -> str:
    difference = correction.difference
    manager = f" by {correction.changed_by}" if correction.changed_by else ""
    if isinstance(difference.wanted, (dict, list)):
        return f"{difference.text} (changed{manager})"
    if difference.found is None:
        return f"{difference.text} (removed{manager})"
    live, wanted = (shown(difference.text, value) for value in (difference.found, difference.wanted))
    return f"{difference.text} {live} to {wanted} (changed{manager})"
