"""Breaks for F27: an optional kind that the API server serves at some times only."""

from collections.abc import Collection, Sequence

from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.supervisor import Supervisor
from fault_engine.lives import PEACE
from faults.breaks import broken, put


@broken("never watches an optional kind that was not served at the start", passes=PEACE)
def ignores_new_kinds() -> None:
    async def never(_: Supervisor, absent: Sequence[Kind]) -> None:
        del absent

    put(Supervisor, _restart_when_served=never)


@broken("treats a kind as served once it has been served", passes=PEACE)
def trusts_former_kinds() -> None:
    begin = Resync.begin_watches
    known: set[Kind] = set()

    def begin_watches(self: Resync, kinds: Collection[Kind]) -> None:
        known.update(kinds)
        begin(self, known)

    put(Resync, begin_watches=begin_watches)
