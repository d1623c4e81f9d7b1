"""Replicas that share slots: the probes, a slow API server and the end of a process, in virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from coxswain.kernel.election.slot_elector import SlotElector
from coxswain.kernel.election.slots import slots
from unit.slot_group import FIRST, Group, virtually
from unit.slot_leases import SHARED

pytestmark = pytest.mark.thorough


class Meanwhile:
    """The term of a slot. While the probes of the main loop read it, the thread of the election works."""

    def __init__(self, term: Any, act: Callable[[], None]) -> None:
        self._term = term
        self._act = act

    def __getattr__(self, name: str) -> Any:
        self._act()
        return getattr(self._term, name)


@pytest.mark.parametrize("read", [lambda elector: elector.heartbeat, lambda elector: elector.failure])
def test_the_probes_may_read_while_slots_come_and_go(read: Callable[[SlotElector], object]) -> None:
    async def body(group: Group) -> None:
        await group.started(3, 3)
        elector = group.all[0].elector
        free = [slot for slot in slots(6) if slot not in elector._terms]

        def work() -> None:
            if free:
                elector._take(free.pop())

        for slot, term in elector._terms.items():
            elector._terms[slot] = cast("Any", Meanwhile(term, work))
        read(elector)
        assert free == []

    virtually(body, "ab")


def test_the_first_start_at_a_slow_server_is_alive() -> None:
    """It creates 64 Leases, one after the other."""

    async def body(group: Group) -> None:
        for slot in slots(64):
            group.servers.lease(slot.lease_name(SHARED)).latency = 0.3
        [replica] = group.all
        replica.start()
        ages = []
        for _ in range(600):
            await asyncio.sleep(0.1)
            ages.append(asyncio.get_running_loop().time() - replica.elector.heartbeat)
        assert max(ages) < 3.0

    virtually(body, "a", count=64)


def test_an_acquisition_in_flight_at_the_end_is_released() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        for slot in slots(6):
            group.servers.lease(slot.lease_name(SHARED)).latency = 0.1
        ended, *others = group.all
        free = [number for number, holder in group.servers.holders(6).items() if holder == ended.identity]
        await ended.terminate()

        def acquiring() -> list[str]:
            """Return who has acquired a slot without knowing it."""
            holders = group.servers.holders(6)
            known = {each.identity: {slot.number for slot in each.slots} for each in others}
            return [holders[n] for n in free if holders[n] in known and n not in known[holders[n]]]

        await group.until(lambda: bool(acquiring()), 5.0)
        [ending] = [each for each in others if each.identity == acquiring()[0]]
        await ending.terminate()
        assert ending.identity not in group.servers.holders(6).values()

    virtually(body)


def test_an_ending_replica_takes_nothing_and_leaves_its_share_to_others() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        ended, ending, other = group.all
        kept = set(ending.slots)
        ending.elector.ending = True
        await asyncio.sleep(1)
        await ended.terminate()
        await group.until(lambda: len(other.slots) == 4, 6.0)
        await asyncio.sleep(9)
        assert ending.slots == kept, "its drain still needs them"
        assert ending.surplus_slots == 0
        await ending.terminate()
        await group.until(lambda: group.whole(6), FIRST)

    virtually(body)
