"""Electors during a restore of etcd, in virtual time."""

import asyncio
from copy import deepcopy

import pytest

from model_cluster.virtual import run
from unit.leases import overlaps, virtual_loop
from unit.test_elector import TAKEOVER, Group


@pytest.mark.parametrize("outage", [0.0, 3.0, 6.0])
def test_a_release_from_before_a_restore_of_etcd_frees_nothing(outage: float) -> None:
    async def body(group: Group) -> None:
        leader, [other] = await group.led()
        await leader.terminate()
        backup = deepcopy(group.server.stored)
        await group.until(lambda: other.leads, TAKEOVER)
        leader.start()
        await asyncio.sleep(20)
        for each in group.all:
            each.faults.refuses = 503
        await asyncio.sleep(outage)
        group.server.stored = backup
        for each in group.all:
            each.faults.refuses = 0
        await asyncio.sleep(60)
        assert group.leaders == [other]
        assert other.lost == []

    for seed in range(5):
        group = Group("ab", seed)
        run(virtual_loop(), body(group))
        assert overlaps(group.all) == []
