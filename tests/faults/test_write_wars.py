"""O7 among controllers: another one forces a field back at once, each time that it is taken from it."""

import re

import pytest

from faults.evidence import condition
from faults.lives import CREATE
from faults.play import Played
from faults.run import Case
from faults.script import Edit, Fight, Peace, Script, Settle, Wait, kubectl, patch
from faults.test_policies import FIELD, change, writes

CREATED: Script = (*CREATE, Settle())
RIVAL = "rival"
ROUNDS = 5
"""How often a field is taken back before it is left alone."""
WAR = Fight(Edit("deployments", "web", change(3), manager=RIVAL))
IMAGE = "registry.example/web:2"
MEANWHILE = (
    # In the midst of the war all else goes on: a child is made anew, a change of the WebApp is followed.
    kubectl("delete", "service", "web"),
    kubectl("wait", "service/web", "--for=create", "--timeout=20s"),
    patch("webapp", "web", {"spec": {"image": IMAGE}}),
    kubectl(
        "wait", "deployment/web", f"--for=jsonpath={{.spec.template.spec.containers[0].image}}={IMAGE}", "--timeout=20s"
    ),
)


@pytest.mark.fault(
    "F12",
    "a write war: another controller forces a field back at once; it is left alone, told of, and all else goes on",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="forgets-contests",
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
    print(*played.told, f"applied {applied} times", *sorted(said), sep="\n")
    assert applied <= 3 * ROUNDS
    assert any(FIELD in message and RIVAL in message and "coxswain" in message for message in said), said


def messages(played: Played) -> set[str]:
    """Return what Contested said while it was True."""
    assert played.evidence is not None
    found = [
        condition(change.object, "Contested") for change in played.evidence.changes if change.resource == "webapps"
    ]
    return {re.sub(r"\s+", " ", each["message"]) for each in found if each.get("status") == "True"}
