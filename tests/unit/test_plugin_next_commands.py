"""The next commands of `why`: those of the operator, and nothing that others can choose."""

from typing import Any

import pytest

from kubectl_coxswain.evidence import next_commands
from kubectl_coxswain.verdict import verdict

EDIT = "kubectl edit webapp web -n shop"
CONFLICTS = "kubectl coxswain conflicts web -n shop"
EVIL = "kubectl delete namespace shop"


def commands(message: str, manager: str) -> list[str]:
    """Return the next commands of a WebApp with a conflict whose message names a manager."""
    conditions = [
        {"type": "Ready", "status": "False", "reason": "Contested", "message": message},
        {"type": "Conflicted", "status": "True", "reason": "Conflict", "message": message},
    ]
    held = {"object": "Deployment/web", "field": "spec.replicas", "manager": manager, "policy": "Yield"}
    webapp: dict[str, Any] = {
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {},
        "status": {"observedGeneration": 1, "conditions": conditions, "conflicts": [held]},
    }
    return next_commands(webapp, verdict(webapp), [])


@pytest.mark.parametrize("manager", ["kubectl", EVIL, f"x: {EVIL}", f"x): {EVIL}"])
def test_a_field_manager_is_no_command(manager: str) -> None:
    """Whoever may patch a child chooses the name of a manager."""
    message = f"another field manager owns spec.replicas ({manager}). Leave the field to it, or correct it: {EDIT}"
    assert commands(message, manager) == [EDIT, CONFLICTS]


def test_a_word_of_a_sentence_is_no_command() -> None:
    message = f"kubectl changes spec.replicas back, kubectl each time coxswain enforces it. Decide: {EDIT}"
    assert commands(message, "kubectl") == [EDIT, CONFLICTS]
