"""The world of one run: the cluster, the operator, all other actors, and a record of their actions."""

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from model_cluster.active_faults import ActiveFaults
from model_cluster.chance import Chance
from model_cluster.cluster import Cluster
from model_cluster.controllers import Controllers
from model_cluster.objects import Object, Place, place, version
from model_cluster.trace import Trace
from simulation.conditions import Conditions
from simulation.elections import LEASE_NAMESPACE, slot_of
from simulation.network import Sent
from simulation.replica import Replica
from simulation.subject import USER_AGENT
from simulation.workloads import Workload


class World:
    """The state of one run."""

    def __init__(self, workload: Workload, seed: int, conditions: Conditions, trace: Trace) -> None:
        loop = asyncio.get_running_loop()
        self.workload = workload
        self.conditions = conditions
        self.chance = Chance(str(seed))
        self.trace = trace
        self.clock = loop.time
        self.cluster = Cluster(
            loop.time,
            self.chance,
            trace,
            crds=workload.crds,
            resources=(*workload.resources, *conditions.metadata),
            restricted_agent=USER_AGENT,
        )
        self.cluster.api.admission += workload.policies
        self.faults = ActiveFaults()
        self.occurred: Counter[str] = Counter()
        """The number of effective executions of each action."""
        self.happened: Counter[str] = Counter()
        """The number of events that a workload counts."""
        self.on_sent: list[Callable[[Sent], Exception | None]] = []
        self.on_turned_away: list[Callable[[], Exception | None]] = []
        self.on_answered: list[Callable[[Sent], None]] = []
        groups = itertools.count(1)
        self.replicas = tuple(
            Replica(
                number,
                workload,
                conditions,
                cluster=self.cluster,
                faults=self.faults,
                chance=self.chance,
                groups=groups,
                reached=self._reached,
                answered=self._answered,
                turned_away=self._turned_away,
            )
            for number in range(1, conditions.replicas + 1)
        )
        self.holders = [self.replicas[0]] * conditions.slots
        """The replica that leads each slot, or that led it last."""
        for namespace in (*conditions.namespaces, *([LEASE_NAMESPACE] if conditions.replicas > 1 else [])):
            self.make_namespace(namespace)
        self.cluster.listeners.append(self._note_made)
        self.controllers = Controllers(self.cluster, self.chance, slowest=conditions.slowest)
        self.touched: dict[tuple[str, str, str, str], float] = {}
        """The last write of a child's field by another manager: resource, namespace, name, field."""
        self.asked: dict[tuple[str, str, str], float] = {}
        """The last user change of a part of a parent's spec."""
        self.changes: deque[tuple[float, str, str]] = deque(maxlen=1000)
        """Recent user changes: time, namespace, name."""
        self.lease_touched = 0.0
        """The last time that somebody else changed the Lease."""
        self.leaderless = 0.0
        """The longest time without a leader after the last fault of the election, in seconds."""
        self.backup: Any = None
        self.refused: dict[tuple[str, str, str, str], float] = {}
        """The time of the last refusal as invalid: resource, namespace, name, uid; "" for one to be created."""
        self.turned_away: deque[tuple[float, str, str, Place]] = deque(maxlen=1000)
        """Recent requests that met a fault: time, and the name of the object."""
        self.made: dict[str, float] = {}
        """The creation time of each parent, by uid."""
        self.last_step = 0.0
        self.restored, self.restored_version = -1e9, 0
        """The last time that history went back, and the version of the backup."""
        self.memory: dict[str, Any] = {}
        """The memory of reactive actors."""
        self.on_violation: Callable[[Any], None] = lambda _: None

    def holder(self, namespace: str) -> Replica:
        """Return the replica that leads a namespace, or that led it last."""
        return self.holders[slot_of(namespace, self.conditions.slots)]

    @property
    def leader(self) -> Replica:
        """The replica that leads the first namespace, or that led it last."""
        return self.holder(self.conditions.namespaces[0])

    def make_namespace(self, name: str) -> None:
        """Create a namespace."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.cluster.request("admin", "POST", "/api/v1/namespaces", body)

    def _note_made(self, plural: str, change: str, thing: Object) -> None:
        if plural == self.workload.parent and change == "ADDED":
            self.made[thing["metadata"]["uid"]] = self.clock()
            self.asked |= {(*place(thing), part): self.clock() for part in self.workload.spec_parts}

    def _turned_away(self, kind: str, plural: str, where: Place) -> None:
        self.turned_away.append((self.clock(), kind, plural, where))
        if kind == "reads paused":
            self.memory.setdefault("reads refused", {})[where] = self.clock()
        if kind == "invalid":
            thing = self.cluster.get(plural, where)
            self.refused[plural, *where, "" if thing is None else thing["metadata"]["uid"]] = self.clock()
        for tell in self.on_turned_away:
            if violated := tell():
                self.on_violation(violated)

    def _reached(self, sent: Sent) -> None:
        # Not raised in the operator's task, which would handle it as its own error.
        for tell in self.on_sent:
            if violated := tell(sent):
                self.on_violation(violated)

    def _answered(self, sent: Sent) -> None:
        for tell in self.on_answered:
            tell(sent)

    def close_watches(self, why: str, plural: str | None = None, namespace: str | None = None) -> int:
        """Close the open watches of a resource, or all; return their number."""
        return sum(replica.watches.close(why, plural, namespace) for replica in self.replicas)

    def covered(self, plural: str, namespace: str) -> bool:
        """Return whether the leader's watch of a resource is live and its list is complete."""
        return self.holder(namespace).coverage.covers(plural, namespace)

    def uncovered_since(self, plural: str, namespace: str) -> float:
        """Return since when the leader does not cover a resource."""
        changed = self.cluster.availability_changed.get(plural, 0.0)
        holder = self.holder(namespace)
        since = holder.coverage.uncovered_since(plural, namespace)
        live = holder.watches.live(plural, namespace)
        return since if live else max(since, self.restored, changed)

    def is_undone(self, plural: str, where: Place) -> bool:
        """Return whether a restore reverted data delivered to the operator after the backup, or hid a later deletion.

        No event reports it. If new writes exceed the seen versions, the versions do not show it either. Then only the
        next resync detects it.
        """
        told = self.holder(where[0]).delivered.objects.get(plural, {}).get(where)
        lately = self.clock() - self.restored < 1.1 * self.conditions.resync_interval + 60
        present = self.cluster.get(plural, where)
        if not lately or told is None or told == present:
            return False
        return present is None or version(told) > self.restored_version

    def replica_of(self, group: int) -> Replica | None:
        """Return the replica of a running task."""
        return next((replica for replica in self.replicas if group in replica.subject.numbers), None)

    def parents(self) -> list[Object]:
        """Return the parents that are not terminating."""
        found = self.cluster.objects[self.workload.parent].values()
        return [parent for parent in found if "deletionTimestamp" not in parent["metadata"]]

    def patch(self, who: str, plural: str, where: Place, body: Any, content_type: str, **query: str) -> bool:
        """Patch an object as another actor; return whether it changed."""
        before = self.cluster.api.version
        self.cluster.request(
            who,
            "PATCH",
            self.cluster.path(plural, *where),
            body,
            query={"fieldManager": who, **query},
            content_type=content_type,
        )
        return bool(self.cluster.api.version != before)
