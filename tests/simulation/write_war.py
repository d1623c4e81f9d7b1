"""The invariant of two operator versions without election: they notice their write war, and report it."""

from collections import deque

from model_cluster.objects import Place, controller
from simulation.bounds import Bounds, Violated
from simulation.judge import condition
from simulation.network import Sent
from simulation.world import World

_ENOUGH = 3
"""Writes of one object by each process within a minute that make a write war."""


class WriteWar:
    """Checks that each write war between two processes is soon reported in the status of the parent."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world = world
        self._bounds = bounds
        self._writes: dict[tuple[str, Place], deque[tuple[float, int]]] = {}
        """The writes of each child: time and replica."""
        self._began: dict[Place, float] = {}
        """The begin of an unreported write war about the children of each parent."""
        self._reported: dict[Place, float] = {}
        """The last status of each parent that reported one."""
        world.on_sent.append(self.take)

    def take(self, sent: Sent) -> None:
        """Record a request that arrived."""
        where = (sent.namespace or "", sent.name or "")
        if sent.method == "GET" or sent.status >= 300:
            return
        if sent.plural == self._world.workload.parent and condition(sent.answer, "Contested") == "True":
            self._reported[where] = sent.time
            if self._began.pop(where, None) is not None:
                self._world.happened["write war reported"] += 1
        elif sent.plural in self._world.workload.children and sent.name:
            self._take_write(sent, (sent.plural, where))

    def _take_write(self, sent: Sent, key: tuple[str, Place]) -> None:
        # The other process sees the write of another manager.
        self._world.touched[key[0], *key[1], "another version"] = sent.time
        writes = self._writes.setdefault(key, deque())
        writes.append((sent.time, sent.replica.number))
        while writes[0][0] < sent.time - 60:
            writes.popleft()
        numbers = [number for _, number in writes]
        parent = (key[1][0], controller(sent.answer).get("name", ""))
        lately = self._reported.get(parent, -1e9) > sent.time - 60
        if len(set(numbers)) > 1 and min(map(numbers.count, set(numbers))) >= _ENOUGH and not lately:
            self._began.setdefault(parent, sent.time)

    def look(self) -> None:
        """Check the write wars.

        Raises:
            Violated: one is not reported in time.
        """
        for where, began in list(self._began.items()):
            if self._world.cluster.get(self._world.workload.parent, where) is None:
                del self._began[where]
            elif self._world.clock() - began > self._bounds.write_war:
                raise Violated("a write war is reported", f"two processes overwrite each other's children of {where}")
