"""One run of one script, deterministic and in virtual time, from the first task to the last."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from model_cluster.chance import Chance, seeded
from model_cluster.objects import place
from model_cluster.trace import Trace
from model_cluster.virtual import GROUP, Deadlock, Spinning, VirtualLoop, run
from simulation import actions
from simulation.actions import faults, foreign, replicas, users, writers  # noqa: F401 - they register themselves
from simulation.bounds import Bounds, Violated
from simulation.environment import InternalErrors, virtual_time
from simulation.honesty import Honesty
from simulation.memory import leftovers, memory_of, objects_of, tasks_left
from simulation.restraint import Restraint
from simulation.script import Script, Step
from simulation.slot_succession import SlotSuccession
from simulation.succession import Succession
from simulation.watchdog import Watchdog
from simulation.workloads import workload
from simulation.world import World
from simulation.write_war import WriteWar

_TAIL_SECONDS = 200.0
_RESYNCS = 3.4
"""Time from the deletion of all parents to the check of the memory, in resyncs: two whole ones and their delays."""
MEMORY_CHECKED = "memory checked after the deletion of all parents"
_MOST_ENTRIES = 60
"""The maximum number of entries of one parent in one table, unless it has more objects: the cache has all of them."""


@dataclass
class Outcome:
    """The result of a run."""

    seed: int
    invariant: str = ""
    """The violated invariant; empty if all hold."""
    why: str = ""
    seconds: float = 0.0
    """Virtual seconds."""
    spent: float = 0.0
    """Real seconds."""
    rounds: int = 0
    digest: str = ""
    occurred: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    leaderless: float = 0.0
    """The longest time without a leader after the last fault of the election, in seconds."""
    lines: list[str] = field(default_factory=list)


def play(
    script: Script, *, keep: int = 0, show: Callable[[str], None] | None = None, bounds: Bounds | None = None
) -> Outcome:
    """Run a script."""
    began = time.process_time()
    outcome = Outcome(script.seed)
    loop = VirtualLoop(Chance(f"loop {script.seed}"), defer=script.conditions.defer)
    trace = Trace(loop.time, keep=keep, show=show)
    play_ = _Play(script, loop, trace, bounds or Bounds())
    undo = virtual_time(play_.now)
    logging.raiseExceptions = False
    try:
        with seeded(f"run {script.seed}"), InternalErrors(trace.add if keep or show else lambda _: None) as errors:
            play_.errors = errors
            try:
                run(loop, play_.whole())
            except (Violated, Deadlock, Spinning) as error:
                outcome.invariant = getattr(error, "invariant", "the simulation goes on")
                outcome.why = str(error)
    finally:
        undo()
    trace.add(f"end: {outcome.why or 'all invariants hold'}")
    outcome.seconds, outcome.rounds, outcome.digest = loop.time(), loop.steps, trace.digest
    outcome.spent, outcome.lines = time.process_time() - began, list(trace.lines)
    if play_.world is not None:
        world = play_.world
        outcome.leaderless = world.leaderless
        outcome.occurred, outcome.happened, outcome.met = world.occurred, world.happened, world.faults.met
    return outcome


class _Looks(Protocol):
    """Checks an invariant whenever no callback is ready."""

    def look(self) -> None:
        """Raise `Violated` if it does not hold."""


def _of_replicas(world: World, bounds: Bounds) -> "list[_Looks]":
    """Return the invariants of several replicas."""
    if len(world.replicas) == 1:
        return []
    if not world.conditions.elected:
        return [WriteWar(world, bounds)]
    return [SlotSuccession(world, bounds) if world.conditions.slots > 1 else Succession(world, bounds)]


class _Play:
    def __init__(self, script: Script, loop: VirtualLoop, trace: Trace, bounds: Bounds) -> None:
        self.script, self.loop, self.trace, self.bounds = script, loop, trace, bounds
        self.world: World | None = None
        self.errors: InternalErrors | None = None
        self.violated: Violated | None = None

    def now(self) -> datetime:
        """Return the virtual time of day."""
        assert self.world is not None
        replica = self.world.replica_of(GROUP.get())
        return self.world.cluster.now() if replica is None else replica.now()

    async def whole(self) -> None:
        """Run the whole script."""
        self.world = world = World(workload(self.script.workload), self.script.seed, self.script.conditions, self.trace)
        world.memory["loop"] = self.loop
        watchdog = Watchdog(world, self.bounds)
        Restraint(world, self.bounds)
        honesty = Honesty(world)
        looks: list[_Looks] = [*_of_replicas(world, self.bounds), honesty, watchdog]
        for invariant in world.workload.invariants:
            invariant(world)
        world.on_violation = self._violate
        self.loop.at_rest = lambda: self._at_rest(looks)
        self.loop.set_exception_handler(self._failed)
        for replica in world.replicas:
            replica.subject.start()
        for step in sorted(self.script.steps, key=lambda each: each.time):
            await self._until(step.time)
            self._act(world, step)
        await self._until(self.script.end + _TAIL_SECONDS)
        latest = self.script.end + self.bounds.suspension + self.bounds.after
        while watchdog.has_open_gaps() and self.loop.time() < latest:
            await asyncio.sleep(10.0)
        if self.script.finale:
            await self._finale(world, watchdog)
        while any(replica.restarting for replica in world.replicas):
            await asyncio.sleep(1.0)
        looks.clear()
        for replica in world.replicas:
            if replica.subject.running:
                await replica.subject.end()
        if left := tasks_left():
            raise Violated("no task is left", ", ".join(left))

    def _act(self, world: World, step: Step) -> None:
        actions.act(world, step.do, step.parameters)

    async def _until(self, when: float) -> None:
        await asyncio.sleep(max(0.0, when - self.loop.time()))

    async def _finale(self, world: World, watchdog: Watchdog) -> None:
        """Delete all parents, and check after two resyncs that the memory has no entry of them."""
        while any(replica.restarting for replica in world.replicas) or world.faults.active(self.loop.time()):
            await asyncio.sleep(10.0)
        parents = world.parents()
        for parent in parents:
            most = max(_MOST_ENTRIES, objects_of(world, place(parent)))
            held = memory_of(world, place(parent), parent["metadata"]["uid"])
            sizes = world.holder(place(parent)[0]).subject.sizes(place(parent))
            for counts in (held, sizes):
                if big := [f"{path}: {count}" for path, count in counts.items() if count > most]:
                    raise Violated("memory is bounded", f"{place(parent)}: {', '.join(big)}")
        watchdog.enabled = False
        for at, name in list(world.cluster.objects[world.workload.parent]):
            users.delete(world, at=at, name=name)
        foreign.clear(world)
        await asyncio.sleep(_RESYNCS * self.script.conditions.resync_interval)
        if world.cluster.objects[world.workload.parent]:
            return
        names = {place(parent) for parent in parents}
        if found := list(leftovers(world, names, {parent["metadata"]["uid"] for parent in parents})):
            raise Violated("memory is empty", ", ".join(found))
        world.happened[MEMORY_CHECKED] += bool(parents)

    def _violate(self, violated: Violated) -> None:
        self.violated = self.violated or violated

    def _at_rest(self, looks: "Sequence[_Looks]") -> None:
        if self.violated is not None:
            raise self.violated
        if self.errors is not None and self.errors.found:
            raise Violated("no internal error", self.errors.found[0])
        for each in looks:
            each.look()

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, Violated):
            self._violate(error)
        else:
            self._violate(Violated("no internal error", f"{context.get('message')}: {error!r}"))
