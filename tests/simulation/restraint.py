"""The invariant restraint: bounded writes, none to foreign objects, and no new child of a parent in deletion."""

from collections import deque
from functools import partial

from model_cluster.objects import Place, controller, is_terminating
from simulation.bounds import Bounds, Violated
from simulation.judge import is_applied_by
from simulation.network import Sent
from simulation.replica import Replica
from simulation.world import World

_FOR_EACH_CHANGE = 4
"""Allowed writes of one object for each user change: the apply, and steps of the rollout in the status."""
_FOR_EACH_FOUGHT_CHANGE = 14
"""The same during a fight: a new intent is enforced five times, with two requests if ports move."""


_OUTAGE_SECONDS = 60.0
_CROWD = 12
"""Parents that may be retried within one second, in an outage of more than a minute."""


class Restraint:
    """Checks that writes are bounded, never go to foreign objects, and create no child of a parent in deletion."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world = world
        self._workload = world.workload
        self._bounds = bounds
        self._writes: dict[tuple[int, str, str, str], deque[tuple[float, int]]] = {}
        """By number of the replica, resource, namespace and name: time and status."""
        self._ending: dict[tuple[Replica, str], float] = {}
        """The time at which a replica was told of the deletion of a parent with finalizers, by uid."""
        for replica in world.replicas:
            replica.delivered.listeners.append(partial(self._told, replica))
        world.on_sent.append(self.take)
        world.on_turned_away += [self._check_crowd, self._check_refused]
        self.most = 0

    def take(self, sent: Sent) -> Violated | None:
        """Check a request that arrived; return a violation of the invariant."""
        try:
            self._take(sent)
        except Violated as violated:
            return violated
        return None

    def _take(self, sent: Sent) -> None:
        if sent.method == "GET" or sent.plural not in self._workload.resources:
            return
        self._check_foreign(sent)
        self._check_ending(sent)
        self._remember(sent)
        key = (sent.plural, sent.namespace or "", f"{sent.name}/{sent.subresource or ''}")
        writes = self._writes.setdefault((sent.replica.number, *key), deque())
        writes.append((sent.time, sent.status))
        while writes[0][0] < sent.time - 1800:
            writes.popleft()
        lately = [status for time, status in writes if time > sent.time - 60]
        fought = any(
            (plural, at, name) == (sent.plural, sent.namespace, sent.name) and when > sent.time - 60
            for (plural, at, name, _), when in self._world.touched.items()
        )
        each = _FOR_EACH_FOUGHT_CHANGE if fought else _FOR_EACH_CHANGE
        self.most = max(self.most, len(lately))
        if len(lately) > self._bounds.requests + each * self._asked(sent, 60):
            refused = sum(status >= 400 for status in lately)
            raise Violated("restraint", f"{len(lately)} writes of {key} within a minute, {refused} of them refused")
        if len(writes) > self._bounds.long_requests + (each * self._asked(sent, 1800) if fought else 0):
            raise Violated("restraint", f"{len(writes)} writes of {key} within half an hour")

    def _check_crowd(self) -> Violated | None:
        """Return a violation if many parents are retried at the same time in a long outage."""
        now = self._world.clock()
        outage = any(
            each.kind in ("internal error", "unavailable") and now - each.since > _OUTAGE_SECONDS
            for each in self._world.faults.active(now)
        )
        if outage and now - self._world.last_step > _OUTAGE_SECONDS:
            names = {where[1] for time, _, _, where in self._world.turned_away if time > now - 1}
            if len(names) > _CROWD:
                return Violated(
                    "restraint", f"{len(names)} {self._workload.kind}s come back within a second of an outage"
                )
        return None

    def _check_refused(self) -> Violated | None:
        """Return a violation if a write with a terminal refusal is repeated although nothing has changed."""
        since = self._world.clock() - 60
        _, kind, plural, where = self._world.turned_away[-1]
        touched = any(key[:3] == (plural, *where) and when > since for key, when in self._world.touched.items())
        if kind != "invalid" or touched:
            return None
        last = (kind, plural, where)
        refused = sum(time > since and last == tuple(each) for time, *each in self._world.turned_away)
        if refused > self._bounds.refusals + _FOR_EACH_CHANGE * self._changes(where, since):
            return Violated("restraint", f"{refused} refused writes of {(plural, *where)} within a minute")
        return None

    def _asked(self, sent: Sent, seconds: float) -> int:
        return self._changes((sent.namespace or "", sent.name or ""), sent.time - seconds)

    def _changes(self, where: Place, since: float) -> int:
        """Return the number of user changes since then to the parent of an object."""
        return sum(
            time > since and at == where[0] and where[1].startswith(name) for time, at, name in self._world.changes
        )

    def _check_foreign(self, sent: Sent) -> None:
        thing = sent.before
        if sent.plural not in self._workload.children or thing is None or sent.status >= 300:
            return
        owner, annotations = controller(thing), thing["metadata"].get("annotations") or {}
        group = str(owner.get("apiVersion", "")).partition("/")[0]
        ours = (owner.get("kind"), group) == (self._workload.kind, self._workload.group)
        stripped = not owner and is_applied_by(thing, self._workload.manager)
        allowed = not owner and self._workload.adopt in annotations
        if not (ours or stripped or allowed):
            raise Violated("no write to foreign objects", f"{sent.method} {sent.plural}/{sent.name}")

    def _told(self, replica: Replica, plural: str, where: Place) -> None:
        thing = replica.delivered.objects.get(plural, {}).get(where)
        if plural != self._workload.parent or thing is None:
            return
        key = (replica, thing["metadata"]["uid"])
        if is_terminating(thing):
            self._ending.setdefault(key, self._world.clock())
        else:
            self._ending.pop(key, None)  # a restore of etcd has reverted its deletion

    def _check_ending(self, sent: Sent) -> None:
        if sent.plural not in self._workload.children or sent.before is not None or sent.status != 201:
            return
        told = self._ending.get((sent.replica, controller(sent.answer).get("uid", "")))
        if told is not None and told < getattr(sent.task, "created", 0.0):
            raise Violated("restraint", f"{sent.plural}/{sent.name} is created for a parent that is being deleted")

    def _remember(self, sent: Sent) -> None:
        ours = sent.method == "PATCH" and sent.query.get("fieldManager") == self._workload.manager
        if ours and sent.status < 300 and isinstance(sent.body, dict) and not sent.subresource:
            applied = self._world.memory.setdefault("applied", {})
            applied[sent.plural, sent.namespace or "", sent.name or ""] = sent.body
