"""The PodDisruptionBudget: how many pods a node drain may evict at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Rules, whole
from coxswain.kernel.status.health import HEALTHY, Health, Level
from coxswain.kernel.workload import ChildType, Desired, Explanation, Removal, World
from coxswain.webapp.budgets import blocks, is_helped_by_replicas, selects
from coxswain.webapp.children.deployment_adoption import pod_labels, selector_of
from coxswain.webapp.diagnosis.commands import edit
from coxswain.webapp.identity import metadata, selector
from coxswain.webapp.kinds import POD_DISRUPTION_BUDGET
from coxswain.webapp.replicas import can_be_several
from coxswain.webapp.spec import WebApp

DEFAULT_MAX_UNAVAILABLE = 1
DEFAULT_EVICTION_POLICY = "AlwaysAllow"
"""A pod that is not ready may always be evicted: otherwise a crash loop blocks the drain of its node."""

_BLOCKS = "allows no disruption although all pods are healthy, so node drains and cluster upgrades wait"


def pod_disruption_budget(webapp: WebApp) -> Manifest:
    """Return the PodDisruptionBudget."""
    wanted = webapp.spec.get("disruption", {})
    if "minAvailable" in wanted:
        limit = {"minAvailable": wanted["minAvailable"]}
    else:
        limit = {"maxUnavailable": wanted.get("maxUnavailable", DEFAULT_MAX_UNAVAILABLE)}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(webapp),
        "spec": {
            **limit,
            "selector": {"matchLabels": selector(webapp.name)},
            "unhealthyPodEvictionPolicy": wanted.get("unhealthyPodEvictionPolicy", DEFAULT_EVICTION_POLICY),
        },
    }


def _desired(webapp: WebApp, world: World) -> Desired | None:
    """Return the budget if the spec enables it or sets its limit.

    By default there is one if there can be several pods, and no other budget selects them.
    """
    wanted = webapp.spec.get("disruption", {})
    enabled = wanted.get("enabled")
    if enabled is None:
        by_default = can_be_several(webapp, world) and not _may_have_another(webapp, world)
        enabled = "minAvailable" in wanted or "maxUnavailable" in wanted or by_default
    return Desired(pod_disruption_budget(webapp)) if enabled else None


def _may_have_another(webapp: WebApp, world: World) -> bool:
    """Tell whether another budget may select the pods: a second one would block their evictions.

    The cache has only the identity of foreign budgets that do not name the WebApp. A chart has often made one, and the
    labels of a kept selector belong to the chart. If the budget with our name may be adopted, it is the chart's.
    """
    if _others(webapp, world):
        return True
    named = world.live(POD_DISRUPTION_BUDGET, webapp.name)
    if named is not None and not _is_ours(webapp, named):
        return True
    is_handed_over = named is not None and named.adopter == webapp.name
    return not is_handed_over and selector_of(webapp, world) != selector(webapp.name)


def _others(webapp: WebApp, world: World) -> Sequence[Projection]:
    """Return other budgets that select the pods of a WebApp."""
    pod = pod_labels(webapp, selector_of(webapp, world))
    budgets = [each for each in world.related(POD_DISRUPTION_BUDGET) if not _is_ours(webapp, each)]
    return [each for each in budgets if selects(each.content.get("spec", {}).get("selector"), pod)]


def blocked_by_another(webapp: WebApp, world: World) -> Health | None:
    """Return the health of pods that nobody may evict, if other budgets are the cause and the WebApp has none.

    With a budget of its own, that budget reports both.
    """
    own = world.live(POD_DISRUPTION_BUDGET, webapp.name)
    if own is not None and _is_ours(webapp, own):
        return None
    others = _others(webapp, world)
    if len(others) > 1:
        names = [each.name for each in others]
        return _refused(names, f"Keep one and delete the rest, for example: {_delete(webapp, names[1:])}")
    blocking = [each for each in others if each.content.get("status", {}).get("blocks")]
    if not blocking:
        return None
    first = blocking[0]
    problem = f"PodDisruptionBudget {first.name} {_BLOCKS}. The operator changes no budget of others"
    command = f"kubectl edit pdb {first.name} -n {webapp.namespace}"
    return Health(Level.HEALTHY, "DisruptionBlocked", f"{problem}. {_way_out(first.content, 'it')}: {command}")


def _way_out(content: Mapping[str, Any], limit: str) -> str:
    """Return the next step for a budget that blocks evictions; `limit` names it or its field."""
    return f"Run more replicas, or change {limit}" if is_helped_by_replicas(content) else f"Change {limit}"


def _is_ours(webapp: WebApp, budget: Projection) -> bool:
    """Tell whether a budget is the child, or will be after its adoption."""
    return budget.is_child_of(webapp) or (budget.name == webapp.name and budget.is_adoptable_by(webapp))


def _projected(raw: Mapping[str, Any]) -> Manifest:
    """Return a budget. Its status changes with each pod, so only a fact about it is kept."""
    content = whole(POD_DISRUPTION_BUDGET)(raw)
    return {**content, "status": {"blocks": blocks(raw)}}


def _health(live: Projection) -> Health:
    """Return the health. A budget that blocks drains does not make the application less ready: it is a message."""
    if not live.content.get("status", {}).get("blocks"):
        return Health(Level.HEALTHY, explainable=True)
    limit = "minAvailable" if "minAvailable" in live.content.get("spec", {}) else "maxUnavailable"
    advice = _way_out(live.content, f"spec.disruption.{limit}")
    return Health(Level.HEALTHY, "DisruptionBlocked", f"{_BLOCKS}. {advice}", explainable=True)


def _explain(webapp: WebApp, _: Projection, health: Health, world: World, __: datetime) -> Explanation:
    """Report other budgets for the same pods: the eviction API refuses to evict a pod of two budgets.

    Otherwise add the command that changes the limit.
    """
    others = [each.name for each in _others(webapp, world)]
    if not others and not health.message:
        return Explanation(HEALTHY)
    if not others:
        return Explanation(replace(health, message=f"{health.message}: {edit(webapp)}"))
    remove = _delete(webapp, others)
    if len(others) == 1:
        advice = f"Keep one: set spec.disruption.enabled to false, or delete the other one: {remove}"
    else:
        advice = f"Delete these: {remove}"
    return Explanation(_refused(others, advice))


def _refused(others: Sequence[str], advice: str) -> Health:
    """Return the health of pods of several budgets: the eviction API refuses to evict them."""
    named = f"PodDisruptionBudgets {', '.join(others)} select"
    if len(others) == 1:
        named = f"PodDisruptionBudget {others[0]} selects"
    problem = f"{named} the same pods, so the API server refuses to evict them"
    action = "The operator changes no budget of others"
    return Health(Level.HEALTHY, "DisruptionBlocked", f"{problem}. {action}. {advice}")


def _delete(webapp: WebApp, budgets: Sequence[str]) -> str:
    return f"kubectl delete pdb {' '.join(budgets)} -n {webapp.namespace}"


TYPE = ChildType(
    POD_DISRUPTION_BUDGET,
    _desired,
    rules=Rules(_projected, namesake=str),
    health=_health,
    explain=_explain,
    identity=("spec.selector",),
    removal=Removal.AT_ONCE,
)
