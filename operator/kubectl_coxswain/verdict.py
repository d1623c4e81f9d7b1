"""The state of a WebApp in one word, from its conditions. Pure."""

from collections.abc import Mapping
from typing import Any

from kubectl_coxswain.reports import Verdict
from kubectl_coxswain.screen import Level

FINAL = ("Healthy", "Stalled", "Contested", "RolledBack", "Paused", "Terminating")
"""States that no rollout leaves without a change by a person."""

PAUSED = "spec.paused is true, so the operator writes only the status"
"""The effect of `spec.paused`, for messages."""

_FAILURES = ("RolledBack", "Stalled", "Contested")
"""Conditions that are failures while they are True, the most important first."""

_RESUME = ". The operator corrects this when spec.paused"
"""Before the advice to end the pause in the message of a child that differs."""


def condition(webapp: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """Return a condition; an empty mapping if there is none."""
    found = (webapp.get("status") or {}).get("conditions") or []
    return next((each for each in found if each.get("type") == type_), {})


def holds(webapp: Mapping[str, Any], type_: str) -> bool:
    """Tell whether a condition is True."""
    return bool(condition(webapp, type_).get("status") == "True")


def is_reconciled(webapp: Mapping[str, Any]) -> bool:
    """Tell whether the status describes the present spec."""
    generation, observed = _generations(webapp)
    return bool(observed >= generation and condition(webapp, "Ready"))


def verdict(webapp: Mapping[str, Any]) -> Verdict:
    """Return the verdict. What only a person can end comes before what may end by itself."""
    ready = condition(webapp, "Ready")
    reason, message = str(ready.get("reason", "")), str(ready.get("message", ""))
    if is_deleted(webapp):
        return Verdict("Terminating", "Terminating", "is being deleted", "busy")
    if not is_reconciled(webapp):
        return _unreconciled(webapp)
    failed = next((type_ for type_ in _FAILURES if holds(webapp, type_)), None)
    if failed is not None and not (failed == "Stalled" and is_paused(webapp)):
        found = condition(webapp, failed)
        return Verdict(failed, str(found.get("reason", "")), str(found.get("message", "")), "bad")
    if is_paused(webapp):
        state = "everything matches the spec" if ready.get("status") == "True" else without_resume(message)
        return Verdict("Paused", "Paused", f"{PAUSED}. At present: {state}", "paused")
    state, level = _by_children(webapp)
    return Verdict(state, reason, message, level)


def without_resume(message: str) -> str:
    """Return the operator's message about a child that differs, without its advice to end the pause.

    `health.differs` of the operator appends the advice.
    """
    return message.partition(_RESUME)[0]


def _by_children(webapp: Mapping[str, Any]) -> tuple[str, Level]:
    if holds(webapp, "Ready"):
        return "Healthy", "good"
    broken = any(child.get("health") in ("Degraded", "Foreign") for child in webapp["status"].get("children", []))
    return ("Degraded", "bad") if broken else ("Progressing", "busy")


def is_paused(webapp: Mapping[str, Any]) -> bool:
    """Tell whether the operator writes only the status."""
    return bool((webapp.get("spec") or {}).get("paused"))


def _unreconciled(webapp: Mapping[str, Any]) -> Verdict:
    generation, observed = _generations(webapp)
    seen = f"the last one was {observed}" if observed else "it has reconciled none yet"
    message = f"the operator has not reconciled generation {generation}; {seen}"
    if observed >= generation:
        message = "the operator has not reported the condition Ready yet"
    return Verdict("Pending", "NotReconciled", message, "unknown")


def not_yet_reconciled(webapp: Mapping[str, Any]) -> str:
    """Return a few words about a WebApp that is not reconciled, with the generation of its status."""
    generation, observed = _generations(webapp)
    if not observed or observed >= generation:
        return "not yet reconciled"
    return f"generation {generation} is not yet reconciled; the status is of generation {observed}"


def unreported(webapp: Mapping[str, Any]) -> list[str]:
    """Return a note if the status does not describe the present spec."""
    if is_reconciled(webapp):
        return []
    metadata, (generation, observed) = webapp["metadata"], _generations(webapp)
    name = f"WebApp {metadata['name']} in namespace {metadata['namespace']}"
    if not observed or observed >= generation:
        return [f"the operator has not reported on {name} yet"]
    late = f"the operator has not reconciled generation {generation}"
    return [f"the status of {name} is of generation {observed}; {late}"]


def is_deleted(webapp: Mapping[str, Any]) -> bool:
    """Tell whether the WebApp is being deleted, so that the operator writes nothing for it."""
    return "deletionTimestamp" in webapp["metadata"]


def deletion(webapp: Mapping[str, Any]) -> list[str]:
    """Return a note if the WebApp is being deleted."""
    if not is_deleted(webapp):
        return []
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    problem = f"WebApp {name} in namespace {namespace} is being deleted, so the operator writes none of its children"
    return [f"{problem}. To see what the deletion waits for: {finalizers_command(webapp)}"]


def finalizers_command(webapp: Mapping[str, Any]) -> str:
    """Return the command that shows what a deletion waits for."""
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    return f"kubectl get webapp {name} -n {namespace} -o jsonpath={{.metadata.finalizers}}"


def _generations(webapp: Mapping[str, Any]) -> tuple[int, int]:
    """Return the generation of the WebApp, and that of its status; 0 without one."""
    return webapp["metadata"].get("generation", 0), (webapp.get("status") or {}).get("observedGeneration", 0)
