"""The times in docs/high-availability.md, in virtual time. `pytest -s` prints the extremes of each event.

A request takes 10 ms. More seeds: `TAKEOVER_SEEDS=100`.
"""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine

import pytest

from model_cluster.virtual import run
from unit.leases import Candidate, LeaseServer, virtual_loop
from unit.slot_group import FIRST, Group

pytestmark = pytest.mark.thorough

SEEDS = int(os.environ.get("TAKEOVER_SEEDS", "8"))
PATIENCE = 40.0
PAUSE = 0.02

Measure = Callable[[int], Coroutine[None, None, float]]


async def until(check: Callable[[], bool]) -> float:
    """Wait for a condition; return the virtual seconds."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    while not check():
        await asyncio.sleep(PAUSE)
        assert clock() - begun < PATIENCE
    return clock() - begun


async def pair(seed: int) -> tuple[LeaseServer, Candidate, Candidate]:
    """Return a leader and a standby, at a random time between two renewals."""
    server, chance = LeaseServer(), random.Random(seed)
    leader, standby = (Candidate(name, server, chance.random) for name in "ab")
    leader.start()
    await until(lambda: leader.leads)
    standby.start()
    await asyncio.sleep(5 + 4 * chance.random())
    return server, leader, standby


async def sigterm(seed: int) -> float:
    _, leader, standby = await pair(seed)
    await leader.terminate()
    return await until(lambda: standby.leads)


async def sigkill(seed: int) -> float:
    _, leader, standby = await pair(seed)
    leader.kill()
    return await until(lambda: standby.leads)


async def hung(seed: int) -> float:
    _, leader, standby = await pair(seed)
    leader.faults.hangs = True
    return await until(lambda: standby.leads)


async def stranger(seed: int) -> float:
    server, leader, standby = await pair(seed)
    server.edit(holderIdentity="stranger")
    first = leader.leaderships[0]
    return await until(lambda: standby.leads or (leader.leads and leader.leaderships[-1] is not first))


async def first_start(seed: int) -> float:
    candidate = Candidate("a", LeaseServer(), random.Random(seed).random)
    candidate.start()
    return await until(lambda: candidate.leads)


async def group(seed: int) -> Group:
    """Return three replicas with two slots each, at a random time between two renewals."""
    made = Group("abc", 6, seed)
    for each in made.all:
        each.start()
    await until(lambda: made.whole(2, 2, 2))
    await asyncio.sleep(3 + 6 * made.chance())
    return made


async def slots_sigterm(seed: int) -> float:
    made = await group(seed)
    await made.all[0].terminate()
    return await until(lambda: made.whole(3, 3))


async def slots_sigkill(seed: int) -> float:
    made = await group(seed)
    await made.all[0].kill()
    return await until(lambda: made.whole(3, 3))


async def slots_new_replica(seed: int) -> float:
    made = Group("ab", 6, seed, drain=0.0)
    first, second = made.all
    first.start()
    await made.until(lambda: len(first.slots) == 6, FIRST)
    await asyncio.sleep(6 * made.chance())
    second.start()
    return await until(lambda: made.whole(3, 3))


async def slots_first_start(seed: int) -> float:
    """The replicas start one after the other, within 2 s."""
    made = Group("abc", 6, seed)
    begun = asyncio.get_running_loop().time()
    for each in made.all:
        each.start()
        await asyncio.sleep(made.chance())
    await until(lambda: sum(made.shares) == made.count)
    return asyncio.get_running_loop().time() - begun


@pytest.mark.parametrize(
    ("measure", "shortest", "longest"),
    [
        pytest.param(sigterm, 0, 2, id="one Lease: SIGTERM"),
        pytest.param(sigkill, 13, 17, id="one Lease: SIGKILL"),
        pytest.param(hung, 13, 17, id="one Lease: no connection"),
        pytest.param(stranger, 15, 19, id="one Lease: a stranger"),
        pytest.param(first_start, 15, 16, id="one Lease: the first start"),
        pytest.param(slots_sigterm, 0, 6, id="slots: SIGTERM"),
        pytest.param(slots_sigkill, 13, 19, id="slots: SIGKILL"),
        pytest.param(slots_new_replica, 5, 12, id="slots: a replica starts"),
        pytest.param(slots_first_start, 17, 21, id="slots: the first start"),
    ],
)
def test_the_time_without_a_leader(
    measure: Measure, shortest: float, longest: float, request: pytest.FixtureRequest
) -> None:
    times = []
    for seed in range(SEEDS):

        async def main(seed: int = seed) -> None:
            times.append(await measure(seed))

        run(virtual_loop(), main())
    print(f"\n{request.node.callspec.id}: {min(times):.1f} to {max(times):.1f} s with {SEEDS} seeds")
    assert shortest <= min(times)
    assert max(times) <= longest
