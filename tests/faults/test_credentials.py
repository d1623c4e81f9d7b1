"""F9, F11: tokens and certificates rotated, and rights lost."""

import pytest

from faults.lives import CHANGE
from faults.outages import CHILD_DELETED, CUT, SOON, begun, tell
from faults.play import Played
from faults.run import Case
from faults.script import Disaster, Kubectl, Script, Wait

pytestmark = pytest.mark.usefixtures("whole")


def answers(played: Played, agent: str, verbs: str) -> list[int | None]:
    """Return what a client was answered to what it sent after the rotation, in order."""
    assert played.evidence is not None
    history = played.evidence.history
    rotated = max(mark.at for mark in history.marks if mark.what == "token rotated")
    return [
        request.status
        for request in history.requests
        if request.at > rotated and request.agent == agent and request.verb in verbs.split()
    ]


def assert_both_clients_go_on(played: Played, *, refused: bool = True) -> None:
    """Hold that each client came to be answered, without `refused` with no 401 before."""
    for agent, verbs in (("coxswain", "patch"), ("coxswain-watch", "watch")):
        found = answers(played, agent, verbs)
        print(f"{agent}: {found.count(401)} of {len(found)} requests since the rotation were answered with 401")
        assert found[-1] in (200, 201), f"{agent} was answered {found} after the rotation"
        assert refused or 401 not in found, f"{agent} has sent a token that was void: {found}"


@pytest.mark.fault(
    "F9",
    "all tokens void at once: another key, and another token in the file",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="fixed-header",
)
@pytest.mark.ci
def test_key_replaced(case: Case) -> None:
    replaced = Disaster("replace the ServiceAccounts' key")
    played = case(begun(replaced, CHANGE, CHILD_DELETED, SOON))
    assert_both_clients_go_on(played)
    tell(played, "tokens rotated")


@pytest.mark.fault(
    "F9",
    "another token in the file; the old one is void at once, or only later",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="fixed-header",
)
@pytest.mark.parametrize("valid_seconds", [pytest.param(0, marks=pytest.mark.quick), 120])
def test_token_rotated(case: Case, valid_seconds: int) -> None:
    waited: Script = (Wait(table=valid_seconds),) if valid_seconds else ()
    rotated: Script = (Disaster("hand out a token"), *waited, Disaster("revoke the older tokens"))
    played = case(begun(rotated, CUT, CHANGE, CHILD_DELETED, SOON))
    assert_both_clients_go_on(played, refused=not valid_seconds)
    tell(played, "tokens rotated")


@pytest.mark.fault(
    "F9",
    "the API server back with another certificate",
    oracles=("O1", "O3", "O4"),
    broken="ends-without-a-connection",
)
def test_certificate_replaced(case: Case) -> None:
    replaced = Disaster("replace the API server's certificate")
    played = case(begun(replaced, CHANGE, CHILD_DELETED, SOON), proxied=False)
    tell(played, "tokens rotated")


DRIFT: tuple[Kubectl, ...] = (*CHANGE, CHILD_DELETED)


@pytest.mark.fault(
    "F11",
    "a right lost for two minutes, while things change",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="never-retries",
)
@pytest.mark.parametrize(
    "what", ["writing children", pytest.param("writing the status", marks=pytest.mark.ci)], ids=lambda what: what
)
def test_writes_forbidden(case: Case, what: str) -> None:
    lost: Script = (Disaster(f"forbid {what}"), *DRIFT, Wait(table=120), Disaster("give the rights back"))
    played = case(begun(lost, SOON))
    tell(played, f"{what} forbidden")


@pytest.mark.fault(
    "F11",
    "the right to list and watch lost for two minutes, while things change",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="kopf-alone",
    by=("O1", "O4"),
)
def test_watches_forbidden(case: Case) -> None:
    lost: Script = (Disaster("forbid watching"), CUT, *DRIFT, Wait(table=120), Disaster("give the rights back"))
    played = case(begun(lost, SOON))
    tell(played, "watching forbidden")


@pytest.mark.fault(
    "F11",
    "the right to tell Events lost: nothing waits for it",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="waits-for-its-events",
)
def test_events_forbidden(case: Case) -> None:
    case(begun(Disaster("forbid telling Events"), DRIFT, SOON, Disaster("give the rights back")))
