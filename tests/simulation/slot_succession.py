"""The invariants of replicas that share slots: one writer for each slot, a leader in time, a balance, and drains."""

import math
from collections import Counter
from dataclasses import dataclass, field

from model_cluster.objects import place
from simulation.bounds import Bounds, Violated
from simulation.elections import LEASE_NAMESPACE, lease_name, namespace_of, slot_of
from simulation.network import LEASES, OF_REQUESTS, Sent
from simulation.replica import Replica
from simulation.succession import Succession
from simulation.world import World

_SYNC_SECONDS = 30.0
"""The time after which a replica without a complete cache takes part nevertheless."""
_DRAIN_SECONDS = 9.0
"""The drain timeout of the operator."""
_PAUSED_REQUESTS_SECONDS = 60.0
"""The time after a fault of requests in which a drain may wait: Retry-After is 50 s at most."""
_LOOK_SECONDS = 0.5
"""The interval between checks of shares and memory. No bound is shorter."""
_HAPPENINGS = {"Acquired": "slot acquired", "Surplus": "slot given back", "Dropped": "slot lost"}


@dataclass
class _Process:
    """One replica as the invariants see it."""

    state: tuple[object, ...] = ()
    """The process, and whether it runs, is paused and is ready."""
    numbers: tuple[int, ...] = ()
    started: float = 0.0
    reported: Counter[str] = field(default_factory=Counter)
    """The changes of slots in this process so far."""
    served: dict[int, float] = field(default_factory=dict)
    """The last time that it served each slot, or that its memory was checked afterwards."""
    held: set[int] = field(default_factory=set)
    """The slots that it leads."""


class SlotSuccession(Succession):
    """Checks the election of each slot before each advance of the clock, and each write."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        super().__init__(world, bounds)
        count = world.conditions.slots
        self._namespaces = [namespace_of(slot, count) for slot in range(count)]
        self._processes = {replica: _Process() for replica in world.replicas}
        self._last_led: list[float | None] = [None] * count
        """The last time that somebody led each slot; None if nobody did so far."""
        self._disturbed = 0.0
        """The last change of a process, or fault of the election."""
        self._slowed = 0.0
        """The last time at which a fault of requests may have delayed a drain."""
        self._next_look = 0.0
        """The time of the next check of shares and memory."""
        self._released: dict[tuple[Replica, str], float] = {}
        """The sending of the last release of each slot by each replica."""

    def look(self) -> None:
        """Check the election.

        Raises:
            Violated: a slot has two writers, or no leader in time; or a replica leads too many slots.
        """
        now = self._world.clock()
        for replica, known in self._known.items():
            self._look_at(replica, known, now)
            self._note_disturbance(replica, now)
        self._note_faults(now)
        for slot, namespace in enumerate(self._namespaces):
            self._look_at_slot(slot, namespace, now)
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_SECONDS
        for replica, process in self._processes.items():
            self._note_changes(replica, process, now)
            self._check_share(replica, process, now)
            self._check_memory(replica, process, now)

    def _note_disturbance(self, replica: Replica, now: float) -> None:
        process, known, subject = self._processes[replica], self._known[replica], replica.subject
        if subject.numbers != process.numbers:
            process.numbers, process.started, process.reported = subject.numbers, now, Counter()
        state = (subject.numbers, subject.running, replica.running, replica.paused, subject.ready)
        if state != process.state:
            # Nothing is checked while all replicas are paused. One that continues needs time to notice a loss.
            process.served.clear()
        joins = now < process.started + _SYNC_SECONDS and replica.running and not replica.is_warm
        if state != process.state or replica.paused or joins:
            process.state, self._disturbed = state, now
        self._disturbed = max(self._disturbed, known.calm)

    def _note_faults(self, now: float) -> None:
        self._disturbed = max(self._disturbed, self._world.lease_touched)
        if any(fault.kind in OF_REQUESTS and fault.plural != LEASES for fault in self._world.faults.active(now)):
            self._slowed = now + _PAUSED_REQUESTS_SECONDS

    def _look_at_slot(self, slot: int, namespace: str, now: float) -> None:
        leading = [replica for replica in self._world.replicas if replica.subject.leads(namespace)]
        if len(leading) > 1:
            shown = " and ".join(f"replica {replica.number}" for replica in leading)
            raise Violated("one writer", f"{shown} may write to slot {slot} at the same time")
        for replica, process in self._processes.items():
            if replica in leading and slot not in process.held:
                self._note_leader(replica, slot, now)
            (process.held.add if replica in leading else process.held.discard)(slot)
        if leading:
            self._last_led[slot] = now
            self._world.holders[slot] = leading[0]
        else:
            self._check_slot(slot, now)

    def _note_leader(self, replica: Replica, slot: int, now: float) -> None:
        self._world.trace.add(f"replica {replica.number} leads slot {slot}")
        first = self._last_led[slot] is None
        if replica is not self._world.holders[slot] and not first:
            self._world.happened["slot taken over"] += 1
        self._note_warmth(replica, self._known[replica], now, first=first)

    @property
    def _requests(self) -> float:
        # Two looks with the creation of each Lease, and the requests for the shared Lease and the one of the slot.
        return (12 + 2 * len(self._namespaces)) * self._world.conditions.slowest

    def _check_slot(self, slot: int, now: float) -> None:
        world = self._world
        if not any(replica.running and not replica.paused for replica in world.replicas):
            return
        waited = now - max(self._last_led[slot] or 0.0, self._disturbed)
        world.leaderless = max(world.leaderless, waited)
        if waited > self._bounds.slots + self._requests:
            raise Violated("a leader in time", f"nobody leads slot {slot} for {waited:.1f} s")

    def _note_changes(self, replica: Replica, process: _Process, now: float) -> None:
        reported = replica.subject.reported
        for name, count in (reported - process.reported).items():
            self._world.happened[_HAPPENINGS[name]] += count
            if name == "Dropped" and now - self._disturbed > self._bounds.slots + self._requests:
                raise Violated("a leader in time", f"replica {replica.number} lost a slot without a fault")
        process.reported = reported

    def _check_share(self, replica: Replica, process: _Process, now: float) -> None:
        running = [each for each in self._world.replicas if each.running]
        sharing = [each for each in running if each.subject.ready] or running
        share = math.ceil(len(self._namespaces) / len(sharing)) if replica in sharing else 0
        if not replica.running or len(process.held) <= share:
            return
        waited = now - max(self._disturbed, self._slowed)
        if waited > self._bounds.balance + self._requests + 100 * self._world.conditions.slowest:
            shown = f"replica {replica.number} leads {len(process.held)} of {len(self._namespaces)} slots"
            raise Violated("slots are balanced", f"{shown} for {waited:.1f} s, its share is {share}")

    def _check_memory(self, replica: Replica, process: _Process, now: float) -> None:
        for slot, namespace in enumerate(self._namespaces):
            ended = not replica.running or replica.paused
            if ended or replica.subject.serves(namespace) or slot in process.held or now < self._slowed:
                process.served[slot] = now
            elif now - process.served.setdefault(slot, now) > self._bounds.memory:
                process.served[slot] = now
                self._check_memory_of(replica, slot)

    def _check_memory_of(self, replica: Replica, slot: int) -> None:
        count = len(self._namespaces)
        parents = [parent for parent in self._world.parents() if slot_of(place(parent)[0], count) == slot]
        names, uids = {place(parent) for parent in parents}, {parent["metadata"]["uid"] for parent in parents}
        self._world.happened["memory of a slot checked"] += bool(parents)
        if found := replica.subject.remembered(names, uids):
            shown = ", ".join(f"{path} ({number})" for path, number in found.items())
            raise Violated("memory of a slot is dropped", f"replica {replica.number}, slot {slot}: {shown}")

    def take(self, sent: Sent) -> Violated | None:
        """Check a request that arrived; return a violation of an invariant."""
        return super().take(sent) or (None if sent.method == "GET" else self._take_write(sent))

    def _take_write(self, sent: Sent) -> Violated | None:
        if (sent.plural, sent.namespace) == (LEASES, LEASE_NAMESPACE):
            spec = sent.body.get("spec", {}) if isinstance(sent.body, dict) else {}
            # A process that ends gives up its in-flight reconciles after the drain timeout.
            if spec.get("leaseDurationSeconds") == 1 and sent.status < 300 and sent.replica.running:
                self._released[sent.replica, sent.name or ""] = sent.begun
            return None
        count = len(self._namespaces)
        lease = lease_name(slot_of(sent.namespace or "", count), count)
        if sent.begun >= self._released.get((sent.replica, lease), sent.begun):
            return None
        if sent.time - sent.begun > _DRAIN_SECONDS / 2:
            # Two such requests exceed the drain timeout, and then the drain cancels the reconcile.
            return None
        shown = f"{sent.method} {sent.plural} {sent.namespace}/{sent.name or ''}"
        return Violated("a drain before the release", f"replica {sent.replica.number} sent {shown} before the release")
