"""kstatus's status of a custom resource: its generic rules, for tests without Go.

Flux and kpt wait by these rules. The source is Compute in status.go and checkGenericProperties in generic.go of
https://github.com/kubernetes-sigs/cli-utils/tree/v0.37.2/pkg/kstatus/status; Flux's fork, github.com/fluxcd/cli-utils
v1.4.0, has the same text. The rules for built-in kinds are omitted here. tests/integration/test_kstatus.py
compares this reader with kstatus itself.
"""

from collections.abc import Mapping
from typing import Any

CURRENT, IN_PROGRESS, FAILED, TERMINATING = "Current", "InProgress", "Failed", "Terminating"


def read(thing: Mapping[str, Any]) -> str:
    """Return the status, from the first rule that applies."""
    if thing["metadata"].get("deletionTimestamp"):
        return TERMINATING
    status = thing.get("status", {})
    generation = thing["metadata"].get("generation")
    # Any difference counts. If one of the two is missing, there is nothing to compare.
    if None not in (generation, status.get("observedGeneration")) and status["observedGeneration"] != generation:
        return IN_PROGRESS
    conditions = status.get("conditions", [])
    for condition in conditions:
        if condition["status"] == "True" and condition["type"] in ("Reconciling", "Stalled"):
            return IN_PROGRESS if condition["type"] == "Reconciling" else FAILED
    for condition in conditions:
        if condition["type"] == "Ready" and condition["status"] in ("True", "False", "Unknown"):
            return CURRENT if condition["status"] == "True" else IN_PROGRESS
    return CURRENT
