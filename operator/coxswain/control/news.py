"""What of a reconcile a person should hear of, as Events: the first children, drift put right, and what went wrong."""

from collections.abc import Sequence

from coxswain.control.child import Correction, Result
from coxswain.kube.events import Occurrence
from coxswain.webapp.conditions import READY, worst
from coxswain.webapp.health import Level
from coxswain.webapp.spec import Status, WebApp

_NAMED_CORRECTIONS = 3


def news(webapp: WebApp, results: Sequence[Result], previous: Status) -> Occurrence | None:
    """Return what is worth an Event, at most one for each reconcile; trouble first; nothing of a paused WebApp."""
    if webapp.paused:
        return None
    return _trouble(results, previous) or _created(results, previous) or _drift(webapp, results, previous)


def _trouble(results: Sequence[Result], previous: Status) -> Occurrence | None:
    told = {(child["kind"], child["name"], child["health"]) for child in previous.get("children", [])}
    reason = next((found["reason"] for found in previous.get("conditions", []) if found["type"] == READY), None)
    decides = worst([result.child for result in results])
    for result in results:
        child = result.child
        new = (child.kind, child.name, child.health.level.text) not in told
        another = child is decides and child.health.reason != reason
        if (new or another) and child.health.level >= Level.DEGRADED and child.health.reason != "Differs":
            return Occurrence(
                child.health.reason, "Apply", f"{child.kind} {child.name}: {child.health.message}", "Warning"
            )
    return None


def _created(results: Sequence[Result], previous: Status) -> Occurrence | None:
    created = [result.child.kind for result in results if result.created]
    if not created or "observedGeneration" in previous:
        return None
    return Occurrence("Created", "Create", f"created {', '.join(created)}")


def _drift(webapp: WebApp, results: Sequence[Result], previous: Status) -> Occurrence | None:
    if previous.get("observedGeneration") != webapp.generation:
        return None
    told = {Level.HEALTHY.text, Level.PROGRESSING.text, Level.TERMINATING.text}
    were_there = {(child["kind"], child["name"]) for child in previous.get("children", []) if child["health"] in told}
    sentences = []
    for result in results:
        child = result.child
        if result.created and (child.kind, child.name) in were_there:
            sentences.append(f"{child.kind} {child.name} was deleted and is made anew")
        foreign = [found for found in result.corrections if _is_foreign(found)]
        if foreign:
            more = f" and {len(foreign) - _NAMED_CORRECTIONS} more" if len(foreign) > _NAMED_CORRECTIONS else ""
            fields = ", ".join(_told(found) for found in foreign[:_NAMED_CORRECTIONS])
            sentences.append(
                f"{child.kind} {child.name} was put back: {fields}{more}{_advice(webapp, child.kind, foreign)}"
            )
    return Occurrence("DriftCorrected", "Apply", "; ".join(sentences)) if sentences else None


def _is_foreign(correction: Correction) -> bool:
    """Tell a change by someone else from a desired value that is new: a field of ours that changes is still ours."""
    difference = correction.difference
    return difference.wanted is not None and (correction.manager is not None or difference.found is None)


def _told(correction: Correction) -> str:
    difference = correction.difference
    who = f" by {correction.manager}" if correction.manager else ""
    if isinstance(difference.wanted, (dict, list)):
        return f"{difference.text} (changed{who})"
    if difference.found is None:
        return f"{difference.text} (removed{who})"
    return f"{difference.text} {difference.found} to {difference.wanted} (changed{who})"


def _advice(webapp: WebApp, kind: str, corrections: Sequence[Correction]) -> str:
    scaled = kind == "Deployment" and any(found.difference.text == "spec.replicas" for found in corrections)
    if not scaled:
        return ""
    return f"; to scale it: kubectl scale webapp {webapp.name} --namespace {webapp.namespace} --replicas=N"
