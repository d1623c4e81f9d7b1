"""The causes of a Deployment's health: restarts, drains, a pause, refused pods, unready pods and their Events."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Health, Level
from coxswain.kernel.workload import Explanation, World
from coxswain.webapp import restarts
from coxswain.webapp.children.deployment_health import is_rollout_paused, refusal
from coxswain.webapp.children.disruption_budget import blocked_by_another
from coxswain.webapp.diagnosis.cause import Rank
from coxswain.webapp.diagnosis.commands import describe_pods, pods_of
from coxswain.webapp.diagnosis.pod_creation import not_created
from coxswain.webapp.diagnosis.pod_events import refined
from coxswain.webapp.diagnosis.pods import Diagnosis, awaited_end, diagnosis, explained, newest_of
from coxswain.webapp.kinds import POD
from coxswain.webapp.related import pods_by_name, replica_sets_of
from coxswain.webapp.spec import WebApp


def explain(webapp: WebApp, live: Projection, health: Health, world: World, now: datetime) -> Explanation:
    """Return the health of a Deployment with its cause."""
    if health.level is Level.HEALTHY:
        return _restarts_and_drains(webapp, health, world)
    if is_rollout_paused(live.content):
        return Explanation(_rollout_paused(live))
    return _pods(webapp, live, health, world, now)


def _restarts_and_drains(webapp: WebApp, health: Health, world: World) -> Explanation:
    """Explain what keeps a complete Deployment from its restarts, or from the drain of a node."""
    found = restarts.explained(webapp, health, world)
    blocked = None if found.health.message else blocked_by_another(webapp, world)
    return found if blocked is None else replace(found, health=blocked)


def _rollout_paused(live: Projection) -> Health:
    resume = f"kubectl rollout resume deployment {live.name} -n {live.namespace}"
    problem = "somebody paused the Deployment, so its new pods do not start. The operator does not resume it"
    message = f"{problem}. Resume it: {resume}"
    return Health(Level.DEGRADED, "RolloutPaused", message, stalled=True)


def _pods(webapp: WebApp, live: Projection, health: Health, world: World, now: datetime) -> Explanation:
    """Explain why pods are missing, and why others are not ready."""
    replica_sets, pods = replica_sets_of(live, world), pods_by_name(world)
    found = diagnosis(webapp, live.content, replica_sets, [pod.content for pod in pods.values()], now)
    refused = _refused(webapp, live, health, replica_sets)
    if found.cause is None and refused is None:
        terminating = [pod.content for pod in world.related(POD) if pod.terminating]
        old = awaited_end(webapp, live.content, terminating, now)
        found = replace(old, until=min((each for each in (old.until, found.until) if each), default=None))
    if refused is not None:
        health = refused
    elif found.cause is None and health.stalled:
        health = replace(health, message=f"{health.message} See: {describe_pods(pods_of(webapp))}")
    found, subject = _by_events(webapp, live, found, pods, world)
    return Explanation(explained(health, live.content, found), found.until, subject)


def _refused(
    webapp: WebApp, live: Projection, health: Health, replica_sets: Sequence[Mapping[str, Any]]
) -> Health | None:
    """Return the health with the reason why pods cannot be created; None if they can."""
    refused = refusal(live.content)
    if refused is None:
        return None
    newest = refusal(newest_of(live.content, replica_sets)) or refused
    text = not_created(webapp, newest["message"])
    return replace(health, message=f"{health.message.removesuffix('.')}; {text}" if health.stalled else text)


def _by_events(
    webapp: WebApp, live: Projection, found: Diagnosis, pods: Mapping[str, Projection], world: World
) -> tuple[Diagnosis, Projection | None]:
    """Return the diagnosis refined by Events about one of the pods, and that pod."""
    if found.cause is None or found.cause.rank is not Rank.NOT_PREPARED:
        return found, None
    stuck = [pods[name] for name in found.pods]
    subject = next((pod for pod in stuck if world.warnings_about(pod)), stuck[0])
    template = live.content.get("spec", {}).get("template", {}).get("spec", {})
    cause = refined(found.cause, world.warnings_about(subject), webapp, template)
    return replace(found, cause=cause), subject
