"""Honesty: no status is ahead of what the operator was told, nothing of another WebApp is in it."""

from simulation.bounds import RESOURCES, Violated
from simulation.cluster import Object, Place, place
from simulation.judge import autoscaler, condition, gaps, is_complete
from simulation.network import Sent
from simulation.world import World


class Honesty:
    """No status is ahead of what the operator was told or of another WebApp; no autoscaled count is lost."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._matched: dict[Place, tuple[float, int]] = {}
        self._counts: dict[Place, int] = {}
        world.on_sent.append(self.take)
        world.delivered.tell = self._told

    def _told(self, plural: str, where: Place) -> None:
        if plural not in RESOURCES[:5]:
            return
        objects = self._objects()
        for webapp in list(objects["webapps"].values()):
            if place(webapp)[0] == where[0] and not gaps(webapp, objects) and self._rolled_out(webapp, objects):
                self._matched[place(webapp)] = (self._world.clock(), webapp["metadata"]["generation"])

    def _objects(self) -> dict[str, dict[Place, Object]]:
        return {plural: self._world.delivered.objects.get(plural, {}) for plural in RESOURCES}

    def _rolled_out(self, webapp: Object, objects: dict[str, dict[Place, Object]]) -> bool:
        deployment = objects["deployments"].get(place(webapp))
        return deployment is not None and is_complete(deployment)

    def take(self, sent: Sent) -> Violated | None:
        """Take a request that arrived; return how it breaks the invariant."""
        try:
            self._take(sent)
        except Violated as violated:
            return violated
        return None

    def _take(self, sent: Sent) -> None:
        if sent.plural == "deployments" and sent.name and sent.method != "GET" and sent.status < 300:
            self._check_count(sent)
        if sent.plural != "webapps" or sent.subresource != "status" or sent.status >= 300:
            return
        webapp = sent.answer
        self._check_ready(sent, webapp)
        self._check_drift(webapp)

    def _check_ready(self, sent: Sent, webapp: Object) -> None:
        if condition(webapp, "Ready") != "True" or webapp["spec"].get("paused"):
            return
        where, objects = place(webapp), self._objects()
        if condition(webapp, "Conflicted") == "True" or condition(webapp, "Contested") == "True":
            return
        if webapp["spec"].get("conflicts", {}).get("policy", "Enforce") != "Enforce":
            return
        found = [gap for gap in gaps(webapp, objects) if gap.field != "leftover"]
        if not found and self._rolled_out(webapp, objects):
            return
        began = getattr(sent.task, "created", 0.0)
        matched, generation = self._matched.get(where, (-1e9, 0))
        if matched >= began - 0.001 and generation == webapp["status"]["observedGeneration"]:
            return
        if self._world.weather.met_at.get("changing policy", -1e9) > began - 120 or self._held(webapp):
            return
        why = str(found[0]) if found else "the rollout is not complete"
        raise Violated("honesty", f"{where[0]}/{where[1]} is said to be Ready, but the operator was told: {why}")

    def _held(self, webapp: Object) -> bool:
        """Tell whether a child says that a policy holds a field."""
        return any("admission policy" in child.get("message", "") for child in webapp["status"].get("children", ()))

    def _check_drift(self, webapp: Object) -> None:
        """What is told of drift must have happened to children of this very WebApp."""
        drift = webapp.get("status", {}).get("drift")
        if not drift:
            return
        made = self._world.memory.setdefault("made", {}).get(webapp["metadata"]["uid"], -1e9)
        at, name = place(webapp)
        wrote = [
            when
            for (_, where, what, _), when in self._world.touched.items()
            if where == at and (what == name or what.startswith(f"{name}-"))
        ]
        if wrote and max(wrote) >= made:
            return
        if self._world.memory.get("foreign") or self._world.weather.met["changing policy"]:
            return
        raise Violated("honesty", f"{at}/{name} tells of drift from before it was made: {drift[-1]}")

    def _check_count(self, sent: Sent) -> None:
        """An autoscaler that the operator knows of keeps its count, whatever becomes of the Deployment."""
        where = (sent.namespace or "", sent.name or "")
        live = self._world.cluster.get("deployments", where)
        before = self._counts.get(where)
        if sent.before is not None:
            before = self._counts[where] = sent.before["spec"].get("replicas", 1)
        webapp = self._world.cluster.get("webapps", where)
        if live is None or before is None or webapp is None:
            return
        known = autoscaler(webapp, self._objects())
        note = (live["metadata"].get("annotations") or {}).get("coxswain.dev/replicas")
        settled = known is not None and self._world.clock() - self._seen(known) > 5
        replaced = self._world.memory.get("replaced", set())
        if settled and note is not None and live["spec"].get("replicas", 1) != before and where not in replaced:
            raise Violated("honesty", f"{where}: an autoscaler had {before} replicas, now {live['spec']['replicas']}")

    def _seen(self, thing: Object) -> float:
        seen: dict[str, float] = self._world.memory.setdefault("scalers", {})
        return seen.setdefault(thing["metadata"]["uid"], self._world.clock())
