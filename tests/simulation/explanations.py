"""Accepted reasons for a gap: active faults, other managers, policies, and messages in the status."""

from collections.abc import Sequence

from model_cluster.active_faults import Fault
from model_cluster.objects import Object, Place, controller, place
from simulation.bounds import Bounds
from simulation.excuses import blocks
from simulation.judge import Gap, condition, held_by_policy, is_child, policy_of, reported_health
from simulation.world import World


class Explanations:
    """Decides whether a gap has an accepted reason."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self.world = world
        self.workload = world.workload
        self._bounds = bounds
        self._gaps: dict[str, dict[Place, list[Gap]]] = {}
        """The gaps of the children by namespace and parent, until a change in the namespace."""
        self._reloads = 0
        world.cluster.listeners.append(self._changed)

    def gaps(self, parent: Object) -> list[Gap]:
        """Return the differences between a present parent and its children."""
        where, cluster = place(parent), self.world.cluster
        if cluster.reloads != self._reloads:
            self._reloads = cluster.reloads
            self._gaps.clear()
        known = self._gaps.setdefault(where[0], {})
        if where not in known:
            known[where] = self.workload.gaps(parent, cluster.objects)
        return known[where]

    def _changed(self, plural: str, change: str, thing: Object) -> None:  # noqa: ARG002
        self._gaps.pop(place(thing)[0], None)

    def is_faulty(self, gap: Gap) -> bool:
        """Return whether a fault is active for the resource of a gap."""
        return any(fault.plural in (None, gap.plural) for fault in self._active())

    def explained(self, parent: Object, gap: Gap, gaps: Sequence[Gap] = ()) -> bool:
        """Return whether the status correctly explains a gap, or a fault of its resource does.

        Args:
            parent: the parent.
            gap: the gap.
            gaps: all gaps of the parent; a gap of the status depends on them.
        """
        if gap.of_status:
            return self._status_explained(parent, gap, gaps)
        if self.world.is_undone(gap.plural, (place(parent)[0], gap.name)):
            return True
        if any(self.is_blocked(plural) for plural in gap.resources):
            return True
        where = place(parent)
        if policy_of(parent) != "Enforce" and gap.field not in ("existence", "owner"):
            return any(is_of(key, gap, where) for key in self.world.touched) or self._left_at_adoption(parent, gap)
        return (
            held_by_policy(parent, gap)
            or self._waits_for_the_collector(parent, gap)
            or self._name_taken(parent, gap)
            or self._needs_a_person(parent, gap)
            or self.contested(parent, gap)
            or self._unavailable(parent, gap)
            or self.workload.explains(self, parent, gap)
        )

    def is_blocked(self, plural: str) -> bool:
        """Return whether an active fault prevents writes to a resource."""
        return any(blocks(fault.kind) and fault.plural == plural for fault in self._active())

    def reported(self, parent: Object, gap: Gap) -> str:
        """Return the health in the status of the child with a gap."""
        return reported_health(parent, self.world.cluster.kinds[gap.plural].name, gap.name)

    def _active(self) -> list[Fault]:
        return self.world.faults.active(self.world.clock())

    def _status_explained(self, parent: Object, gap: Gap, gaps: Sequence[Gap]) -> bool:
        if self.world.is_undone(self.workload.parent, place(parent)):
            return True
        if gap.wanted == "False" and held_by_policy(parent, None):
            return True
        if self.is_blocked(self.workload.parent) or self.is_blocked(f"{self.workload.parent}/status"):
            return True
        if self._is_unwatched(gaps) and gap.wanted != "False":
            return gap.field != "observedGeneration"
        if gap.field != "Ready":
            return False
        namespace = place(parent)[0]
        children = [each for each in gaps if not each.of_status]
        return (
            self._wants_unseen(parent)
            or any(self.world.is_undone(each.plural, (namespace, each.name)) for each in children)
            or self._is_rightly_ready(parent, gap)
        )

    def is_unseen(self, plural: str, namespace: str, collection: str = "") -> bool:
        """Return whether the operator may not see the objects of an optional kind yet, or is hindered by a fault.

        Args:
            plural: the resource.
            namespace: the namespace.
            collection: the name of the watch; "" for the resource.
        """
        collection = collection or plural
        world, now = self.world, self.world.clock()
        if now < world.faults.until.get(plural, -1e9) + self._bounds.relist:
            return True
        covered = plural in world.cluster.objects and world.covered(collection, namespace)
        since = max(world.faults.until.get(plural, -1e9), world.uncovered_since(collection, namespace))
        return not covered and now - since < self._bounds.unseen

    def _wants_unseen(self, parent: Object) -> bool:
        wanted = [plural for plural, part in self.workload.optional.items() if parent["spec"].get(part)]
        return any(self.is_unseen(plural, place(parent)[0]) for plural in wanted)

    def _unavailable(self, parent: Object, gap: Gap) -> bool:
        """Return whether the kind of a child is not served, and the status says so; or whether it is not seen yet."""
        if gap.plural not in self.workload.optional:
            return False
        said = gap.plural not in self.world.cluster.objects and self.reported(parent, gap) == "Degraded"
        return said or self.is_unseen(gap.plural, place(parent)[0])

    def _is_unwatched(self, gaps: Sequence[Gap]) -> bool:
        """Return whether the main child lost our label: the watch then misses it, which is a separate gap."""
        unwatched = (self.workload.main, f"label {self.workload.label}")
        return unwatched in {(each.plural, each.field) for each in gaps}

    def _is_rightly_ready(self, parent: Object, gap: Gap) -> bool:
        told = condition(parent, "Conflicted") == "True"
        if gap.wanted == "True":
            # Not Ready although all judged fields are as desired: a field that is not judged may be the cause.
            blocked = any(self.is_blocked(plural) for plural in self.workload.children)
            return blocked or told or condition(parent, "Contested") == "True"
        # Ready although a field is not as desired: left to other managers and reported, or forced by a policy.
        mutated = any(fault.kind == "changing policy" for fault in self._active())
        return told or mutated or policy_of(parent) == "Yield"

    def _name_taken(self, parent: Object, gap: Gap) -> bool:
        thing = self.world.cluster.get(gap.plural, (place(parent)[0], gap.name))
        if gap.field != "owner" or thing is None or is_child(thing, parent):
            return False
        annotations = thing["metadata"].get("annotations") or {}
        allowed = annotations.get(self.workload.adopt) == place(parent)[1] and not controller(thing)
        return not allowed and self.reported(parent, gap) == "Foreign"

    def _left_at_adoption(self, parent: Object, gap: Gap) -> bool:
        """Tell whether the policy leaves a field to the creator of an adopted object, and the status says so."""
        thing = self.world.cluster.get(gap.plural, (place(parent)[0], gap.name))
        adopted = thing is not None and thing["metadata"]["uid"] in self.world.memory.get("foreign", ())
        return adopted and condition(parent, "Conflicted") == "True"

    def _waits_for_the_collector(self, parent: Object, gap: Gap) -> bool:
        """Return whether the child of a deleted parent occupies the name: its DELETED event will come."""
        thing = self.world.cluster.get(gap.plural, (place(parent)[0], gap.name))
        if thing is None or gap.field not in ("owner", "existence"):
            return False
        owner = controller(thing)
        gone = owner.get("kind") == self.workload.kind and owner.get("uid") not in self.uids()
        return gone or "deletionTimestamp" in thing["metadata"]

    def uids(self) -> set[str]:
        """Return the uids of all parents."""
        return {found["metadata"]["uid"] for found in self.world.cluster.objects[self.workload.parent].values()}

    def _needs_a_person(self, parent: Object, gap: Gap) -> bool:
        """Return whether the status correctly says that a person must act."""
        if condition(parent, "Stalled") != "True" or self.reported(parent, gap) not in ("Degraded", "Foreign"):
            return False
        world, namespace = self.world, place(parent)[0]
        thing = world.cluster.get(gap.plural, (namespace, gap.name))
        reason = condition(parent, "Stalled", "reason")
        # A terminal refusal is retried at the next resync.
        uid = "" if thing is None else thing["metadata"]["uid"]
        refused = world.clock() - world.refused.get((gap.plural, namespace, gap.name, uid), -1e9)
        if reason == "Rejected" and refused < 1.1 * world.conditions.resync_interval + self._bounds.after:
            return True
        foreign = thing is not None and thing["metadata"]["uid"] in world.memory.get("foreign", ())
        return reason in ("Immutable", "Rejected") and foreign

    def contested(self, parent: Object, gap: Gap) -> bool:
        """Return whether another writer set a field lately, after the last user change, and the status reports it."""
        where = place(parent)
        asked = self.world.asked.get((*where, self.workload.spec_part(parent, gap)), -1.0)
        wrote = [at for key, at in self.world.touched.items() if is_of(key, gap, where)]
        return (
            bool(wrote)
            and max(wrote) > asked
            and self.world.clock() - self._fought_until(gap, max(wrote)) < self._longest_wait(parent, gap)
            and self.world.holder(where[0]).subject.attends(where) is not None
        )

    def _fought_until(self, gap: Gap, wrote: float) -> float:
        """Return the last time at which the operator may have begun to wait: conflicts of a fault count like a war."""
        faults = self.world.faults.until
        return max(wrote, *(min(faults.get(plural, wrote), self.world.clock()) for plural in gap.resources))

    def _longest_wait(self, parent: Object, gap: Gap) -> float:
        """Return for how long the operator may leave a value of another writer, by what the status says."""
        if condition(parent, "Contested") == "True" and gap.field != "existence":
            return self._bounds.suspension
        return self._bounds.retry if self.reported(parent, gap) in ("Degraded", "Missing") else 0.0


def is_of(key: tuple[str, str, str, str], gap: Gap, where: Place) -> bool:
    """Return whether the written field may have caused a gap."""
    plural, at, _, _ = key
    return at == where[0] and plural in gap.resources
