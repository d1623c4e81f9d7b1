"""What of a reconcile a person should hear of, as Events: the first children, drift put right, and what went wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from coxswain.kernel.api.events import EventRecord
from coxswain.kernel.reconciling.result import Correction, Result
from coxswain.kernel.reconciling.scaling import notes
from coxswain.webapp.co_writers import shown
from coxswain.webapp.conditions import CONTESTED, POD_SECURITY_VIOLATED, READY, worst
from coxswain.webapp.health import Level
from coxswain.webapp.policy import Policy
from coxswain.webapp.scaling import AUTOSCALED, kept_of
from coxswain.webapp.spec import Status, WebApp

_NAMED_CORRECTIONS = 3

_TOLD_OTHERWISE = ("Differs", "Halted", "Contested")
"""Reasons of a child's health that are no trouble, or have an Event of their own."""


def news(
    webapp: WebApp, results: Sequence[Result], previous: Status, present: Status, undeclared: Sequence[str] = ()
) -> list[EventRecord]:
    """Return what is worth an Event: trouble or else the first children, what was put back, and who else writes.

    Of a paused WebApp nothing is.
    """
    if webapp.paused:
        return []
    found = [
        _trouble(results, previous) or _created(results, previous),
        _scaling(webapp, results),
        _adopted(results),
        _replaced(results),
        _drift(webapp, results, previous),
        _conflicts(previous, present),
        _contested(previous, present),
        _insecure(previous, present),
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
    replaced = [result.child for result in results if result.replaced and not result.created]
    sentences = [f"{child.kind} {child.name} {child.health.message}" for child in replaced]
    return EventRecord("Replaced", "Replace", "; ".join(sentences)) if sentences else None


def _drift(webapp: WebApp, results: Sequence[Result], previous: Status) -> EventRecord | None:
    if previous.get("observedGeneration") != webapp.generation:
        return None
    told = {Level.HEALTHY.text, Level.PROGRESSING.text, Level.TERMINATING.text}
    were_there = {(child["kind"], child["name"]) for child in previous.get("children", []) if child["health"] in told}
    sentences = []
    for result in results:
        child = result.child
        if result.created and not result.replaced and (child.kind, child.name) in were_there:
            sentences.append(f"{child.kind} {child.name} was deleted and is made anew")
        foreign = [found for found in result.corrections if found.is_foreign]
        if foreign:
            more = f" and {len(foreign) - _NAMED_CORRECTIONS} more" if len(foreign) > _NAMED_CORRECTIONS else ""
            fields = ", ".join(_told(found) for found in foreign[:_NAMED_CORRECTIONS])
            sentences.append(
                f"{child.kind} {child.name} was put back: {fields}{more}{_advice(webapp, child.kind, foreign)}"
            )
    return EventRecord("DriftCorrected", "Apply", "; ".join(sentences)) if sentences else None


def _scaling(webapp: WebApp, results: Sequence[Result]) -> EventRecord | None:
    """Tell that the Deployment's replicas went over to an autoscaler, or came back from it."""
    told = [notes(correction.difference) for result in results for correction in result.corrections]
    wanted, found = next((each for each in told if each is not None), (None, None))
    gone = f"no HorizontalPodAutoscaler targets Deployment {webapp.name} any more"
    kept = kept_of(wanted)
    if wanted == AUTOSCALED:
        note = f"a HorizontalPodAutoscaler targets Deployment {webapp.name}: its replicas are left to that"
        return EventRecord("Autoscaled", "Scale", note)
    if kept is not None:
        note = f"{gone}: it keeps {kept.replicas} replicas until spec.replicas, {kept.spec}, is changed"
        return EventRecord("ReplicasKept", "Scale", note + _way_to_scale(webapp))
    if found == AUTOSCALED:
        return EventRecord("ReplicasKept", "Scale", f"{gone}: it has as many replicas as the spec says")
    return None


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


def _insecure(previous: Status, present: Status) -> EventRecord | None:
    before, now = (_condition(found, POD_SECURITY_VIOLATED) for found in (previous, present))
    if not now or now["message"] == before.get("message"):
        return None
    return EventRecord(POD_SECURITY_VIOLATED, "Check", now["message"], "Warning")


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


def _advice(webapp: WebApp, kind: str, corrections: Sequence[Correction]) -> str:
    scaled = kind == "Deployment" and any(found.difference.text == "spec.replicas" for found in corrections)
    if not scaled:
        return ""
    return _way_to_scale(webapp)


def _way_to_scale(webapp: WebApp) -> str:
    return f"; to scale it: kubectl scale webapp {webapp.name} --namespace {webapp.namespace} --replicas=N"
