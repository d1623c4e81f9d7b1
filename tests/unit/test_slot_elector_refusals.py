"""Replicas that share slots while the Lease of one slot does not exist and cannot be created, in virtual time."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.election.slots import Slot, slots
from unit.leases import SETTINGS
from unit.slot_group import FIRST, TAKEOVER, Group, virtually
from unit.slot_leases import SHARED

pytestmark = pytest.mark.thorough


class Quota:
    """Refuses the creation of some Leases, as a quota or a policy does."""

    def __init__(self, group: Group, *refused: Slot) -> None:
        self.over = False
        for slot in refused:
            server = group.servers.lease(slot.lease_name(SHARED))
            server.execute = self._guarded(server.execute)  # type: ignore[method-assign]

    def _guarded(self, execute: Any) -> Any:
        def guarded(method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
            if method == "POST" and not self.over:
                raise Refused(403, {"reason": "Forbidden", "message": "exceeded quota: count/leases"})
            answer: dict[str, Any] = execute(method, body)
            return answer

        return guarded


def led(group: Group) -> list[Slot]:
    return sorted(slot for each in group.all if each.running for slot in each.slots)


def test_the_other_slots_of_a_killed_replica_are_taken() -> None:
    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        victim, other, _ = group.all
        refused = min(other.slots)
        quota = Quota(group, refused)
        group.servers.lease(refused.lease_name(SHARED)).delete()
        await group.until(lambda: bool(other.lost_slots) or refused not in other.slots, 15)
        await victim.kill()
        others = [slot for slot in slots(6) if slot != refused]
        await group.until(lambda: led(group) == others, TAKEOVER + 2)
        assert [each.lost for each in group.all] == [[], [], []]
        assert all("exceeded quota" in str(each.elector.failure) for each in group.all if each.running)
        quota.over = True
        await group.until(lambda: group.whole(3, 3), FIRST)
        await asyncio.sleep(3)
        assert [each.elector.failure for each in group.all if each.running] == [None, None]

    virtually(body)


def test_the_existing_slots_are_given_to_a_new_replica() -> None:
    async def body(group: Group) -> None:
        refused = slots(6)[0]
        Quota(group, refused)
        first, second = group.all
        first.start()
        await group.until(lambda: len(first.slots) == 5, FIRST)
        second.start()
        await group.until(lambda: sorted(group.shares) == [2, 3], 15)
        assert refused not in led(group)

    virtually(body, "ab")


def test_creations_without_an_answer_do_not_add_up() -> None:
    """Each look waits for one of them at most."""

    async def body(group: Group) -> None:
        await group.started(6, 6)
        killed, other = group.all
        for slot in sorted(other.slots):
            server = group.servers.lease(slot.lease_name(SHARED))
            server.delete()
            server.latency = 3600.0
        taken = set(killed.slots)
        await group.until(lambda: not other.slots, 15)
        await killed.kill()
        # The expiry counts from one look, and another one notices it.
        await group.until(lambda: other.slots == taken, TAKEOVER + 2 * SETTINGS.request_timeout)

    virtually(body, "ab", count=12)
