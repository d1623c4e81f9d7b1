"""The status of a WebApp: the conditions of its children, its pods, and its address."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.conflicts.managed_fields import UNKNOWN
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.field_paths import Path, owns, text
from coxswain.kernel.objects.manifests import condition
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.conditions import (
    CONFLICTED,
    CONTESTED,
    PROGRESSING,
    READY,
    STALLED,
    ConditionState,
    conditions,
    listed,
    standard_fields,
    standard_findings,
    worst,
)
from coxswain.kernel.status.urgency import Pace, StatusRules
from coxswain.kernel.workload import Observations
from coxswain.webapp.children.deployment_health import is_complete
from coxswain.webapp.children.service import url
from coxswain.webapp.identity import MANAGED_BY, WEBAPP_LABEL
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.pod_security import Violation, violations
from coxswain.webapp.spec import Status as WebAppStatus
from coxswain.webapp.spec import WebApp

AVAILABLE = "Available"
POD_SECURITY_VIOLATED = "PodSecurityViolated"
"""A condition that exists only while it is True, so that nearly all WebApps do without it."""

_ORDER = (READY, PROGRESSING, AVAILABLE, STALLED, CONFLICTED, CONTESTED, POD_SECURITY_VIOLATED)

RULES = StatusRules(
    _ORDER,
    counts=("replicas", "readyReplicas", "updatedReplicas"),
    progress="readyReplicas",
    early=("replicas", "readyReplicas"),
)


def status(webapp: WebApp, found: Observations, previous: Status, now: str) -> WebAppStatus:
    """Return the status of a WebApp.

    Args:
        webapp: the WebApp that was reconciled.
        found: the state of its children.
        previous: the status that the WebApp has.
        now: the time of day, in the form of RFC 3339 with seconds.
    """
    deployment = found.live(DEPLOYMENT)
    live: Mapping[str, Any] = {} if deployment is None else deployment.content
    children, counts = [report.child for report in found.children], live.get("status", {})
    unknown = webapp.policies.unknown()
    findings = standard_findings(children, found.conflicts, previous, paused=webapp.paused, unknown_policies=unknown)
    findings[AVAILABLE] = _available(live)
    insecure = [] if deployment is None else violations_of(deployment)
    if insecure:
        findings[POD_SECURITY_VIOLATED] = _insecure(webapp, insecure)
    ordered = {name: findings[name] for name in _ORDER if name in findings}
    address = url(webapp)
    made: WebAppStatus = {
        "observedGeneration": webapp.generation,
        "conditions": conditions(ordered, webapp.generation, previous, now),
        "replicas": counts.get("replicas", 0),
        "readyReplicas": counts.get("readyReplicas", 0),
        "updatedReplicas": counts.get("updatedReplicas", 0),
        "selector": f"{WEBAPP_LABEL}={webapp.name}",
    }
    if address:
        made["url"] = address
    return {**made, **standard_fields(children, found.conflicts, found.repairs, previous)}


def pace(webapp: WebApp, found: Observations) -> Pace:
    """Return what the urgency of a status depends on."""
    children = [report.child for report in found.children]
    retried = any(child.health.retried for child in children)
    report = next((each for each in found.children if each.child.kind == DEPLOYMENT.kind and each.live), None)
    if report is None or report.live is None:
        return Pace(webapp.replicas, retried=retried)
    live, health = report.live.content, report.child.health
    unobserved = live.get("status", {}).get("observedGeneration", 0) if is_complete(live) else 0
    return Pace(
        live.get("spec", {}).get("replicas", 1),
        unobserved if health.unobserved else None,
        health.uncounted and not webapp.paused and worst(children) is report.child,
        retried=retried,
    )


def violations_of(deployment: Projection) -> list[Violation]:
    """Return the fields of a Deployment's pod template that fail `restricted`, with the managers that set them."""
    template = deployment.content.get("spec", {}).get("template", {})
    return [Violation(text(place), _manager(place, deployment)) for place in violations(template)]


def security_events(previous: Status, present: Status) -> list[EventRecord]:
    """Report new violations of Pod Security."""
    before, now = (_condition(each, POD_SECURITY_VIOLATED) for each in (previous, present))
    if not now or now["message"] == before.get("message"):
        return []
    return [EventRecord(POD_SECURITY_VIOLATED, "Check", now["message"], "Warning")]


def _manager(place: Path, deployment: Projection) -> str:
    """Return the manager of a place; for a missing field the manager of the container that lacks it."""
    for end in range(len(place), 3, -1):
        for entry in deployment.others:
            if owns(entry.fields, place[:end]):
                return entry.manager
    return UNKNOWN


def _available(deployment: Mapping[str, Any]) -> ConditionState:
    if condition(deployment, "Available").get("status") == "True":
        return ConditionState("True", "MinimumReplicasAvailable", "enough pods serve")
    return ConditionState("False", "MinimumReplicasUnavailable", "too few pods serve")


def _insecure(webapp: WebApp, insecure: list[Violation]) -> ConditionState:
    fields = listed([f"{each.field} is set by {each.manager}" for each in insecure])
    message = (
        f"the pods of Deployment {webapp.name} fail Pod Security 'restricted': {fields}. {MANAGED_BY} does not write"
        " fields that the WebApp does not set. Remove them from the Deployment, or have these managers remove them"
    )
    return ConditionState("True", "NotRestricted", message)


def _condition(found: Status, name: str) -> Mapping[str, Any]:
    return next((each for each in found.get("conditions", []) if each["type"] == name), {})
