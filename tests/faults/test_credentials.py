"""F9, F11: rotated tokens and certificates, and revoked permissions."""

import pytest

from fault_engine.lives import CHANGE
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Disaster, Life, Script, Wait
from faults.outages import CHILD_DELETED, CUT, SOON, begun, print_recovery

pytestmark = [pytest.mark.usefixtures("whole"), pytest.mark.generic]


def answers(played: Played, agent: str, verbs: str) -> list[int | None]:
    """Return the status codes of a client's requests since the rotation, in order."""
    assert played.evidence is not None
    history = played.evidence.history
    rotated = max(mark.at for mark in history.marks if mark.what == "token rotated")
    return [
        request.status
        for request in history.requests
        if request.at > rotated and request.agent == agent and request.verb in verbs.split()
    ]


def assert_both_clients_go_on(played: Played, *, refused: bool = True) -> None:
    """Assert that each client succeeds after the rotation; without `refused`, also that it never gets a 401."""
    assert played.evidence is not None
    workload = played.evidence.workload
    for agent, verbs in ((workload.agent, "patch"), (workload.watch_agent, "watch")):
        found = answers(played, agent, verbs)
        print(f"{agent}: {found.count(401)} of {len(found)} requests since the rotation got a 401")
        assert found[-1] in (200, 201), f"{agent} got {found} after the rotation"
        assert refused or 401 not in found, f"{agent} sent a revoked token: {found}"


@pytest.mark.fault(
    "F9",
    "all tokens invalid at once: another key, and another token in the file",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="fixed-header",
)
@pytest.mark.ci
def test_key_replaced(case: Case) -> None:
    replaced = Disaster("replace the ServiceAccounts' key")
    played = case(begun(replaced, CHANGE, CHILD_DELETED, SOON))
    assert_both_clients_go_on(played)
    print_recovery(played, "tokens rotated")


@pytest.mark.fault(
    "F9",
    "another token in the file; the old one is revoked at once or later",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="fixed-header",
)
@pytest.mark.parametrize("valid_seconds", [pytest.param(0, marks=pytest.mark.quick), 120])
def test_token_rotated(case: Case, valid_seconds: int) -> None:
    waited: Script = (Wait(table=valid_seconds),) if valid_seconds else ()
    rotated: Script = (Disaster("issue a token"), *waited, Disaster("revoke the older tokens"))
    played = case(begun(rotated, CUT, CHANGE, CHILD_DELETED, SOON))
    assert_both_clients_go_on(played, refused=not valid_seconds)
    print_recovery(played, "tokens rotated")


@pytest.mark.fault(
    "F9",
    "the API server restarts with another certificate",
    oracles=("O1", "O3", "O4"),
    broken="ends-without-a-connection",
)
def test_certificate_replaced(case: Case) -> None:
    replaced = Disaster("replace the API server's certificate")
    played = case(begun(replaced, CHANGE, CHILD_DELETED, SOON), proxied=False)
    print_recovery(played, "tokens rotated")


DRIFT: Script = (*CHANGE, CHILD_DELETED)


@pytest.mark.fault(
    "F11",
    "a write permission revoked for two minutes, with changes in the meantime",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="never-retries",
)
@pytest.mark.parametrize(
    "what", ["writing children", pytest.param("writing the status", marks=pytest.mark.ci)], ids=lambda what: what
)
def test_writes_forbidden(case: Case, what: str) -> None:
    lost: Script = (Disaster(f"forbid {what}"), *DRIFT, Wait(table=120), Disaster("restore the rights"))
    played = case(begun(lost, SOON))
    print_recovery(played, f"{what} forbidden")


@pytest.mark.fault(
    "F11",
    "the permission to list and watch revoked for two minutes, with changes in the meantime",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="kopf-alone",
    by=("O1", "O4"),
)
def test_watches_forbidden(case: Case) -> None:
    lost: Script = (Disaster("forbid watching"), CUT, *DRIFT, Wait(table=120), Disaster("restore the rights"))
    played = case(begun(lost, SOON))
    print_recovery(played, "watching forbidden")


@pytest.mark.fault(
    "F11",
    "the permission to create Events revoked: no reconcile waits for it",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="waits-for-its-events",
)
def test_events_forbidden(case: Case) -> None:
    # The first Event may follow the last correction, but it precedes the edit.
    forbidden, restored = Disaster("forbid creating Events"), Disaster("restore the rights")
    case(begun(forbidden, DRIFT, SOON, Life("edit", 3), SOON, restored))
