"""The next commands of `why`: those of the operator, and nothing that others can choose."""

from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import HeldField, Plan
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.reconciling.child.plan_health import planned_health
from coxswain.kernel.status.conditions import standard_conditions
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import HEALTHY
from kubectl_coxswain.evidence import next_commands
from kubectl_coxswain.verdict import verdict

COMMANDS = Commands("webapp", "web", "shop", "coxswain")
EVIL = "kubectl delete namespace shop"
MANAGERS = ["kubectl", EVIL, f"x: {EVIL}", f"x:  {EVIL}", f"x:\t{EVIL}", f"x): {EVIL}"]


def conflicted(manager: str) -> str:
    """Return the message of the condition Conflicted."""
    held = Conflict("Deployment/web", "spec.replicas", manager, Policy.YIELD, differs=True)
    return standard_conditions([], [held], {}, COMMANDS, paused=False, unknown_policies="")["Conflicted"].message


def contested(manager: str) -> str:
    """Return the message of the condition Contested."""
    held = Conflict("Deployment/web", "spec.replicas", manager, Policy.ENFORCE, differs=True, contested=True)
    return standard_conditions([], [held], {}, COMMANDS, paused=False, unknown_policies="")["Contested"].message


def of_child(manager: str) -> str:
    """Return the message of a child in a write war."""
    held = HeldField(Difference(("f:spec", "f:replicas"), 1, 2), manager, Policy.ENFORCE, contested=True)
    return planned_health(HEALTHY, Plan({}, (), left=(held,)), (), COMMANDS).message


@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("message", [conflicted, contested, of_child], ids=lambda each: each.__name__)
def test_a_field_manager_is_no_command(message: Any, manager: str) -> None:
    """Whoever may patch a child chooses the name of a manager."""
    text = message(manager)
    assert "kubectl" in text.partition("spec.replicas")[2].partition(". ")[0], "the message names the manager"
    ready = {"type": "Ready", "status": "False", "reason": "Contested", "message": text}
    webapp: dict[str, Any] = {
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {},
        "status": {"observedGeneration": 1, "conditions": [ready]},
    }
    assert next_commands(webapp, verdict(webapp), []) == [COMMANDS.edit]
