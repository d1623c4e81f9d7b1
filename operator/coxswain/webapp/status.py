"""Status of a WebApp: conditions, children, pod counts and URL."""

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
"""This condition is present only while it is True."""

_ORDER = (READY, PROGRESSING, AVAILABLE, STALLED, CONFLICTED, CONTESTED, POD_SECURITY_VIOLATED)

RULES = StatusRules(
    _ORDER,
    counts=("replicas", "readyReplicas", "updatedReplicas"),
    progress="readyReplicas",
    early=("replicas", "readyReplicas"),
)


def status(webapp: WebApp, observations: Observations, previous: Status, now: str) -> WebAppStatus:
    """Return the status of a WebApp.

    Args:
        webapp: the reconciled WebApp.
        observations: the state of its children.
        previous: its current status.
        now: the present time, as RFC 3339 with seconds.
    """
    deployment = observations.live(DEPLOYMENT)
    live: Mapping[str, Any] = {} if deployment is None else deployment.content
    children, counts = [report.child for report in observations.children], live.get("status", {})
    unknown = webapp.policies.unknown()
    findings = standard_findings(
        children, observations.conflicts, previous, paused=webapp.paused, unknown_policies=unknown
    )
    findings[AVAILABLE] = _available(live)
    insecure = [] if deployment is None else violations_of(deployment)
    if insecure:
        findings[POD_SECURITY_VIOLATED] = _insecure(webapp, insecure)
    ordered = {name: findings[name] for name in _ORDER if name in findings}
    address = url(webapp)
    fields: WebAppStatus = {
        "observedGeneration": webapp.generation,
        "conditions": conditions(ordered, webapp.generation, previous, now),
        "replicas": counts.get("replicas", 0),
        "readyReplicas": counts.get("readyReplicas", 0),
        "updatedReplicas": counts.get("updatedReplicas", 0),
        "selector": f"{WEBAPP_LABEL}={webapp.name}",
    }
    if address:
        fields["url"] = address
    return {**fields, **standard_fields(children, observations.conflicts, observations.repairs, previous)}


def pace(webapp: WebApp, observations: Observations) -> Pace:
    """Return the facts for the urgency of a status."""
    children = [report.child for report in observations.children]
    retried = any(child.health.retried for child in children)
    report = next((each for each in observations.children if each.child.kind == DEPLOYMENT.kind and each.live), None)
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
    """Return the violations of `restricted` in a Deployment's pod template, with the managers of the fields."""
    template = deployment.content.get("spec", {}).get("template", {})
    return [Violation(text(place), _manager(place, deployment)) for place in violations(template)]


def security_events(previous: Status, present: Status) -> list[EventRecord]:
    """Return an Event if the Pod Security violations are new or have changed."""
    before, now = (_condition(each, POD_SECURITY_VIOLATED) for each in (previous, present))
    if not now or now["message"] == before.get("message"):
        return []
    return [EventRecord(POD_SECURITY_VIOLATED, "Check", now["message"], "Warning")]


def _manager(place: Path, deployment: Projection) -> str:
    """Return the manager of a field. For a missing field return the manager of its container."""
    for end in range(len(place), 3, -1):
        for entry in deployment.others:
            if owns(entry.fields, place[:end]):
                return entry.manager
    return UNKNOWN


def _available(deployment: Mapping[str, Any]) -> ConditionState:
    if condition(deployment, "Available").get("status") == "True":
        return ConditionState("True", "MinimumReplicasAvailable", "the Deployment has minimum availability")
    return ConditionState(
        "False", "MinimumReplicasUnavailable", "too few pods are available. The condition Ready has the cause"
    )


def _insecure(webapp: WebApp, insecure: list[Violation]) -> ConditionState:
    name, fields = webapp.name, listed([f"{each.field} is set by {each.manager}" for each in insecure])
    message = (
        f"the pods of Deployment {name} violate Pod Security 'restricted': {fields}. {MANAGED_BY} does not change these"
        f" fields. Remove them: kubectl edit deployment {name} -n {webapp.namespace}"
    )
    return ConditionState("True", "NotRestricted", message)


def _condition(status: Status, name: str) -> Mapping[str, Any]:
    return next((each for each in status.get("conditions", []) if each["type"] == name), {})
