"""The invariants `progress` and `nobody is forgotten`, checked from outside of the operator."""

from dataclasses import dataclass, field

from model_cluster.objects import Object, Place, place
from simulation.bounds import Bounds, Violated
from simulation.excuses import is_general
from simulation.explanations import Explanations, is_of
from simulation.judge import Gap, condition, is_behind, stray_gaps
from simulation.world import World


@dataclass
class _Known:
    """The gaps of one parent."""

    uid: str = ""
    gaps: list[Gap] = field(default_factory=list)
    since: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """The start of each gap, or the time of its last excuse."""
    excused: float = -1e9
    """The last time that a gap was excused."""
    looked: float = -1e9
    """The time of the last check."""


_LOOK_SECONDS = 0.5
"""The interval between checks of a parent that the operator handles. No bound is shorter."""


class Watchdog:
    """Checks all parents before each advance of the clock."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world = world
        self._bounds = bounds
        self._workload = world.workload
        self._explanations = Explanations(world, bounds)
        self._needed = [plural for plural in world.workload.resources if plural not in world.workload.optional]
        self._judged = {self._workload.parent, *self._workload.children, *self._workload.decisive}
        self._judged |= set(world.conditions.metadata)
        self._known: dict[Place, _Known] = {}
        self._dirty: set[str] = set()
        """Namespaces with changes since the last check."""
        self._last_fault = 0.0
        """The last time with an active fault."""
        self._reloads = 0
        self.enabled = True
        world.cluster.listeners.append(self._changed)

    def look(self) -> None:
        """Check all parents.

        Raises:
            Violated: a parent is forgotten, or has waited too long.
        """
        if not self.enabled:
            return
        world = self._world
        if world.faults.active(world.clock()):
            self._last_fault = world.clock()
        if world.cluster.reloads != self._reloads:
            self._reloads = world.cluster.reloads
            self._dirty.update(world.conditions.namespaces)
        if self._dirty:
            self._judge()
            self._dirty.clear()
        for replica in world.replicas:
            if error := replica.subject.failed():
                raise Violated("the operator runs", f"it ended with {error!r}") from error
        for where, known in self._known.items():
            if known.gaps:
                self._look_at(where, known)

    def has_open_gaps(self) -> bool:
        """Return whether a child has a gap without a lasting excuse: the enforcement may be suspended."""
        parents, judge = self._world.cluster.objects[self._workload.parent], self._explanations
        return any(
            judge.contested(parents[where], gap) or not judge.explained(parents[where], gap)
            for where, known in self._known.items()
            for gap in known.gaps
            if where in parents and not gap.of_status
        )

    def _changed(self, plural: str, change: str, thing: Object) -> None:  # noqa: ARG002
        if plural in self._judged:
            self._dirty.add(place(thing)[0])

    def _judge(self) -> None:
        objects = self._world.cluster.objects
        parents = self._world.parents()
        for gone in self._known.keys() - {place(parent) for parent in parents}:
            del self._known[gone]
        for parent in parents:
            if place(parent)[0] not in self._dirty:
                continue
            known = self._known.setdefault(place(parent), _Known())
            known.looked = -1e9
            if known.uid != parent["metadata"]["uid"]:
                known.uid, known.since = parent["metadata"]["uid"], {}
            children = self._explanations.gaps(parent)
            status = self._workload.status_gaps(parent, objects, children)
            known.gaps = [*children, *status, *stray_gaps(self._workload.parent, parent)]
            present = {(gap.plural, gap.name, gap.field) for gap in known.gaps}
            known.since = {key: since for key, since in known.since.items() if key in present}

    def _look_at(self, where: Place, known: _Known) -> None:
        world, now = self._world, self._world.clock()
        attends = world.holder(where[0]).subject.attends(where)
        if attends is not None and now - known.looked < _LOOK_SECONDS:
            return
        known.looked = now
        if self._excused(where):
            known.excused = now
            known.since = {}
            return
        parent, kind = world.cluster.objects[self._workload.parent][where], self._workload.kind
        for gap in known.gaps:
            key = (gap.plural, gap.name, gap.field)
            since = known.since.setdefault(key, max(now if key not in known.since else 0.0, 0.0))
            if self._explanations.explained(parent, gap, known.gaps):
                known.since[key] = now
                known.excused = max(known.excused, now if self._explanations.is_faulty(gap) else known.excused)
                continue
            if now - since > self._bound(gap, known, now):
                raise Violated("progress", f"for {now - since:.0f} s {kind} {where[0]}/{where[1]}: {gap}")
        if attends is None and self._forgotten(parent, known.gaps):
            shown = "; ".join(map(str, known.gaps[:3]))
            raise Violated(
                "nobody is forgotten", f"no reconcile is queued or scheduled for {kind} {where[0]}/{where[1]}: {shown}"
            )

    def _bound(self, gap: Gap, known: _Known, now: float) -> float:
        bounds = self._bounds
        if now - known.excused < 900:
            return bounds.after
        if gap.field in ("owner", "existence"):
            return bounds.name
        return bounds.status if gap.of_status else bounds.calm

    def _excused(self, where: Place) -> bool:
        """Return whether a fault blocks all events or all writes of a namespace."""
        world, now, leader = self._world, self._world.clock(), self._world.holder(where[0])
        if not leader.leads(where[0]) or leader.paused:
            return True
        if world.conditions.slots > 1 and not leader.serves(where[0]):
            return True  # the slot is drained, and the next leader enqueues its parents
        uncovered = [plural for plural in self._needed if not world.covered(plural, where[0])]
        if uncovered and not leader.coverage.is_complete(where, world.workload.concerns):
            # The wait for a watch and for the list after its start is bounded.
            since = max(self._last_fault, *(world.uncovered_since(plural, where[0]) for plural in uncovered))
            if now - since < self._bounds.uncovered:
                return True
        active = world.faults.active(now)
        if any(fault.kind == "reads paused" for fault in active) and self._needed_a_read(where):
            return True
        return any(is_general(fault.kind, fault.plural, self._workload) for fault in active) or (
            where[0] in world.memory.get("ending", ())
        )

    def _needed_a_read(self, where: Place) -> bool:
        """Return whether a read for this parent was refused recently, or must precede its next write."""
        refused: dict[Place, float] = self._world.memory.get("reads refused", {})
        now = self._world.clock()
        if any(
            at == where[0] and (name == where[1] or name.startswith(f"{where[1]}-")) and now - when < 120
            for (at, name), when in refused.items()
        ):
            return True
        changed = max((when for when, *place_ in self._world.changes if tuple(place_) == where), default=-1e9)
        looked_at = max(changed, self._world.made.get(self._known[where].uid, -1e9))
        # The operator first reads parents from before a gap in the watch, and the managers of ports moved by others.
        return looked_at < self._world.holder(where[0]).coverage.last_start or any(
            gap.reads_first and any(is_of(key, gap, where) for key in self._world.touched)
            for gap in self._known[where].gaps
        )

    def _forgotten(self, parent: Object, found: list[Gap]) -> bool:
        where = place(parent)
        if self._world.holder(where[0]).on_the_way(where):
            return False
        says_so = condition(parent, "Stalled") == "True" and not is_behind(parent)
        return not says_so and not all(self._explanations.explained(parent, gap, found) for gap in found)
