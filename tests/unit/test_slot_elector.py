"""Replicas that share slots, in virtual time."""

import asyncio
from collections import Counter

import pytest

from coxswain.kernel.election.leadership import SlotLeadership
from coxswain.kernel.election.slots import slots
from model_cluster.virtual import run
from unit.leases import SETTINGS, Candidate, virtual_loop
from unit.slot_group import FIRST, REBALANCED, TAKEOVER, Group, virtually
from unit.slot_leases import SHARED, Replica, overlaps

pytestmark = pytest.mark.thorough


def test_replicas_that_start_together_share_without_a_move() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        await asyncio.sleep(600)
        assert group.whole(2, 2, 2)
        assert group.servers.transitions(6) == 6, "each slot has changed its holder once"
        assert [each.surplus_slots for each in group.all] == [0, 0, 0]

    virtually(body)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_a_replica_that_lost_a_slot_takes_another_one_in_the_same_look(seed: int) -> None:
    for number in range(seed, seed + 4):
        group = Group("ab", 6, number)

        async def start(group: Group = group) -> None:
            await group.started(3, 3)

        run(virtual_loop(), start())


def test_each_replica_sends_five_requests_in_each_period() -> None:
    """A LIST, two renewals of slots, and a read and a renewal of the shared Lease."""

    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        group.servers.requests.clear()
        await asyncio.sleep(160)
        sent = Counter(method for _, method in group.servers.requests)
        looks = sent["LIST"]
        assert 3 * 160 / 1.8 <= looks <= 3 * 160 / 1.4
        assert sent["GET"] == pytest.approx(looks, rel=0.05)
        assert sent["PUT"] == pytest.approx(3 * looks, rel=0.05)
        assert sent.keys() == {"LIST", "GET", "PUT"}

    virtually(body)


def test_the_right_to_a_slot_needs_both_leases() -> None:
    now = 0.0
    right = SlotLeadership(6, lambda: now)
    names = [next(name for name in map("team-{}".format, range(100)) if slot.covers(name)) for slot in slots(6)]
    slot, shared = right.begin(slots(6)[2]), right.join()
    assert not any(map(right.holds, names))
    slot.extend(10)
    assert not any(map(right.holds, names))
    shared.extend(5)
    assert [right.holds(name) for name in names] == [False, False, True, False, False, False]
    now = 5.0
    assert not right.holds(names[2])
    right.join().extend(20)
    assert right.holds(names[2])
    right.begin(slots(6)[2])
    assert not right.holds(names[2])
    right.begin(slots(6)[2]).extend(20)
    right.end()
    assert not right.holds(names[2])


@pytest.mark.parametrize("count", [2, 7, 64])
def test_each_replica_holds_at_most_its_quota(count: int) -> None:
    async def body(group: Group) -> None:
        for each in group.all:
            each.start()
        quota = -(-count // 3)
        await group.until(lambda: sum(group.shares) == count, FIRST + 10)
        await asyncio.sleep(60)
        assert sum(group.shares) == count
        assert max(group.shares) <= quota

    virtually(body, count=count)


def test_a_new_replica_gets_its_share_and_nothing_else_moves() -> None:
    async def body(group: Group) -> None:
        [first, second, third] = group.all
        first.start()
        await group.until(lambda: len(first.slots) == 6, FIRST)
        second.start()
        print("second", await group.until(lambda: group.whole(3, 3), REBALANCED))
        third.start()
        print("third", await group.until(lambda: group.whole(2, 2, 2), REBALANCED))
        await asyncio.sleep(600)
        assert group.servers.transitions(6) == 6 + 3 + 2
        assert first.lost == second.lost == third.lost == []

    virtually(body)


def test_a_slot_is_released_after_its_drain() -> None:
    async def body(group: Group) -> None:
        first, second = group.all
        first.start()
        await group.until(lambda: len(first.slots) == 6, FIRST)
        second.start()
        await group.until(lambda: first.surplus_slots == 3, REBALANCED)
        held = set(first.slots)
        await asyncio.sleep(29)
        assert first.slots == held
        assert second.slots == set()
        assert all(first.rights[-1]._slots[slot.number].held for slot in held), "it may complete its writes"
        await group.until(lambda: group.whole(3, 3), 5)

    virtually(body, "ab", drain=30.0)


def test_a_replica_that_ends_leaves_its_slots_at_once() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        await group.all[0].terminate()
        print("left", await group.until(lambda: group.whole(3, 3), 5.0))
        await asyncio.sleep(60)
        assert group.servers.transitions(6) == 8

    virtually(body)


def test_the_slots_of_a_killed_replica_are_taken_after_the_expiry() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        await asyncio.sleep(100.3)
        await group.all[0].kill()
        passed = await group.until(lambda: group.whole(3, 3), TAKEOVER)
        assert passed > 12

    virtually(body)


@pytest.mark.parametrize("restart", [1.0, 5.0, 12.0])
def test_the_slots_of_a_killed_replica_wait_for_its_restart(restart: float) -> None:
    """The new process counts as a replica. It waits for the expiry from its own first look on."""

    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        await group.all[0].kill()
        await asyncio.sleep(restart)
        group.all[0].start()
        print(restart, await group.until(lambda: group.whole(2, 2, 2), TAKEOVER))

    virtually(body)


@pytest.mark.parametrize("restart", [1.0, 3.0, 5.0])
def test_a_pod_whose_container_restarts_does_not_count_twice(restart: float) -> None:
    """With three replicas, the quota would be two slots."""

    async def body(group: Group) -> None:
        await group.started(3, 3)
        await asyncio.sleep(50)
        killed, other = group.all
        await killed.kill()
        await asyncio.sleep(restart)
        killed.start()
        await group.until(lambda: group.whole(3, 3), TAKEOVER)
        assert other.surplus_slots == 0

    virtually(body, "ab")


def test_a_replica_that_ends_again_and_again_moves_no_slots() -> None:
    async def body(group: Group) -> None:
        first, second, third = group.all
        first.start()
        second.start()
        await group.until(lambda: group.whole(3, 3), FIRST)
        for _ in range(5):
            third.start()
            await asyncio.sleep(4)
            await third.terminate()
            await asyncio.sleep(4)
        assert group.whole(3, 3)
        assert group.servers.transitions(6) == 6
        assert first.surplus_slots == second.surplus_slots == 0

    virtually(body)


def test_a_paused_replica_loses_its_slots_and_joins_again() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        paused = group.all[0]
        before = set(paused.slots)
        paused.pause(60)
        await group.until(lambda: not before - group.all[1].slots - group.all[2].slots, TAKEOVER)
        await group.until(lambda: bool(paused.lost), 60)
        await group.until(lambda: group.whole(2, 2, 2), 30)
        assert "lost the Lease" in paused.lost[0]

    virtually(body)


def test_a_stranger_takes_one_slot_and_the_others_stay() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        victim = group.all[0]
        slot = min(victim.slots)
        group.servers.lease(slot.lease_name(SHARED)).edit(holderIdentity="stranger")
        await group.until(lambda: slot not in victim.slots, 2 * SETTINGS.retry_period)
        assert victim.lost_slots == 1
        assert victim.lost == [], "the process goes on"
        assert len(victim.slots) == 1
        await group.until(lambda: group.whole(2, 2, 2), TAKEOVER)

    virtually(body)


def test_deleted_leases_change_nothing() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        before = [set(each.slots) for each in group.all]
        for server in group.servers.all.values():
            server.delete()
        await asyncio.sleep(60)
        assert [each.slots for each in group.all] == before
        assert [each.lost for each in group.all] == [[], [], []]

    virtually(body)


async def start_unready(*replicas: Replica) -> None:
    """Start replicas whose caches do not become complete, such as new versions that lack a right."""
    for each in replicas:
        each.start()
    await asyncio.sleep(0)
    for each in replicas:
        each.elector.synced = False


def test_an_unready_replica_takes_no_slots_from_ready_ones() -> None:
    async def body(group: Group) -> None:
        first, second, unready = group.all
        first.start()
        second.start()
        await group.until(lambda: group.whole(3, 3), FIRST)
        await start_unready(unready)
        await asyncio.sleep(90)
        assert group.shares == [3, 3, 0]
        assert first.surplus_slots == second.surplus_slots == 0
        unready.elector.synced = True
        await group.until(lambda: group.whole(2, 2, 2), REBALANCED)

    virtually(body)


def test_an_unready_replica_leads_only_while_no_other_is_ready() -> None:
    async def body(group: Group) -> None:
        ready, unready = group.all
        ready.start()
        await group.until(lambda: len(ready.slots) == 6, FIRST)
        await start_unready(unready)
        await asyncio.sleep(60)
        await ready.kill()
        await group.until(lambda: len(unready.slots) == 6, TAKEOVER)
        ready.start()
        await group.until(lambda: len(ready.slots) == 6, REBALANCED)
        assert unready.slots == set()

    virtually(body, "ab")


def test_replicas_without_a_ready_one_share_the_slots() -> None:
    async def body(group: Group) -> None:
        await start_unready(*group.all)
        await asyncio.sleep(28)
        assert group.shares == [0, 0, 0]
        await group.until(lambda: group.whole(2, 2, 2), FIRST)

    virtually(body)


def test_replicas_with_another_number_of_slots_wait_for_the_first_ones() -> None:
    async def body(group: Group) -> None:
        await group.started(3, 3)
        other = Replica("x", group.servers, group.chance, 8, 0.5)
        group.all.append(other)
        other.start()
        await asyncio.sleep(60)
        assert other.slots == set()
        assert other.elector.group == "slots-6"
        for each in group.all[:2]:
            await each.terminate()
        await group.until(lambda: len(other.slots) == 8, FIRST)
        assert other.lost == []

    virtually(body, "ab")


def test_a_replica_without_slots_and_some_with_slots_never_write_together() -> None:
    async def body(group: Group) -> None:
        single = Candidate("single", group.servers.lease(SHARED), group.chance)
        single.start()
        await group.until(lambda: single.leads, FIRST)
        for each in group.all:
            each.start()
        await asyncio.sleep(60)
        assert group.shares == [0, 0]
        await single.terminate()
        await group.until(lambda: group.whole(3, 3), 8.0)  # they have observed the Leases of the slots meanwhile
        single.start()
        await asyncio.sleep(60)
        assert not single.leads
        assert group.whole(3, 3)
        for each in group.all:
            await each.terminate()
        assert await group.until(lambda: single.leads, 17) > 10
        assert [end for _, end in single.leaderships[0].periods][-1] < 100

    virtually(body, "ab")


@pytest.mark.parametrize("seed", range(6))
def test_a_slot_is_not_acquired_outside_of_the_group(seed: int) -> None:
    """A cut off replica loses the shared Lease to another group, while it still tries to acquire slots."""
    group = Group("a", 2, seed)

    async def main() -> None:
        first, other = group.all[0], Replica("z", group.servers, group.chance, 4, 0.5)
        group.all.append(other)
        first.start()
        await asyncio.sleep(0)
        await group.until(lambda: bool(first.elector._terms), FIRST)
        first.faults.refuses = 503
        other.start()
        await asyncio.sleep(0)
        await group.until(lambda: other.elector._leadership.shared.held, FIRST)
        first.faults.refuses = 0
        await group.until(lambda: len(other.slots) == 4, FIRST + TAKEOVER)
        assert first.slots == set()

    run(virtual_loop(), main())
    assert overlaps(group.all) == []
