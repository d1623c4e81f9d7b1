"""F32: a slot goes from one replica to another one, with one edit of a WebApp per second, and crashes at each step."""

from collections.abc import Callable
from signal import Signals

import pytest

from fault_engine.plan import Action, Delay, Drop, Kill, Match, Plan, Rule
from fault_engine.run import Case
from faults.replicas import WARM_SECONDS, Pair, Replica, await_true, election_settings
from faults.slot_pair import SlotPair
from faults.takeover import survive

ORACLES = ("O1", "O2", "O3", "O6")
START_SECONDS = 4.0
JOINED_SECONDS = 3.0
"""Until the next edit is applied if no replica ends: a release, and a look of the other replica."""

DRAIN_SECONDS = 2.0
"""The delay of each write, so that one of them is in flight when the drain begins."""


def release(pair: SlotPair) -> Match:
    """Return the release of the slot."""
    assert pair.lease_name is not None
    return Match(verb="update", resource="leases", name=pair.lease_name, body='*"holderIdentity": ""*')


def acquisition(pair: SlotPair) -> Match:
    """Return the acquisition of the slot."""
    assert pair.lease_name is not None
    return Match(verb="update", resource="leases", name=pair.lease_name)


def first_write(_: SlotPair) -> Match:
    """Return the first write to a child."""
    return Match(verb="patch", resource="services")


def expiry(case: Case) -> float:
    """Return the maximum seconds until an edit is applied if a restarted replica waits for the expiry of a slot.

    It observes the Lease from its start on. The other replica has its share already.
    """
    settings = election_settings(case.scale)
    # Two looks, the requests, and a reconcile on a busy machine.
    return START_SECONDS + settings.lease_duration + 2 * settings.retry_period + 2.0


@pytest.mark.ci
@pytest.mark.fault(
    "F32",
    "a second replica joins, and a slot is handed over",
    oracles=ORACLES,
    broken="writes-after-a-handover",
    by="O6",
)
@pytest.mark.parametrize("slow", [pytest.param(0.0, id="at rest"), pytest.param(2.0, id="with a write in flight")])
def test_join(case: Case, slow: float) -> None:
    def fault(pair: Pair) -> None:
        assert isinstance(pair, SlotPair)
        if slow:
            pair.inject(pair.leader, Plan((Rule(Match(verb="patch", resource="services", count=None), Delay(slow)),)))
        pair.join()
        pair.leader.proxy.lift()
        pair.begin_fault()

    figures = survive(case, f"a replica joins, writes delayed by {slow} s", fault, replicas=SlotPair, after=5.0)
    assert figures.next_edit < JOINED_SECONDS
    assert figures.slowest < JOINED_SECONDS + 2 * slow
    assert (figures.late, figures.restarts) == (0, 0)


@pytest.mark.fault(
    "F32",
    "the old holder of a slot is killed while it drains, with a write in flight",
    oracles=ORACLES,
    broken="takes-over-without-enqueueing",
    by="O1",
)
def test_drain(case: Case) -> None:
    def fault(pair: Pair) -> None:
        assert isinstance(pair, SlotPair)
        slow = Rule(Match(verb="patch", resource="services", count=None), Delay(DRAIN_SECONDS))
        pair.inject(pair.leader, Plan((slow,)))
        pair.standby.process.start(wait=False)
        await_true(pair.drains, "the first replica drains the slot", WARM_SECONDS)
        pair.leader.process.stop(Signals.SIGKILL)
        pair.begin_fault()
        pair.leader.proxy.lift()

    figures = survive(case, "killed in the drain", fault, replicas=SlotPair, after=expiry(case))
    assert figures.takeover is not None
    assert figures.slowest < expiry(case) + DRAIN_SECONDS


@pytest.mark.fault(
    "F32",
    "the old holder of a slot is killed at its release",
    oracles=ORACLES,
    broken="takes-over-without-enqueueing",
    by="O1",
)
@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Kill(forwarded=False), id="before"),
        pytest.param(Kill(answered=True), id="after"),
        pytest.param(Drop(answered=True), id="answer lost"),
    ],
)
def test_old_holder(case: Case, action: Action, request: pytest.FixtureRequest) -> None:
    def fault(pair: Pair) -> None:
        assert isinstance(pair, SlotPair)
        crash(pair, pair.leader, Plan((Rule(release(pair), action),)))

    what = f"release: {request.node.callspec.id}"
    figures = survive(case, what, fault, replicas=SlotPair, after=expiry(case))
    assert figures.slowest < expiry(case)


@pytest.mark.fault(
    "F32",
    "the new holder of a slot is killed at its acquisition, or at its first write",
    oracles=ORACLES,
    broken="takes-over-without-enqueueing",
    by="O1",
)
@pytest.mark.parametrize("step", [acquisition, first_write])
def test_new_holder(case: Case, step: Callable[[SlotPair], Match]) -> None:
    def fault(pair: Pair) -> None:
        assert isinstance(pair, SlotPair)
        crash(pair, pair.standby, Plan((Rule(step(pair), Kill(answered=True)),)))

    figures = survive(case, f"new holder: {step.__name__}", fault, replicas=SlotPair, after=expiry(case))
    assert figures.slowest < expiry(case)


def crash(pair: SlotPair, replica: Replica, plan: Plan) -> None:
    """Let the second replica join, with a fault at a step of the handover."""
    pair.inject(replica, plan)
    pair.standby.process.start(wait=False)
    pair.await_met(replica)
    pair.begin_fault()
