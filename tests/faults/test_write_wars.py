"""O7 among controllers: another one sets a field again after each correction."""

import re

import pytest

from fault_engine.lives import CREATE
from fault_engine.objects import condition
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Edit, Fight, Peace, Script, Settle, Wait, kubectl, patch
from faults.test_policies import FIELD, change, writes

CREATED: Script = (*CREATE, Settle())
RIVAL = "rival"
ROUNDS = 5
"""The number of corrections of a field until it is no longer enforced."""
WAR = Fight(Edit("deployments", "web", change(3), manager=RIVAL))
IMAGE = "registry.example/web:2"
MEANWHILE = (
    # During the write war, other reconciles continue: a child is recreated, and a change of the WebApp is applied.
    kubectl("delete", "service", "web"),
    kubectl("wait", "service/web", "--for=create", "--timeout=20s"),
    patch("webapp", "web", {"spec": {"image": IMAGE}}),
    kubectl(
        "wait", "deployment/web", f"--for=jsonpath={{.spec.template.spec.containers[0].image}}={IMAGE}", "--timeout=20s"
    ),
)


@pytest.mark.fault(
    "F12",
    "a write war: another controller sets a field again at once; it is no longer enforced and is reported, the rest "
    "continues",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="forgets-write-wars",
    by="O7",
)
@pytest.mark.ci
def test_a_write_war(case: Case) -> None:
    contested = kubectl("wait", "webapp/web", "--for=condition=Contested", "--timeout=30s")
    quiet = () if case.broken else (contested,)
    script = (*CREATED, WAR, *quiet, *MEANWHILE, Wait(table=100), Peace(), Settle(120))
    played = case(script, reference=case.reference((*CREATED, *MEANWHILE, Settle())))
    applied = len(writes(played, "deployments", 0, 1))
    said = messages(played)
    print(*played.report, f"applied {applied} times", *sorted(said), sep="\n")
    assert applied <= 3 * ROUNDS
    assert any(FIELD in message and RIVAL in message and "coxswain" in message for message in said), said


def messages(played: Played) -> set[str]:
    """Return the messages of Contested while it was True."""
    assert played.evidence is not None
    found = [
        condition(change.object, "Contested") for change in played.evidence.changes if change.resource == "webapps"
    ]
    return {re.sub(r"\s+", " ", each["message"]) for each in found if each.get("status") == "True"}
