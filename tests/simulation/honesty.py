"""Honesty: no status runs ahead of the data delivered to the operator, and none reports events of an earlier object."""

from functools import partial

from model_cluster.objects import Object, Place, place
from simulation.bounds import Violated
from simulation.judge import Gap, condition, policy_of
from simulation.network import Sent
from simulation.replica import Replica
from simulation.world import World


class Honesty:
    """Checks each status written by the operator."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._workload = world.workload
        self._began: dict[Replica, dict[Place, dict[Gap | str, float]]] = {each: {} for each in world.replicas}
        """The start of each gap known to each replica."""
        self._blind: dict[tuple[Replica, str], float] = {}
        """The last time that decisive objects of a namespace could be unknown: gaps may depend on them (K28)."""
        world.on_sent.append(self.take)
        for replica in world.replicas:
            replica.delivered.listeners.append(partial(self._told, replica))

    def look(self) -> None:
        """Record the namespaces with unknown decisive objects; call it whenever no callback is ready."""
        for replica in self._world.replicas:
            for namespace in self._world.conditions.namespaces:
                if not all(replica.coverage.covers(plural, namespace) for plural in self._workload.decisive):
                    self._blind[replica, namespace] = self._world.clock()

    def _told(self, replica: Replica, plural: str, where: Place) -> None:
        if plural not in (self._workload.parent, *self._workload.children):
            return
        objects, now, began = self._objects(replica), self._world.clock(), self._began[replica]
        for parent in list(objects[self._workload.parent].values()):
            if place(parent)[0] == where[0]:
                before = began.get(place(parent), {})
                began[place(parent)] = {gap: before.get(gap, now) for gap in self._gaps(parent, objects)}

    def _gaps(self, parent: Object, objects: dict[str, dict[Place, Object]]) -> list[Gap | str]:
        found = [gap for gap in self._workload.gaps(parent, objects) if gap.field != "leftover" and not gap.harmless]
        unready = self._workload.unready(parent, objects)
        return [*found, unready] if unready else [*found]

    def _objects(self, replica: Replica) -> dict[str, dict[Place, Object]]:
        """Return the delivered objects, without those of kinds that are not served as far as the replica knows."""
        known = [
            plural
            for plural in self._workload.resources
            if plural not in self._workload.optional or plural in replica.watches.running
        ]
        return {plural: replica.delivered.objects.get(plural, {}) for plural in known}

    def take(self, sent: Sent) -> Violated | None:
        """Check a request that arrived; return a violation of the invariant."""
        try:
            self._take(sent)
        except Violated as violated:
            return violated
        return None

    def _take(self, sent: Sent) -> None:
        if sent.plural != self._workload.parent or sent.subresource != "status" or sent.status >= 300:
            return
        parent = sent.answer
        self._check_ready(sent, parent)
        self._check_drift(parent)

    def _check_ready(self, sent: Sent, parent: Object) -> None:
        if condition(parent, "Ready") != "True" or parent["spec"].get("paused"):
            return
        if self._world.clock() - self._world.restored < 900:
            return  # the operator may not know of it yet, and the status matches the data delivered before
        where, objects = place(parent), self._objects(sent.replica)
        if condition(parent, "Conflicted") == "True" or condition(parent, "Contested") == "True":
            return
        if policy_of(parent) != "Enforce":
            return
        began = getattr(sent.task, "created", 0.0) - 0.001
        # This reconcile may have read its input before a gap delivered after its start.
        known = self._began[sent.replica].get(where, {})
        found = [gap for gap in self._gaps(parent, objects) if known.get(gap, began) < began]
        if self._blind.get((sent.replica, where[0]), -1.0) >= began:
            found = [gap for gap in found if isinstance(gap, str) or not self._workload.depends(gap)]
        if not found:
            return
        if self._world.faults.met_at.get("changing policy", -1e9) > began - 120 or self._held(parent):
            return
        raise Violated(
            "honesty", f"{where[0]}/{where[1]} reports Ready, although the operator had received: {found[0]}"
        )

    def _held(self, parent: Object) -> bool:
        """Return whether a child reports that a policy forces a field."""
        return any("admission policy" in child.get("message", "") for child in parent["status"].get("children", ()))

    def _check_drift(self, parent: Object) -> None:
        """Check that drift in a status happened to children of this parent, not of an earlier one."""
        drift = parent.get("status", {}).get("drift")
        if not drift or self._world.memory.get("foreign") or self._world.faults.met["changing policy"]:
            return
        (at, name), made = place(parent), self._world.made.get(parent["metadata"]["uid"], 0.0)
        wrote = [
            when
            for (_, where, what, _), when in self._world.touched.items()
            if where == at and (what == name or what.startswith(f"{name}-"))
        ]
        if max(wrote, default=0.0) < made:
            raise Violated("honesty", f"{at}/{name} reports drift from before its creation: {drift[-1]}")
