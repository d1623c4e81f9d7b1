"""F18: two replicas, one edit of a WebApp per second, and faults of the Lease, its requests and the clocks."""

import json

import pytest

from fault_engine.plan import Action, Answer, Delay, Match, Plan, Rule
from fault_engine.run import Case
from faults.replicas import SETTLED_SECONDS, Pair, await_true, election_settings
from faults.takeover import expiry, survive

ORACLES = ("O1", "O2", "O3", "O6")
SOON_SECONDS = 3.0
"""Until the next edit is applied after a SIGTERM, or if the leader stays."""
BACK_SECONDS = 10.0
"""Until the next edit is applied after an outage of the API server: the watches reopen with a backoff."""
FOR_EVER_SECONDS = 3600.0
HOUR = 3600
CLOCK = ("--clock", "{folder}/clock")
CLIENTS = ("kube-controller-manager", "kube-scheduler", "kwok")
"""Paused in an outage: their own recovery would take up to a minute."""


@pytest.mark.fault(
    "F18",
    "the Lease is deleted, and the leader's requests are slow: the leader stays",
    oracles=ORACLES,
    broken="takes-a-missing-lease",
    by="O6",
)
def test_lease_deleted(case: Case) -> None:
    # Longer than half the time between two looks of the standby. Four delayed requests stay within the deadline.
    delay = 0.7 * election_settings(case.scale).retry_period

    def fault(pair: Pair) -> None:
        # So the standby sees first that the Lease is missing.
        pair.stand.inject(_lease_plan(Delay(delay)))
        pair.lease("delete")
        pair.go_on(6 * delay)
        pair.stand.lift()

    figures = survive(case, "Lease deleted", fault, after=election_settings(case.scale).lease_duration + 2.0)
    assert figures.takeover is None, "the standby took the Lease"
    assert figures.next_edit < SOON_SECONDS
    assert figures.restarts == 0


@pytest.mark.fault(
    "F18",
    "a stranger takes the Lease, and lets it expire",
    oracles=ORACLES,
    broken="leads-for-ever",
    by="O6",
)
def test_lease_taken(case: Case) -> None:
    settings = election_settings(case.scale)

    def fault(pair: Pair) -> None:
        spec = {"holderIdentity": "stranger", "leaseDurationSeconds": round(settings.lease_duration)}
        pair.lease("patch", "--type=merge", "--patch", json.dumps({"spec": spec}))
        pair.go_on(expiry(settings))

    figures = survive(case, "Lease taken by a stranger", fault, after=5.0)
    # The old leader writes until it has read the Lease, so an edit in this time is applied at once. The standby waits
    # from its own look at the stranger.
    assert figures.next_edit < expiry(settings) + settings.retry_period
    assert figures.restarts == 1, "the old leader did not end"


@pytest.mark.fault(
    "F18",
    "the leader's requests for the Lease are refused or get no response",
    oracles=ORACLES,
    broken="leads-for-ever",
    by="O6",
)
@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Answer(403), id="403"),
        pytest.param(Answer(500), id="500"),
        pytest.param(Answer(429, retry_after=1), id="429"),
        pytest.param(Delay(FOR_EVER_SECONDS), id="hung"),
    ],
)
def test_lease_refused(case: Case, action: Action, request: pytest.FixtureRequest) -> None:
    settings = election_settings(case.scale)

    def fault(pair: Pair) -> None:
        pair.stand.inject(_lease_plan(action))
        pair.go_on(expiry(settings))
        pair.stand.lift()

    figures = survive(case, f"the leader's Lease requests: {request.node.callspec.id}", fault, after=5.0)
    assert figures.takeover is not None
    assert figures.takeover < expiry(settings)
    assert figures.slowest < expiry(settings)
    assert figures.restarts == 1, "the old leader did not end"


@pytest.mark.fault(
    "F18",
    "the standby's wall clock is stepped an hour ahead and back",
    oracles=ORACLES,
    broken="expires-by-the-wall-clock",
    by="O6",
)
def test_wall_clock(case: Case) -> None:
    # Longer than two looks of the standby, and within the leader's deadline.
    delay = 3 * election_settings(case.scale).retry_period

    def fault(pair: Pair) -> None:
        # So the standby sees the same Lease before and after the first step.
        pair.stand.inject(Plan((Rule(Match(resource="leases"), Delay(delay)),)))
        await_true(lambda: not pair.stand.not_met(), "a delayed renewal", SETTLED_SECONDS)
        pair.go_on(delay / 2)
        step_clock(pair)

    figures = survive(case, "clock of the standby", fault, options=((), CLOCK))
    assert figures.takeover is None, "the standby took the Lease"
    assert figures.next_edit < SOON_SECONDS
    assert figures.restarts == 0


@pytest.mark.fault(
    "F18",
    "the leader's wall clock is stepped an hour ahead and back",
    oracles=ORACLES,
    broken="expires-by-the-wall-clock",
    by="test",
)
def test_wall_clock_of_the_leader(case: Case) -> None:
    figures = survive(case, "clock of the leader", step_clock, options=(CLOCK, ()))
    assert figures.takeover is None, "the leader lost the Lease"
    assert figures.next_edit < SOON_SECONDS
    assert figures.restarts == 0


def step_clock(pair: Pair) -> None:
    """Step the wall clock of the replica with the options `CLOCK`."""
    for offset in (HOUR, -HOUR, 0):
        (pair.stand.folder / "clock").write_text(str(offset), encoding="utf-8")
        pair.go_on(2 * pair.settings.retry_period)


@pytest.mark.usefixtures("whole")
@pytest.mark.fault(
    "F18",
    "the API server is away for longer than the Lease",
    oracles=ORACLES,
    broken="leads-for-ever",
    by="O6",
)
def test_api_server_away(case: Case) -> None:
    settings = election_settings(case.scale)

    def fault(pair: Pair) -> None:
        for client in CLIENTS:
            pair.stand.do_to_program(client, "pause")
        pair.stand.do_to_program("kube-apiserver", "kill")
        pair.go_on(1.5 * settings.lease_duration)
        pair.stand.do_to_program("kube-apiserver", "start")
        for client in CLIENTS:
            pair.stand.do_to_program(client, "resume")
        pair.begin_fault()

    figures = survive(case, "API server away", fault, after=settings.lease_duration)
    # Both replicas have lost sight of the Lease, so the restarted one may acquire it first. A renewal just before the
    # outage is new to the standby, so it may wait for the expiry once more.
    assert figures.restarts == 1, "the leader has ended"
    assert figures.next_edit < max(BACK_SECONDS, expiry(settings))


def _lease_plan(action: Action) -> Plan:
    return Plan((Rule(Match(resource="leases", count=None), action),))
