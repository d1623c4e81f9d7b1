"""Random faults of replicas that share slots, in virtual time."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_cluster.virtual import run
from unit.leases import SETTINGS, Faults, virtual_loop
from unit.slot_group import REBALANCED, TAKEOVER, Group
from unit.slot_leases import SHARED, overlaps

pytestmark = pytest.mark.thorough

FAULTS = ("hangs", "loses_answers", "late", "refuses")
steps = st.one_of(
    st.tuples(st.just("pause"), st.integers(0, 2), st.floats(0.1, 40)),
    st.tuples(st.just("kill"), st.integers(0, 2), st.floats(0, 20)),
    st.tuples(st.just("terminate"), st.integers(0, 2), st.floats(0, 20)),
    st.tuples(st.just("delete"), st.integers(0, 6), st.just(0.0)),
    st.tuples(st.just("clear"), st.integers(0, 6), st.just(0.0)),
    st.tuples(st.sampled_from(FAULTS), st.integers(0, 2), st.floats(0.1, 20)),
)
scripts = st.lists(st.tuples(st.floats(0, 12), steps), min_size=1, max_size=10)


async def act(group: Group, what: str, number: int, amount: float) -> None:
    """Do one step of a script, and wait for its end."""
    who = group.all[number % len(group.all)]
    match what:
        case "pause":
            who.pause(amount)
        case "kill" | "terminate":
            await (who.kill() if what == "kill" else who.terminate())
            await asyncio.sleep(amount)
            who.start()
        case "delete" | "clear":
            lease = group.servers.lease(SHARED if number == 6 else f"{SHARED}-slot-{number}")
            if what == "delete":
                lease.delete()
            else:
                lease.edit(holderIdentity="")
        case _:
            value = {"late": amount, "refuses": 500}.get(what, True)
            setattr(who.faults, what, value)
            await asyncio.sleep(amount)
            setattr(who.faults, what, getattr(Faults(), what))


@settings(max_examples=15, deadline=None)
@given(script=scripts, seed=st.integers(0, 9), drain=st.sampled_from([0.0, 3.0]))
def test_no_slot_has_two_writers_and_after_the_faults_each_has_one(
    script: list[tuple[float, tuple[str, int, float]]], seed: int, drain: float
) -> None:
    group = Group("abc", 6, seed, drain)

    async def main() -> None:
        for each in group.all:
            each.start()
        for delay, (what, number, amount) in script:
            await asyncio.sleep(delay)
            await act(group, what, number, amount)
        # A pause ends, a lost Lease is noticed, and its expiry is waited for.
        await asyncio.sleep(40 + SETTINGS.renew_deadline)
        await group.until(lambda: group.whole(2, 2, 2), TAKEOVER + 2 * REBALANCED + 3 * drain, pause=0.2)
        before = [each.acquired_slots for each in group.all]
        await asyncio.sleep(60)
        assert group.whole(2, 2, 2)
        assert [each.acquired_slots for each in group.all] == before

    run(virtual_loop(), main())
    assert overlaps(group.all) == []
