"""Status of a WebApp: conditions, children, pod counts and URL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coxswain.kernel.conflicts.managed_fields import UNKNOWN
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.field_paths import Path, owns, text
from coxswain.kernel.objects.manifests import condition
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import without_numbers
from coxswain.kernel.objects.status_fields import Status, condition_of
from coxswain.kernel.status.conditions import (
    CONFLICTED,
    CONTESTED,
    PROGRESSING,
    READY,
    STALLED,
    ConditionState,
    conditions,
    listed,
    standard_conditions,
    standard_fields,
    worst,
)
from coxswain.kernel.status.health import DIFFERS, HEALTHY, Child, Level
from coxswain.kernel.status.urgency import Pace, StatusRules
from coxswain.kernel.workload import Observations
from coxswain.webapp.children.deployment_health import is_complete
from coxswain.webapp.identity import MANAGED_BY, WEBAPP_LABEL
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from coxswain.webapp.pod_security import Violation, required, violations
from coxswain.webapp.releases.revisions import revision_name, revisions_of
from coxswain.webapp.releases.rollback import ROLLED_BACK, rolled_back_conditions, without_target
from coxswain.webapp.restarts import RESTART_SCHEDULED
from coxswain.webapp.spec import Status as WebAppStatus
from coxswain.webapp.spec import WebApp
from coxswain.webapp.urls import urls

AVAILABLE = "Available"
POD_SECURITY_VIOLATED = "PodSecurityViolated"
"""This condition is present only while it is True."""

_ORDER = (READY, PROGRESSING, AVAILABLE, STALLED, CONFLICTED, CONTESTED, POD_SECURITY_VIOLATED, ROLLED_BACK)

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
    if _is_paused_before_rollback(webapp, children, previous):
        webapp = replace(webapp, rollback=None)
    unknown = webapp.policies.unknown()
    states = standard_conditions(
        children,
        observations.conflicts,
        previous,
        Commands.of(webapp, WEBAPP, MANAGED_BY),
        paused=webapp.paused,
        unknown_policies=unknown,
    )
    states[AVAILABLE] = _available(live)
    insecure = [] if deployment is None else violations_of(deployment)
    if insecure:
        states[POD_SECURITY_VIOLATED] = _insecure(webapp, insecure)
    if webapp.rollback is not None:
        states = rolled_back_conditions(webapp, webapp.rollback, states)
    else:
        states[READY] = without_target(webapp, revisions_of(webapp, observations.records), states[READY])
    ordered = {name: states[name] for name in _ORDER if name in states}
    numbers = _numbers(webapp, observations)
    addresses = urls(webapp, observations)
    fields: WebAppStatus = {
        "observedGeneration": webapp.generation,
        "conditions": conditions(ordered, webapp.generation, previous, now),
        "replicas": counts.get("replicas", 0),
        "readyReplicas": counts.get("readyReplicas", 0),
        "updatedReplicas": counts.get("updatedReplicas", 0),
        "selector": f"{WEBAPP_LABEL}={webapp.name}",
        **numbers,
    }
    if addresses:
        fields["url"], fields["urls"] = addresses[0], addresses
    return {**fields, **standard_fields(children, observations.conflicts, observations.repairs, previous)}


def _is_paused_before_rollback(webapp: WebApp, children: Sequence[Child], previous: Status) -> bool:
    """Tell whether the failed revision still runs. A rolled back Deployment may also differ, because of drift."""
    differs = any(each.kind == DEPLOYMENT.kind and each.health.reason == DIFFERS for each in children)
    return webapp.paused and differs and not condition_of(previous, ROLLED_BACK)


def pace(webapp: WebApp, observations: Observations) -> Pace:
    """Return the facts for the urgency of a status."""
    children = [report.child for report in observations.children]
    retried = any(child.health.retried for child in children)
    report = next((each for each in observations.children if each.child.kind == DEPLOYMENT.kind and each.live), None)
    if report is None or report.live is None:
        return Pace(webapp.replicas, retried=retried)
    live, health = report.live.content, report.child.health
    unobserved = live.get("status", {}).get("observedGeneration", 0) if is_complete(live) else 0
    # The failure of another child must not wait for the Deployment controller.
    only_news = worst(children) is report.child
    return Pace(
        live.get("spec", {}).get("replicas", 1),
        unobserved if health.unobserved and only_news else None,
        health.uncounted and not webapp.paused and only_news,
        retried=retried,
    )


def _numbers(webapp: WebApp, observations: Observations) -> WebAppStatus:
    """Return the numbers of the current and the previous revision, as far as they are recorded."""
    found, name = revisions_of(webapp, observations.records), revision_name(webapp)
    current = next((each for each in found if each.name == name), None)
    if current is None:
        return {}
    previous = next((each.number for each in found if each.number < current.number), None)
    numbers: WebAppStatus = {"revision": current.number}
    if previous is not None:
        numbers["previousRevision"] = previous
    if webapp.rollback is not None:
        numbers["runningRevision"] = webapp.rollback.running
    return numbers


def violations_of(deployment: Projection) -> list[Violation]:
    """Return the violations of `restricted` in a Deployment's pod template, with the managers of the fields."""
    template = deployment.content.get("spec", {}).get("template", {})
    return [Violation(text(place), _manager(place, deployment), required(place)) for place in violations(template)]


def security_events(previous: Status, present: Status) -> list[EventRecord]:
    """Return an Event if the Pod Security violations are new or have changed."""
    before, now = (condition_of(each, POD_SECURITY_VIOLATED) for each in (previous, present))
    if not now or now["message"] == before.get("message"):
        return []
    return [EventRecord(POD_SECURITY_VIOLATED, "Check", now["message"], "Warning")]


def warning_events(observations: Observations, previous: Status) -> list[EventRecord]:
    """Return an Event for each healthy child with a new message: Ready does not report it."""
    reported = {(each["kind"], each["name"]): each.get("message", "") for each in previous.get("children", [])}
    return [
        EventRecord(
            child.health.reason,
            "Check",
            f"{child.kind} {child.name}: {child.health.message}",
            "Normal" if child.health.reason == RESTART_SCHEDULED else "Warning",
        )
        for child in (report.child for report in observations.children)
        if child.health.level is Level.HEALTHY
        and child.health.reason != HEALTHY.reason
        and without_numbers(reported.get((child.kind, child.name), "")) != without_numbers(child.health.message)
    ]


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
    name, fields = webapp.name, listed([each.text for each in insecure])
    step = "Remove them" if all(each.required is None for each in insecure) else "Correct them"
    message = (
        f"the pods of Deployment {name} violate Pod Security 'restricted': {fields}. The operator does not change these"
        f" fields. {step}: kubectl edit deployment {name} -n {webapp.namespace}"
    )
    return ConditionState("True", "NotRestricted", message)
