"""Electors against a fake Lease store, in virtual time."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model_cluster.virtual import run
from unit.leases import SETTINGS, Candidate, Faults, LeaseServer, overlaps, virtual_loop

ALONE = 16.0
"""Seconds until the first leader: nobody knows who held a Lease that does not exist."""
TAKEOVER = 17.0


class Group:
    """Candidates of one Lease."""

    def __init__(self, names: str = "ab", seed: int = 1) -> None:
        self.server = LeaseServer()
        chance = random.Random(seed).random
        self.all = [Candidate(name, self.server, chance) for name in names]

    @property
    def leaders(self) -> list[Candidate]:
        return [each for each in self.all if each.leads]

    @property
    def holder(self) -> str:
        return str(self.server.stored["spec"]["holderIdentity"]) if self.server.stored else ""

    async def led(self, seconds: float = ALONE) -> tuple[Candidate, list[Candidate]]:
        """Start all; return the leader and the others."""
        for each in self.all:
            each.start()
        await self.until(lambda: bool(self.leaders), seconds)
        [leader] = self.leaders
        return leader, [each for each in self.all if each is not leader]

    async def until(self, check: Callable[[], bool], seconds: float, pause: float = 0.01) -> float:
        """Wait for a condition; return the virtual seconds. Fail after `seconds`."""
        clock = asyncio.get_running_loop().time
        begin = clock()
        while not check():
            await asyncio.sleep(pause)
            assert clock() - begin <= seconds, f"not within {seconds} s: {self.server.stored}"
        return clock() - begin


def virtually(body: Callable[[Group], Coroutine[Any, Any, None]], names: str = "ab") -> None:
    """Run a test in virtual time. No two processes may lead at the same time."""
    group = Group(names)

    async def main() -> None:
        await body(group)

    run(virtual_loop(), main())
    assert overlaps(group.all) == []


def test_one_leads_and_the_others_stand_by() -> None:
    async def body(group: Group) -> None:
        leader, others = await group.led()
        await asyncio.sleep(600)
        assert group.leaders == [leader]
        assert leader.acquired == 1
        assert [each.acquired for each in others] == [0, 0]
        assert group.server.stored is not None
        assert group.server.stored["spec"]["leaseTransitions"] == 1
        written = [who for who, method in group.server.requests if method == "PUT"]
        assert set(written) == {leader.name}, "the standby reads only"
        assert 600 / 1.8 - 5 <= len(written) <= 600 / 1.4 + 5

    virtually(body, "abc")


def test_a_release_is_taken_over_at_the_next_look() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        await leader.terminate()
        assert not leader.leads
        assert await group.until(lambda: other.leads, 2.0) <= 2.0
        assert group.server.stored is not None
        assert group.server.stored["spec"]["leaseTransitions"] == 2

    virtually(body)


def test_a_killed_leader_is_followed_within_17_s() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        await asyncio.sleep(100.3)
        leader.kill()
        assert await group.until(lambda: other.leads, TAKEOVER) > 10

    virtually(body)


def test_a_leader_without_an_answer_ends_before_the_others_begin() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.faults.hangs = True
        await group.until(lambda: bool(leader.lost), SETTINGS.renew_deadline + 0.1)
        assert not leader.leads
        [message] = leader.lost
        assert "not renewed for 10 s (no answer within 5 s)" in message, "not the rest of the time, less than 5 s"
        assert not other.leads
        await group.until(lambda: other.leads, TAKEOVER)

    virtually(body)


def test_a_loss_is_explained_by_the_last_error_that_had_time_to_arrive() -> None:
    async def body(group: Group) -> None:
        leader, _ = await group.led()
        leader.faults.refuses = 500
        await asyncio.sleep(SETTINGS.renew_deadline - SETTINGS.retry_period)
        leader.faults.refuses, leader.faults.hangs = 0, True
        await group.until(lambda: bool(leader.lost), SETTINGS.renew_deadline)
        [message] = leader.lost
        assert "not renewed for 10 s (500 " in message

    virtually(body)


def test_a_paused_leader_ends_without_a_request() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.pause(60)
        await group.until(lambda: other.leads, TAKEOVER)
        sent = len([who for who, method in group.server.requests if (who, method) == (leader.name, "PUT")])
        await group.until(lambda: bool(leader.lost), 60)
        # A request that was in flight before the pause is answered after it.
        now = len([who for who, method in group.server.requests if (who, method) == (leader.name, "PUT")])
        assert now == sent
        assert "suspended" in leader.lost[0] or "no answer" in leader.lost[0]
        await asyncio.sleep(60)
        assert group.leaders == [other]

    virtually(body)


def test_a_lost_answer_costs_no_leadership() -> None:
    async def body(group: Group) -> None:
        leader, _ = await group.led()
        leader.faults.loses_answers = True
        await asyncio.sleep(6)
        assert leader.leads
        leader.faults.loses_answers = False
        await asyncio.sleep(30)
        assert group.leaders == [leader]
        assert leader.lost == []

    virtually(body)


@pytest.mark.parametrize("status", [403, 409, 429, 500])
def test_refused_renewals_end_the_leadership_after_the_deadline(status: int) -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.faults.refuses = status
        passed = await group.until(lambda: bool(leader.lost), SETTINGS.renew_deadline + 0.1)
        assert passed > SETTINGS.renew_deadline - SETTINGS.retry_period
        await group.until(lambda: other.leads, TAKEOVER)

    virtually(body)


def test_a_deleted_lease_changes_nothing() -> None:
    async def body(group: Group) -> None:
        leader, _ = await group.led()
        group.server.delete()
        await asyncio.sleep(60)
        assert group.leaders == [leader]
        assert group.holder == f"{leader.name}_1"
        assert leader.lost == []

    virtually(body, "abc")


def test_a_lease_deleted_under_a_leader_without_connection_is_waited_for() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.faults.hangs = True
        group.server.delete()
        await group.until(lambda: bool(leader.lost), 11)
        await group.until(lambda: other.leads, TAKEOVER)

    virtually(body)


def test_a_stranger_takes_the_lease_and_the_leader_ends() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        group.server.edit(holderIdentity="stranger")
        await group.until(lambda: bool(leader.lost), 2.0)
        assert "stranger holds it" in leader.lost[0]
        assert group.leaders == []
        await group.until(lambda: bool(group.leaders), TAKEOVER)
        assert other.lost == []

    virtually(body)


@pytest.mark.parametrize("seconds", [-1e6, 1e6, 3600 * 5.5])
def test_a_wrong_wall_clock_is_of_no_consequence(seconds: float) -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.clock_error = seconds
        await asyncio.sleep(60)
        other.clock_error, leader.clock_stands = -seconds, True
        await asyncio.sleep(60)
        assert group.leaders == [leader]
        assert leader.lost == other.lost == []

    virtually(body)


def test_a_release_without_an_answer_ends_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.faults.hangs = True
        begin = asyncio.get_running_loop().time()
        await leader.terminate()
        # The thread of the election is cancelled after the shorter time.
        shortest, longest = SETTINGS.release_timeout, SETTINGS.release_timeout + SETTINGS.request_timeout
        assert shortest < asyncio.get_running_loop().time() - begin < longest
        await group.until(lambda: other.leads, TAKEOVER)

    virtually(body)
    assert "others wait for the expiry: no answer within 5 s" in caplog.text


def test_a_late_renewal_does_not_undo_a_release() -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        leader.faults.late = 6.0
        await asyncio.sleep(5.5)
        leader.faults.late = 0.0
        await leader.terminate()
        assert group.holder == ""
        await group.until(lambda: other.leads, 2.0)
        await asyncio.sleep(20)
        assert group.leaders == [other]

    virtually(body)


def test_a_leader_restarted_by_sigkill_waits_for_its_own_old_lease() -> None:
    async def body(group: Group) -> None:
        [leader] = group.all
        await group.led()
        leader.kill()
        leader.start()
        passed = await group.until(lambda: leader.leads, TAKEOVER)
        assert passed > 15

    virtually(body, "a")


FAULTS = ("hangs", "loses_answers", "late", "refuses")

steps = st.one_of(
    st.tuples(st.just("pause"), st.integers(0, 2), st.floats(0.1, 40)),
    st.tuples(st.just("kill"), st.integers(0, 2), st.just(0.0)),
    st.tuples(st.just("terminate"), st.integers(0, 2), st.just(0.0)),
    st.tuples(st.just("clock"), st.integers(0, 2), st.floats(-1e6, 1e6)),
    st.tuples(st.just("delete"), st.just(0), st.just(0.0)),
    st.tuples(st.just("clear"), st.just(0), st.just(0.0)),
    st.tuples(st.sampled_from(FAULTS), st.integers(0, 2), st.floats(0.1, 20)),
)
scripts = st.lists(st.tuples(st.floats(0, 12), steps), min_size=1, max_size=12)

_RECOVERY = TAKEOVER + 2 * SETTINGS.request_timeout + 1
"""After the last fault: requests without an answer end, a lost process starts again, and the Lease expires."""


async def act(group: Group, act: str, number: int, amount: float) -> float:
    """Do one step of a script; return the seconds until its effect ends."""
    who = group.all[number % len(group.all)]
    match act:
        case "pause":
            who.pause(amount)
            return amount
        case "kill" | "terminate":
            if act == "kill":
                who.kill()
            else:
                await who.terminate()
            who.start()
        case "clock":
            who.clock_error = amount
        case "delete":
            group.server.delete()
        case "clear":
            group.server.edit(holderIdentity="")
        case "late":
            who.faults.late = amount
        case "refuses":
            who.faults.refuses = 500
        case _:
            setattr(who.faults, act, True)
    if act in FAULTS:
        asyncio.get_running_loop().call_later(amount, heal, who.faults, act)
        return amount * 2
    return 0.0


def heal(faults: Faults, name: str) -> None:
    setattr(faults, name, getattr(Faults(), name))


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(names=st.sampled_from(["ab", "abc"]), script=scripts, seed=st.integers(0, 9))
def test_never_two_lead_and_after_the_faults_one_does(
    names: str, script: list[tuple[float, tuple[str, int, float]]], seed: int
) -> None:
    group = Group(names, seed)

    async def main() -> None:
        for each in group.all:
            each.start()
        ends = 0.0
        for delay, (name, number, amount) in script:
            await asyncio.sleep(delay)
            ends = max(ends, asyncio.get_running_loop().time() + await act(group, name, number, amount))
        await asyncio.sleep(max(0.0, ends - asyncio.get_running_loop().time()))
        await group.until(lambda: bool(group.leaders), _RECOVERY, pause=0.2)
        leaders = list(group.leaders)
        await asyncio.sleep(30)
        assert group.leaders == leaders
        assert len(leaders) == 1

    run(virtual_loop(), main())
    assert overlaps(group.all) == []
