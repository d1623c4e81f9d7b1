"""Derives a WebApp's status from its Deployment: Coxswain's counts and conditions, as far as possible."""

from collections.abc import Mapping, Sequence
from typing import Any

Thing = Mapping[str, Any]


def status(generation: int, deployment: Thing, previous: Thing, now: str, *, up_to_date: bool) -> dict[str, Any]:
    """Return the status of a WebApp.

    Args:
        generation: the WebApp's generation.
        deployment: the last known state of its Deployment.
        previous: the current status of the WebApp.
        now: the current time, in the format of RFC 3339 with seconds.
        up_to_date: whether the Deployment matches this generation of the WebApp.
    """
    counts = deployment.get("status", {})
    return {
        "observedGeneration": generation,
        "conditions": [
            _condition(generation, found, previous.get("conditions", []), now)
            for found in _findings(ready=up_to_date and _complete(deployment), available=_available(deployment))
        ],
        **{name: counts.get(name, 0) for name in ("replicas", "readyReplicas", "updatedReplicas")},
    }


def _findings(*, ready: bool, available: bool) -> list[tuple[str, bool, str, str]]:
    """Return type, status, reason and message of each condition."""
    return [
        ("Ready", True, "Ready", "all children match the spec and are healthy")
        if ready
        else ("Ready", False, "RollingOut", "pods are missing"),
        ("Progressing", False, "Complete", "the spec is applied and rolled out")
        if ready
        else ("Progressing", True, "RollingOut", "pods are missing"),
        ("Available", True, "MinimumReplicasAvailable", "the Deployment has minimum availability")
        if available
        else (
            "Available",
            False,
            "MinimumReplicasUnavailable",
            "too few pods are available. The condition Ready has the cause",
        ),
        ("Stalled", False, "NotStalled", "no child is blocked"),
        ("Conflicted", False, "NoConflict", "no other field manager owns a field of the spec"),
        ("Contested", False, "NotContested", "no other writer keeps overwriting a field"),
    ]


def _complete(deployment: Thing) -> bool:
    found, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    observed: int = found.get("observedGeneration", 0)
    counts = {found.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")}
    return observed >= deployment["metadata"]["generation"] and counts == {wanted}


def _available(deployment: Thing) -> bool:
    conditions = deployment.get("status", {}).get("conditions", [])
    return any((found["type"], found["status"]) == ("Available", "True") for found in conditions)


def _condition(
    generation: int, found: tuple[str, bool, str, str], previous: Sequence[Thing], now: str
) -> dict[str, Any]:
    name, holds, reason, message = found
    before = next((condition for condition in previous if condition["type"] == name), {})
    unchanged = before.get("status") == str(holds)
    return {
        "type": name,
        "status": str(holds),
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if unchanged else now,
        "reason": reason,
        "message": message,
    }
