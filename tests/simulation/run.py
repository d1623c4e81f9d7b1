"""One run of one script: deterministic, in virtual time, from the first task to the last."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from simulation import actions
from simulation.actions import faults, foreign, users, writers  # noqa: F401 - they register themselves
from simulation.bounds import Bounds, Violated
from simulation.chance import Chance, seeded
from simulation.cluster import place
from simulation.honesty import Honesty
from simulation.memory import leftovers, memory_of, tasks_left
from simulation.restraint import Restraint
from simulation.script import Script, Step
from simulation.subject import InternalErrors, virtual_time
from simulation.trace import Trace
from simulation.virtual import Deadlock, Spinning, VirtualLoop, run
from simulation.watchdog import Watchdog
from simulation.world import World

_TAIL_SECONDS = 200.0
_RESYNCS = 3.4
_MOST_ENTRIES = 60
"""Entries that one table may hold of one WebApp."""


@dataclass
class Outcome:
    """How a run went."""

    seed: int
    invariant: str = ""
    """The one that did not hold; empty if all did."""
    why: str = ""
    seconds: float = 0.0
    """Virtual ones."""
    spent: float = 0.0
    """Real ones."""
    rounds: int = 0
    digest: str = ""
    occurred: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


def play(
    script: Script, *, keep: int = 0, show: Callable[[str], None] | None = None, bounds: Bounds | None = None
) -> Outcome:
    """Play a script."""
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
        outcome.occurred, outcome.met = play_.world.occurred, play_.world.weather.met
    return outcome


class _Play:
    def __init__(self, script: Script, loop: VirtualLoop, trace: Trace, bounds: Bounds) -> None:
        self.script, self.loop, self.trace, self.bounds = script, loop, trace, bounds
        self.world: World | None = None
        self.errors: InternalErrors | None = None
        self.violated: Violated | None = None

    def now(self) -> datetime:
        """Return the virtual time of day."""
        assert self.world is not None
        return self.world.cluster.now()

    async def whole(self) -> None:
        """Play all of it."""
        self.world = world = World(self.script.seed, self.script.conditions, self.trace)
        world.memory["loop"] = self.loop
        watchdog = Watchdog(world, self.bounds)
        Restraint(world, self.bounds)
        honesty = Honesty(world)
        world.on_violation = self._violate
        self.loop.at_rest = lambda: self._at_rest(watchdog, honesty)
        self.loop.set_exception_handler(self._failed)
        world.subject.start()
        for step in sorted(self.script.steps, key=lambda each: each.time):
            await self._until(step.time)
            self._act(world, step)
        await self._until(self.script.end + _TAIL_SECONDS)
        if self.script.finale:
            await self._finale(world, watchdog)
        watchdog.enabled = False
        while world.memory.get("restarting"):
            await asyncio.sleep(1.0)
        if world.subject.running:
            await world.subject.end()
        if left := tasks_left():
            raise Violated("no task is left", ", ".join(left))

    def _act(self, world: World, step: Step) -> None:
        actions.act(world, step.do, step.parameters)

    async def _until(self, when: float) -> None:
        await asyncio.sleep(max(0.0, when - self.loop.time()))

    async def _finale(self, world: World, watchdog: Watchdog) -> None:
        """Delete all WebApps; after two resyncs nothing of them is remembered."""
        while world.memory.get("restarting") or world.weather.active(self.loop.time()):
            await asyncio.sleep(10.0)
        webapps = world.webapps()
        for webapp in webapps:
            held = memory_of(world, place(webapp), webapp["metadata"]["uid"])
            if big := [f"{path}: {count}" for path, count in held.items() if count > _MOST_ENTRIES]:
                raise Violated("memory is bounded", f"{place(webapp)}: {', '.join(big)}")
            sizes = world.subject.sizes(place(webapp))
            if big := [f"{path}: {count}" for path, count in sizes.items() if count > _MOST_ENTRIES]:
                raise Violated("memory is bounded", f"{place(webapp)}: {', '.join(big)}")
        watchdog.enabled = False
        for at, name in list(world.cluster.objects["webapps"]):
            users.delete(world, at=at, name=name)
        foreign.clear(world)
        await asyncio.sleep(_RESYNCS * self.script.conditions.resync_interval)
        if world.cluster.objects["webapps"]:
            return
        names = {place(webapp) for webapp in webapps}
        if found := list(leftovers(world, names, {webapp["metadata"]["uid"] for webapp in webapps})):
            raise Violated("memory is empty", ", ".join(found))

    def _violate(self, violated: Violated) -> None:
        self.violated = self.violated or violated

    def _at_rest(self, watchdog: Watchdog, honesty: Honesty) -> None:
        if self.violated is not None:
            raise self.violated
        if self.errors is not None and self.errors.found:
            raise Violated("no internal error", self.errors.found[0])
        honesty.look()
        watchdog.look()

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, Violated):
            self._violate(error)
        else:
            self._violate(Violated("no internal error", f"{context.get('message')}: {error!r}"))
