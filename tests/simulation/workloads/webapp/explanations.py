"""Accepted reasons for gaps specific to WebApps."""

from model_cluster.objects import Object, controller, is_rolled_out, place
from simulation.explanations import Explanations
from simulation.judge import Gap, condition, is_child, policy_of
from simulation.workloads.webapp.judge import lacks_config
from simulation.workloads.webapp.judge_of_restarts import RESTART
from simulation.workloads.webapp.judge_of_revisions import running
from simulation.workloads.webapp.judge_of_routes import ROUTED
from simulation.workloads.webapp.judge_of_services import HEADLESS, SERVICES, may_be_replaced

_PART_OF = {
    "image": "image",
    "replicas": "replicas",
    "port": "ports",
    "config": "config",
    "types": "network",
    "limit": "disruption",
    "range": "autoscaling",
    "route": "routes",
    "ingress": "ingress",
    "backend": "ports",
    "type": "service",
    "alias": "service",
    "traffic": "service",
    "containers": "sidecars",
    "volumes": "volumes",
    "restart": "restartOn",
}
"""The part of the spec by the first word of a field."""
_NOT_NEEDED = ("services", "poddisruptionbudgets", "horizontalpodautoscalers", *ROUTED)
"""Children that no Deployment waits for."""
_NEEDS = {**dict.fromkeys(ROUTED, "services"), "horizontalpodautoscalers": "deployments"}
"""Children that wait for another one before they are written, besides the Deployment."""


def spec_part(webapp: Object, gap: Gap) -> str:
    """Return the part of a WebApp's spec for a gap."""
    part = _PART_OF.get(gap.field.split()[0], "")
    given = webapp["spec"].get("service", {}).get("ports")
    return "service" if part == "ports" and given else part


def explains(found: Explanations, webapp: Object, gap: Gap) -> bool:
    """Return whether a gap has an accepted reason."""
    return (
        _adopted_later(found, webapp, gap)
        or _held_back(found, webapp, gap)
        or _waits_for_needed(found, webapp, gap)
        or _waits_for_leave(found, webapp, gap)
        or _is_unseen(found, webapp, gap)
    )


def _adopted_later(found: Explanations, webapp: Object, gap: Gap) -> bool:
    """Return whether an adoptable Service waits for the pods of this WebApp."""
    if (gap.plural, gap.field) != ("services", "owner"):
        return False
    deployment = found.world.cluster.get("deployments", place(webapp))
    return not is_child(deployment, webapp) or deployment is None or not is_rolled_out(deployment)


def _held_back(found: Explanations, webapp: Object, gap: Gap) -> bool:
    """Return whether a Deployment waits for another child that is missing for an accepted reason."""
    if gap.plural != "deployments":
        return False
    objects = found.world.cluster.objects
    held = found.is_blocked("configmaps") or _former_config(found, webapp) or _left_config(found, webapp)
    if lacks_config(webapp, objects) and held:
        return True
    others = [each for each in found.gaps(webapp) if each.plural != "deployments"]
    missing = [each for each in others if each.field in ("existence", "owner")]
    return any(found.explained(webapp, each) for each in missing if each.plural not in _NOT_NEEDED)


def _waits_for_needed(found: Explanations, webapp: Object, gap: Gap) -> bool:
    """Return whether a child waits for the one that it needs, which differs for an accepted reason."""
    needed = _NEEDS.get(gap.plural)
    others = [each for each in found.gaps(webapp) if each.plural == needed]
    return any(found.explained(webapp, each) for each in others)


def _waits_for_leave(found: Explanations, webapp: Object, gap: Gap) -> bool:
    """Return whether a Service cannot change its type in place, and the status asks a person to delete it."""
    if (gap.plural, gap.field) != (SERVICES, "type") or HEADLESS not in (gap.wanted, gap.found):
        return False
    asks = condition(webapp, "Stalled", "reason") == "Immutable" and found.reported(webapp, gap) == "Degraded"
    return asks and not may_be_replaced(running(webapp, found.world.cluster.objects))


def _is_unseen(found: Explanations, webapp: Object, gap: Gap) -> bool:
    """Return whether the operator cannot know the present data of an object in `restartOn` yet."""
    word, _, what = gap.field.partition(" ")
    plural, _, name = what.partition("/")
    if word != RESTART or not name:
        return False
    namespace, collection = place(webapp)[0], f"{plural} (metadata)"
    on_the_way = found.world.holder(namespace).is_pending(collection, (namespace, name))
    return on_the_way or found.is_unseen(plural, namespace, collection)


def _left_config(found: Explanations, webapp: Object) -> bool:
    """Return whether the policy leaves a ConfigMap with other content to its manager, and the status reports it."""
    touched = any((plural, at) == ("configmaps", place(webapp)[0]) for plural, at, _, _ in found.world.touched)
    children = webapp.get("status", {}).get("children", ())
    said = any((each["kind"], each["health"]) == ("ConfigMap", "Degraded") for each in children)
    return policy_of(webapp) != "Enforce" and touched and said


def _former_config(found: Explanations, webapp: Object) -> bool:
    """Return whether a ConfigMap with the wanted content belongs to a deleted WebApp of the same name."""
    uids = found.uids()
    return any(
        at == place(webapp)[0] and thing.get("data") == webapp["spec"].get("config")
        for (at, _), thing in found.world.cluster.objects["configmaps"].items()
        if controller(thing).get("uid") not in uids
    )
