"""HorizontalPodAutoscalers of others: which WebApps they target, and how."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, only
from coxswain.kernel.workload import World
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, WEBAPP
from coxswain.webapp.spec import WebApp

DECIDED = "desiredReplicas"
"""The field of an autoscaler's status with its last decision."""

_TARGET = ("apiVersion", "kind", "name")


def projected_autoscaler(raw: Mapping[str, Any]) -> Manifest:
    """Return the cached fields of a HorizontalPodAutoscaler of others."""
    spec = raw.get("spec", {})
    target = only(spec.get("scaleTargetRef", {}), _TARGET)
    limits = only(spec, ("minReplicas", "maxReplicas"))
    return {"spec": {"scaleTargetRef": target, **limits}, "status": only(raw.get("status", {}), (DECIDED,))}


def decided(autoscaler: Projection) -> int | None:
    """Return the last count that an autoscaler has decided; None before its first decision.

    The field stays while the target is missing (https://github.com/kubernetes/kubernetes, reconcileAutoscaler in
    pkg/controller/podautoscaler/horizontal.go).
    """
    spec, count = autoscaler.content.get("spec", {}), autoscaler.content.get("status", {}).get(DECIDED)
    return max(spec.get("minReplicas", 1), min(count, spec.get("maxReplicas", count))) if count else None


def targeted(content: Mapping[str, Any]) -> Iterable[str]:
    """Return the name of the WebApp that an autoscaler targets: itself, or its Deployment of the same name."""
    return [_name(content)] if any(_is_target(content, kind) for kind in (DEPLOYMENT, WEBAPP)) else []


def of_others(webapp: WebApp, world: World) -> Sequence[Projection]:
    """Return the autoscalers of others that target a WebApp or its Deployment."""
    found = world.related(HORIZONTAL_POD_AUTOSCALER)
    return [each for each in found if not each.is_child_of(webapp) and webapp.name in targeted(each.content)]


def scales_deployment(autoscaler: Projection) -> bool:
    """Tell whether an autoscaler targets a Deployment, rather than a WebApp."""
    return _is_target(autoscaler.content, DEPLOYMENT)


def _is_target(content: Mapping[str, Any], kind: Kind) -> bool:
    reference = _reference(content)
    return (reference.get("apiVersion", "").partition("/")[0], reference.get("kind")) == (kind.group, kind.kind)


def _name(content: Mapping[str, Any]) -> str:
    return str(_reference(content).get("name", ""))


def _reference(content: Mapping[str, Any]) -> Mapping[str, Any]:
    reference: Mapping[str, Any] = content.get("spec", {}).get("scaleTargetRef", {})
    return reference
