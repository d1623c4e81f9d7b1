"""The invariants of several replicas: one writer at most, a leader in time, and a takeover without a LIST.

It also does the part of the kubelet: a process that lost the leadership starts again.
"""

from dataclasses import dataclass, field

from simulation.bounds import Bounds, Violated
from simulation.network import LEASES, OF_REQUESTS, Sent
from simulation.replica import Replica
from simulation.watcher import Scope
from simulation.world import World

_RESTART_SECONDS = (0.5, 10.0)
"""From the end of a process that lost the leadership to the next one."""
_WARM_SECONDS = 15.0
"""The time since the start of a process and of its watches after which its cache is warm."""
_TAKEOVER_SECONDS = 2.0
"""The time after a takeover in which no LIST may begin."""


@dataclass
class _Known:
    """One replica as the invariants see it."""

    calm: float = 0.0
    """The end of the last disturbance of its election: its start, a pause, or a fault of its requests."""
    leads: bool = False
    took_over: float = -1e9
    """The time at which it began to lead with a warm cache."""
    listed: dict[Scope, float] = field(default_factory=dict)
    """The last LIST of each scope."""


class Succession:
    """Checks the election before each advance of the clock, and each write."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world = world
        self._bounds = bounds
        self._known = {replica: _Known() for replica in world.replicas}
        self._led: float | None = None
        """The last time that a replica led; None if none did so far."""
        world.on_sent.append(self.take)

    def look(self) -> None:
        """Check the election.

        Raises:
            Violated: two processes may write, or none leads in time.
        """
        world, now = self._world, self._world.clock()
        leading = [replica for replica in world.replicas if replica.subject.leads()]
        if len(leading) > 1:
            shown = " and ".join(f"replica {replica.number}" for replica in leading)
            raise Violated("one writer", f"{shown} may write at the same time")
        for replica, known in self._known.items():
            self._look_at(replica, known, now)
            leads = replica.subject.leads()
            if leads and not known.leads:
                self._began(replica, known, now)
            known.leads = leads
        if leading:
            self._led = now
            world.holders[0] = leading[0]
        else:
            self._check_succession(now)

    def _look_at(self, replica: Replica, known: _Known, now: float) -> None:
        known.calm = max(known.calm, replica.disturbed, self._fault_until(replica))
        if replica.subject.lost and not replica.restarting:
            # A blocked main loop learns of the loss when it continues.
            if now - max(known.calm, replica.continued, self._world.lease_touched) > self._bound:
                raise Violated("a leader in time", f"replica {replica.number} lost the Lease without a fault")
            self._world.happened["leadership lost"] += 1
            replica.start_later(self._world.chance.delay(*_RESTART_SECONDS, "restart of a replica"))

    def _began(self, replica: Replica, known: _Known, now: float) -> None:
        self._world.trace.add(f"replica {replica.number} leads")
        if replica is not self._world.leader and self._led is not None:
            self._world.happened["takeover"] += 1
        self._note_warmth(replica, known, now, first=self._led is None)

    def _note_warmth(self, replica: Replica, known: _Known, now: float, *, first: bool) -> None:
        """Note a takeover with a warm cache. It needs no LIST."""
        calm = now - max(known.calm, replica.coverage.last_start, self._world.restored) > _WARM_SECONDS
        if calm and replica.is_warm:
            known.took_over = now
            self._world.happened["warm takeover"] += not first

    def _fault_until(self, replica: Replica) -> float:
        """Return the end of the active faults of its requests for the Lease."""
        return max(
            (
                fault.until
                for fault in self._world.faults.active(self._world.clock())
                if fault.kind in OF_REQUESTS
                and fault.plural in (None, LEASES)
                and fault.client in (None, replica.number)
            ),
            default=0.0,
        )

    @property
    def _bound(self) -> float:
        # A poll, the expiry and three requests. A request takes twice the longest delay.
        return self._bounds.succession + 6 * self._world.conditions.slowest

    def _check_succession(self, now: float) -> None:
        world = self._world
        candidates = [known.calm for replica, known in self._known.items() if replica.running and not replica.paused]
        if not candidates:
            return
        waited = now - max(self._led or 0.0, world.lease_touched, min(candidates))
        world.leaderless = max(world.leaderless, waited)
        if waited > self._bound:
            raise Violated("a leader in time", f"nobody leads for {waited:.1f} s")

    def take(self, sent: Sent) -> Violated | None:
        """Check a request that arrived; return a violation of an invariant."""
        if sent.method == "GET":
            return self._take_list(sent) if sent.name is None else None
        if sent.plural == LEASES or sent.entitled:
            return None
        shown = f"{sent.method} {sent.plural} {sent.namespace}/{sent.name or ''}"
        return Violated("writes of the leader", f"replica {sent.replica.number} sent {shown} without leading")

    def _take_list(self, sent: Sent) -> Violated | None:
        known, scope = self._known[sent.replica], (sent.plural, sent.namespace)
        last = known.listed.get(scope, -1e9)
        known.listed[scope] = sent.begun
        resync = sent.begun - last > 0.5 * self._world.conditions.resync_interval
        if resync or sent.plural not in self._world.workload.resources:
            return None
        restarted = sent.replica.coverage.last_start > known.took_over
        if restarted or not 0 <= sent.begun - known.took_over < _TAKEOVER_SECONDS:
            return None
        return Violated("a takeover without a LIST", f"replica {sent.replica.number} listed {sent.plural}")
