"""Replicas that share slots: the probes, a slow API server and the end of a process, in virtual time."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.election.members import ANNOTATION
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


def entries(group: Group) -> set[str]:
    """Return the replicas with an entry in the shared Lease."""
    stored = group.servers.lease(SHARED).stored
    assert stored is not None
    return set(json.loads(stored["metadata"]["annotations"][ANNOTATION]))


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


def test_replicas_that_end_together_leave_no_entries() -> None:
    """Their writes to the shared Lease conflict. Each entry left behind would count as a replica until its expiry."""

    async def body(group: Group) -> None:
        await group.started(2, 2, 2, 2, 2, 2)
        await asyncio.sleep(10)
        first, second, *ended = group.all
        await asyncio.gather(*(each.terminate() for each in ended))
        assert entries(group) == {first.identity, second.identity}
        await group.until(lambda: group.whole(6, 6), 6.0)

    virtually(body, "abcdef", count=12)


@pytest.mark.parametrize("status", [409, 500])
def test_an_entry_that_cannot_be_removed_is_logged(status: int, caplog: pytest.LogCaptureFixture) -> None:
    async def body(group: Group) -> None:
        await group.started(3, 3)
        server = group.servers.lease(SHARED)
        execute = server.execute

        def refused(method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
            if method == "PUT":
                raise Refused(status, {})
            return execute(method, body)

        server.execute = refused  # type: ignore[method-assign]
        clock = asyncio.get_running_loop().time
        begun = clock()
        await group.all[0].terminate()
        assert 8.0 < clock() - begun < 10.0, "it tries again until the process ends"

    virtually(body, "ab")
    assert f"leaving the Lease coxswain-system/coxswain failed, others wait for the expiry: {status}" in caplog.text


def test_a_replica_that_never_joined_ends_at_once() -> None:
    """It may not even read the shared Lease."""

    async def body(group: Group) -> None:
        server = group.servers.lease(SHARED)

        def refused(*_: object) -> dict[str, Any]:
            raise Refused(403, {})

        server.execute = refused  # type: ignore[method-assign, assignment]
        group.all[0].start()
        await asyncio.sleep(5)
        clock = asyncio.get_running_loop().time
        begun = clock()
        await group.all[0].terminate()
        assert clock() - begun < 1.0

    virtually(body, "a")


def test_a_first_renewal_in_flight_at_the_end_leaves_no_entry() -> None:
    async def body(group: Group) -> None:
        *usual, new = group.all
        for each in usual:
            each.start()
        await group.until(lambda: group.whole(3, 3), FIRST)
        await asyncio.sleep(5.5)
        new.start()
        await asyncio.sleep(0)
        # Its first renewal is on its way for a while.
        store = new.elector._shared._store
        update, sent = store.update, asyncio.Event()

        async def slow(manifest: Mapping[str, Any]) -> Any:
            if not sent.is_set() and new.identity in str(manifest):
                sent.set()
                await asyncio.sleep(0.3)
            return await update(manifest)

        store.update = slow  # type: ignore[method-assign]
        await sent.wait()
        await new.terminate()
        await asyncio.sleep(0.5)
        assert entries(group) == {each.identity for each in usual}

    virtually(body)
