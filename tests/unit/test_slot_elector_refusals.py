"""Replicas that share slots while the Lease of a slot cannot be created or updated, in virtual time."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.election.lease import Lease
from coxswain.kernel.election.slots import Slot, slots
from unit.leases import SETTINGS
from unit.slot_group import FIRST, REBALANCED, TAKEOVER, Group, virtually
from unit.slot_leases import SHARED

pytestmark = pytest.mark.thorough


class Quota:
    """Refuses the creation of some Leases, as a quota or a policy does, or another request."""

    def __init__(self, group: Group, *refused: Slot, method: str = "POST", status: int = 403) -> None:
        self.over = False
        self._method = method
        self._status = status
        for slot in refused:
            server = group.servers.lease(slot.lease_name(SHARED))
            server.execute = self._guarded(server.execute)  # type: ignore[method-assign]

    def _guarded(self, execute: Any) -> Any:
        def guarded(method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
            if method == self._method and not self.over:
                raise Refused(self._status, {"reason": "Forbidden", "message": "exceeded quota: count/leases"})
            answer: dict[str, Any] = execute(method, body)
            return answer

        return guarded


def led(group: Group) -> list[Slot]:
    return sorted(slot for each in group.all if each.running for slot in each.slots)


def test_the_other_slots_of_a_killed_replica_are_taken(caplog: pytest.LogCaptureFixture) -> None:
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
        assert [each.elector.failure for each in group.all if each.running] == [None, None]
        assert "cannot be listed or created, retrying: 403 Forbidden: exceeded quota" in caplog.text
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


@pytest.mark.parametrize("refused", slots(6))
def test_a_slot_that_cannot_be_updated_costs_no_other_slot(refused: Slot) -> None:
    async def body(group: Group) -> None:
        quota = Quota(group, refused, method="PUT")
        for each in group.all:
            each.start()
        others = [slot for slot in slots(6) if slot != refused]
        await group.until(lambda: led(group) == others, FIRST + 5)
        await asyncio.sleep(60)
        assert led(group) == others
        quota.over = True
        await group.until(lambda: led(group) == list(slots(6)), 3.0)
        await group.until(lambda: group.whole(2, 2, 2), REBALANCED)

    virtually(body)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_surge_replica_is_ready_while_one_slot_has_no_leader(method: str) -> None:
    async def body(group: Group) -> None:
        refused = slots(6)[3]
        Quota(group, refused, method=method)
        *usual, surge = group.all
        for each in usual:
            each.start()
        await group.until(lambda: sum(group.shares) == 5, FIRST + 5)
        surge.start()
        await asyncio.sleep(5)
        for _ in range(60):
            await asyncio.sleep(1)
            assert surge.elector.failure is None
        assert refused not in led(group)

    virtually(body, "abcd")


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_no_replica_is_ready_while_no_slot_can_be_led(method: str) -> None:
    async def body(group: Group) -> None:
        quota = Quota(group, *slots(6), method=method)
        for each in group.all:
            each.start()
        await asyncio.sleep(FIRST)
        for _ in range(60):
            await asyncio.sleep(1)
            assert all("exceeded quota" in str(each.elector.failure) for each in group.all)
        quota.over = True
        await group.until(lambda: all(each.elector.failure is None for each in group.all), FIRST)

    virtually(body)


def test_a_replica_that_may_not_list_the_leases_is_not_ready() -> None:
    async def refused() -> dict[str, Lease]:
        raise Refused(403, {"message": "cannot list leases"})

    async def body(group: Group) -> None:
        *usual, surge = group.all
        for each in usual:
            each.start()
        await group.until(lambda: group.whole(2, 2, 2), FIRST)
        surge.start()
        await asyncio.sleep(0)
        await group.until(lambda: surge.elector.failure is None, 5)
        requests = surge.elector._observed._requests
        allowed, requests.leases = requests.leases, refused  # type: ignore[method-assign]
        await group.until(lambda: "cannot list leases" in str(surge.elector.failure), 5)
        requests.leases = allowed  # type: ignore[method-assign]
        await group.until(lambda: surge.elector.failure is None, 5)

    virtually(body, "abcd")


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


def test_an_outage_of_writes_makes_no_replica_try_more_than_its_share() -> None:
    """After the outage the fastest one would get all slots, and give most of them back."""

    async def body(group: Group) -> None:
        await group.started(2, 2, 2)
        for slot in slots(6):
            group.servers.lease(slot.lease_name(SHARED)).delete()
        quota = Quota(group, *slots(6), method="PUT", status=500)
        await group.until(lambda: not led(group), 30)
        await asyncio.sleep(30)
        tried = [len(each.elector._terms) for each in group.all]
        assert sum(tried), "they try to acquire slots"
        assert max(tried) <= 2
        quota.over = True
        await group.until(lambda: group.whole(2, 2, 2), FIRST)

    virtually(body)
