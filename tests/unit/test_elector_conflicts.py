"""Renewals that conflict with the writes of others, in virtual time.

A process with a Lease of its own reports them. If several processes share a Lease, the renewals of one extend the right
of all.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.election.elector import Elector, LeadershipLost, Right
from coxswain.kernel.election.lease import Lease
from coxswain.kernel.election.slots import slots
from model_cluster.virtual import run
from unit.leases import SETTINGS, Connection, Faults, LeaseServer, RecordedLeadership, virtual_loop
from unit.slot_group import Group, virtually
from unit.slot_leases import SHARED

pytestmark = pytest.mark.thorough


class Contended(Connection):
    """Other processes are always faster once it leads."""

    contended = False

    async def update(self, manifest: Mapping[str, Any]) -> Lease:
        if self.contended:
            await asyncio.sleep(0.01)
            raise Refused(409, {"reason": "Conflict"})
        return await super().update(manifest)


class Member:
    """One process of the group."""

    def __init__(self, connection: Connection, right: Right) -> None:
        loop = asyncio.get_running_loop()
        self.right = RecordedLeadership(loop.time)
        self.elector = Elector(
            connection,
            self.right,
            "slots-6",
            SETTINGS,
            clock=loop.time,
            acquired=lambda: None,
            chance=random.Random(1).random,
            right=right,
        )
        self.task = asyncio.create_task(self.elector.run())


async def contended(server: LeaseServer, *, shared: bool) -> tuple[Member, Member]:
    """Return a member whose renewals are refused, and another one that renews the Lease."""
    connection = Contended(server, "refused", Faults())
    refused = Member(connection, Right(shared=shared))
    other = Member(Connection(server, "other", Faults()), Right(shared=True))
    await asyncio.sleep(20)
    connection.contended = True
    return refused, other


def test_the_renewals_of_others_extend_a_shared_right() -> None:
    async def main() -> None:
        server = LeaseServer()
        refused, other = await contended(server, shared=True)
        await asyncio.sleep(60)
        assert refused.right.held
        assert refused.elector.failure is None, "others renew the Lease, so nothing is wrong"
        other.task.cancel()
        assert server.stored is not None
        version, now = server.stored["metadata"]["resourceVersion"], asyncio.get_running_loop().time()
        with pytest.raises(LeadershipLost, match="not renewed for 10 s"):
            await refused.task
        assert server.stored["metadata"]["resourceVersion"] == version
        [[_, until]] = refused.right.periods
        assert now < until <= now + SETTINGS.renew_deadline, "no read counts from its own time"

    run(virtual_loop(), main())


def test_the_right_to_a_lease_of_one_process_needs_its_own_renewals(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        refused, _ = await contended(LeaseServer(), shared=False)
        await asyncio.sleep(SETTINGS.renew_deadline / 2)
        assert str(refused.elector.failure).startswith("409 Conflict")
        with pytest.raises(LeadershipLost, match=r"not renewed for 10 s \(409 Conflict"):
            await refused.task

    run(virtual_loop(), main())
    assert "cannot be renewed, retrying: 409 Conflict" in caplog.text


def test_a_large_group_at_a_slow_server_loses_no_process() -> None:
    async def body(group: Group) -> None:
        for name in (SHARED, *(slot.lease_name(SHARED) for slot in slots(16))):
            group.servers.lease(name).latency = 0.1
        for each in group.all:
            each.start()
        await asyncio.sleep(900)
        assert [each.lost for each in group.all] == [[] for _ in group.all]
        assert sum(group.shares) == 16

    virtually(body, "abcdefgh", count=16)
