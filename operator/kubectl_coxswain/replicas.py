"""The numbers of pods of WebApps, and their autoscalers. Pure."""

from collections.abc import Mapping
from typing import Any

from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.names import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, WEBAPP
from kubectl_coxswain.owned import Found, owner
from kubectl_coxswain.reports import Counts
from kubectl_coxswain.verdict import is_reconciled

_TARGETS = ((WEBAPP.group, WEBAPP.kind), (DEPLOYMENT.group, DEPLOYMENT.kind))


class Scales:
    """The Deployments of some WebApps, and their autoscalers."""

    def __init__(self, found: Found) -> None:
        """Index the read objects: a list may have thousands."""
        self._may_read = DEPLOYMENT in found
        self._deployments = {owner(each): each for each in found.get(DEPLOYMENT, ())}
        self._autoscalers: dict[tuple[str, str], list[str]] = {}
        for each in found.get(HORIZONTAL_POD_AUTOSCALER, ()):
            metadata, target = each["metadata"], _target(each)
            if target:
                self._autoscalers.setdefault((metadata["namespace"], target), []).append(metadata["name"])

    def counts(self, webapp: Json) -> Counts:
        """Return the numbers of pods of a WebApp; None for an unknown number."""
        metadata, spec, status = webapp["metadata"], webapp.get("spec") or {}, webapp.get("status") or {}
        deployment: Mapping[str, Any] = self._deployments.get(metadata["uid"]) or {}
        autoscalers = sorted(self._autoscalers.get((metadata["namespace"], metadata["name"]), ()))
        by_spec = "autoscaling" in spec
        # A policy or an autoscaler may have set another number than the reconciled spec.
        hidden = by_spec or (not self._may_read and is_reconciled(webapp))
        desired = None if hidden else spec.get("replicas", 1)
        live = (deployment.get("spec") or {}).get("replicas")
        # Before the operator has reconciled a changed spec.replicas, the Deployment has the earlier number.
        if live is not None and (by_spec or autoscalers or is_reconciled(webapp)):
            desired = live
        if live == 0:
            # https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#implicit-maintenance-mode-deactivation
            autoscalers = []
        counted = status if "readyReplicas" in status else deployment.get("status")
        if counted is None:
            return Counts(desired, None, None, autoscalers)
        return Counts(desired, counted.get("updatedReplicas", 0), counted.get("readyReplicas", 0), autoscalers)


def _target(autoscaler: Json) -> str:
    """Return the name of the target WebApp of an autoscaler, or of its target Deployment; empty for others."""
    reference = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    kind = (str(reference.get("apiVersion", "")).partition("/")[0], reference.get("kind"))
    return str(reference.get("name", "")) if kind in _TARGETS else ""


def counts_text(counts: Counts) -> str:
    """Return the numbers of pods as text."""
    desired, updated, ready = (shown(each) for each in (counts.desired, counts.updated, counts.ready))
    by = f" (set by HorizontalPodAutoscaler {', '.join(counts.autoscalers)})" if counts.autoscalers else ""
    return f"{desired} desired{by}, {updated} updated, {ready} ready"


def shown(number: int | None) -> str:
    """Return a number, or a question mark if it is not known."""
    return "?" if number is None else str(number)
