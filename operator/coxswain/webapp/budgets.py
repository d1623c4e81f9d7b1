"""Disruption budgets of others: which WebApps they concern, and whether they select the pods of one."""

from collections.abc import Iterable, Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import only
from coxswain.webapp.identity import WEBAPP_LABEL

_NAMING = (WEBAPP_LABEL, "app.kubernetes.io/name", "app.kubernetes.io/instance")
"""Labels of pods with the name of their WebApp."""

_MOST_NAMES = 64
"""Names taken from the selector of a budget. A tenant can list 170,000, each one a reconcile and an index entry."""

LIMITS = ("minAvailable", "maxUnavailable")
"""Fields with the limit of a budget: it has one of them."""
_NO_EVICTION = ({"minAvailable": "100%"}, {"maxUnavailable": 0}, {"maxUnavailable": "0%"})
"""Limits that allow no eviction, however many pods there are."""


def projected_budget(raw: Mapping[str, Any]) -> Manifest:
    """Return the cached fields of a PodDisruptionBudget of others."""
    return {"spec": only(raw.get("spec", {}), ("selector", *LIMITS)), "status": {"blocks": blocks(raw)}}


def blocks(raw: Mapping[str, Any]) -> bool:
    """Tell whether a budget allows no disruption although all pods are healthy."""
    status, generation = raw.get("status", {}), raw["metadata"].get("generation", 0)
    expected = status.get("expectedPods", 0)
    all_healthy = status.get("currentHealthy", 0) >= expected > 0
    observed = status.get("observedGeneration", 0) >= generation
    return bool(observed and all_healthy and status.get("disruptionsAllowed", 0) == 0)


def is_helped_by_replicas(content: Mapping[str, Any]) -> bool:
    """Tell whether a budget that blocks evictions allows some with more replicas."""
    return only(content.get("spec", {}), LIMITS) not in _NO_EVICTION


def concerned(content: Manifest) -> Iterable[str]:
    """Return the names of the WebApps in the selector of a budget.

    A selector by other labels may match pods of any WebApp: such a budget is not found. The same applies to the WebApps
    beyond the first 64 names: they may get a default budget beside this one, which blocks the eviction of their pods.
    """
    selector = content.get("spec", {}).get("selector", {})
    exact = [value for label, value in selector.get("matchLabels", {}).items() if label in _NAMING]
    chosen = [each for each in selector.get("matchExpressions", []) if each.get("key") in _NAMING]
    listed = [value for each in chosen if each.get("operator") == "In" for value in each.get("values", [])]
    return [str(value) for value in (*exact, *listed)[:_MOST_NAMES]]


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a label selector matches labels. None matches nothing, an empty selector everything."""
    if selector is None:
        return False
    exact = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return exact and all(_matches(each, labels) for each in selector.get("matchExpressions", []))


def _matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, values = requirement.get("key", ""), requirement.get("operator"), requirement.get("values", [])
    if operator in ("Exists", "DoesNotExist"):
        return (key in labels) is (operator == "Exists")
    return (labels.get(key) in values) is (operator == "In")
