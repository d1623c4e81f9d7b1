"""Restraint: bounded writes, and none to objects of others."""

from collections import deque

from simulation.bounds import RESOURCES, Bounds, Violated
from simulation.cluster import CHILDREN
from simulation.judge import ADOPT, MANAGER, applied_by_us, controller
from simulation.network import Sent
from simulation.world import World

_FOR_EACH_CHANGE = 4
"""Writes of one object that each change by a user is good for: the apply, and steps of the rollout in the status."""
_FOR_EACH_FOUGHT_CHANGE = 14
"""The same while others write to the object: a new intent is enforced five times, by two requests where ports move."""


_OUTAGE_SECONDS = 60.0
_CROWD = 12
"""WebApps that may be tried within one second of an outage that has lasted for a minute."""


class Restraint:
    """Bounded writes; none to what is another's."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world = world
        self._bounds = bounds
        self._writes: dict[tuple[str, str, str], deque[tuple[float, int]]] = {}
        world.on_sent.append(self.take)
        world.on_turned_away.append(self._check_crowd)
        self.most = 0

    def take(self, sent: Sent) -> Violated | None:
        """Take a request that arrived; return how it breaks the invariant."""
        try:
            self._take(sent)
        except Violated as violated:
            return violated
        return None

    def _take(self, sent: Sent) -> None:
        if sent.method == "GET" or sent.plural not in RESOURCES:
            return
        self._check_foreign(sent)
        self._remember(sent)
        key = (sent.plural, sent.namespace or "", f"{sent.name}/{sent.subresource or ''}")
        writes = self._writes.setdefault(key, deque())
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
        """Check that in a long outage WebApps do not come back all at once; return how they do."""
        now = self._world.clock()
        outage = any(
            each.kind in ("internal error", "unavailable") and now - each.since > _OUTAGE_SECONDS
            for each in self._world.weather.active(now)
        )
        if outage and now - self._world.last_step > _OUTAGE_SECONDS:
            names = {name for time, name in self._world.turned_away if time > now - 1}
            if len(names) > _CROWD:
                return Violated("restraint", f"{len(names)} WebApps come back within a second of an outage")
        return None

    def _asked(self, sent: Sent, seconds: float) -> int:
        """Return how many changes users made within the last seconds to the WebApp of an object."""
        return sum(
            time > sent.time - seconds and at == sent.namespace and (sent.name or "").startswith(name)
            for time, at, name in self._world.changes
        )

    def _check_foreign(self, sent: Sent) -> None:
        thing = sent.before
        if sent.plural not in CHILDREN or thing is None or sent.status >= 300:
            return
        owner, annotations = controller(thing), thing["metadata"].get("annotations") or {}
        ours = owner.get("kind") == "WebApp" and str(owner.get("apiVersion", "")).startswith("coxswain.dev/")
        stripped = not owner and applied_by_us(thing)
        allowed = not owner and ADOPT in annotations
        if not (ours or stripped or allowed):
            raise Violated("no write to foreign objects", f"{sent.method} {sent.plural}/{sent.name}")

    def _remember(self, sent: Sent) -> None:
        ours = sent.method == "PATCH" and sent.query.get("fieldManager") == MANAGER
        if ours and sent.status < 300 and isinstance(sent.body, dict) and not sent.subresource:
            applied = self._world.memory.setdefault("applied", {})
            applied[sent.plural, sent.namespace or "", sent.name or ""] = sent.body
