"""Several replicas of one election with slots, in virtual time."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine

from coxswain.kernel.election.slots import slots
from model_cluster.virtual import run
from unit.leases import virtual_loop
from unit.slot_leases import Replica, Servers, overlaps

FIRST = 20.0
"""Seconds until all slots have a holder: nobody knows who held Leases that do not exist."""
REBALANCED = 12.0
"""Seconds until a new replica has its share: it is seen, settles, and others release, each with a look."""
TAKEOVER = 19.0
"""Seconds until all slots of a killed replica are led: the expiry, and a look at all Leases."""


class Group:
    """Replicas of one election."""

    def __init__(self, names: str = "abc", count: int = 6, seed: int = 1, drain: float = 0.5) -> None:
        self.count = count
        self.servers = Servers()
        self.chance = random.Random(seed).random
        self.all = [Replica(name, self.servers, self.chance, count, drain) for name in names]

    @property
    def shares(self) -> list[int]:
        """The number of slots of each running replica."""
        return [len(each.slots) for each in self.all if each.running]

    def whole(self, *shares: int) -> bool:
        """Whether each slot has one leader, with these numbers in any order."""
        led = Counter(slot for each in self.all if each.running for slot in each.slots)
        return sorted(self.shares) == sorted(shares) and led == Counter(slots(self.count))

    async def started(self, *shares: int) -> None:
        for each in self.all:
            each.start()
        await self.until(lambda: self.whole(*shares), FIRST)

    async def until(self, check: Callable[[], bool], seconds: float, pause: float = 0.01) -> float:
        """Wait for a condition; return the virtual seconds. Fail after `seconds`."""
        clock = asyncio.get_running_loop().time
        begin = clock()
        while not check():
            await asyncio.sleep(pause)
            assert clock() - begin <= seconds, f"not within {seconds} s: {self.shares} {self.servers.holders(6)}"
        return clock() - begin


def virtually(
    body: Callable[[Group], Coroutine[None, None, None]], names: str = "abc", count: int = 6, drain: float = 0.5
) -> None:
    """Run a test in virtual time. No two processes may write to one namespace at the same time."""
    group = Group(names, count, drain=drain)

    async def main() -> None:
        await body(group)

    run(virtual_loop(), main())
    assert overlaps(group.all) == []
