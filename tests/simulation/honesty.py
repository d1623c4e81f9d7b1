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
        self._began: dict[Place, dict[str, float]] = {}
        """When each gap that the operator was told of began."""
        self._replaced: dict[Place, int] = {}
        """Counts of Deployments that the operator deleted while an autoscaler had them."""
        self._blind: dict[str, float] = {}
        """When the operator last could not know the autoscalers of a namespace: then replicas are left alone (K28)."""
        world.on_sent.append(self.take)
        world.delivered.tell = self._told

    def look(self) -> None:
        """Note which namespaces' autoscalers may be unknown; call it whenever nothing is left to do at a moment."""
        for namespace in self._world.conditions.namespaces:
            if not self._world.covered("horizontalpodautoscalers", namespace):
                self._blind[namespace] = self._world.clock()

    def _told(self, plural: str, where: Place) -> None:
        if plural not in RESOURCES[:5]:
            return
        objects, now = self._objects(), self._world.clock()
        for webapp in list(objects["webapps"].values()):
            if place(webapp)[0] == where[0]:
                before = self._began.get(place(webapp), {})
                self._began[place(webapp)] = {gap: before.get(gap, now) for gap in self._gaps(webapp, objects)}

    def _gaps(self, webapp: Object, objects: dict[str, dict[Place, Object]]) -> list[str]:
        found = [str(gap) for gap in gaps(webapp, objects) if gap.field != "leftover"]
        return found if self._rolled_out(webapp, objects) else [*found, "the rollout is not complete"]

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
        if self._world.clock() - self._world.restored < 900:
            return  # the operator may not know of it yet, and what it was told before is still true to it
        where, objects = place(webapp), self._objects()
        if condition(webapp, "Conflicted") == "True" or condition(webapp, "Contested") == "True":
            return
        if webapp["spec"].get("conflicts", {}).get("policy", "Enforce") != "Enforce":
            return
        began = getattr(sent.task, "created", 0.0) - 0.001
        # A gap that the operator was told of after the beginning of this reconcile it may have looked at before.
        known = self._began.get(where, {})
        found = [gap for gap in self._gaps(webapp, objects) if known.get(gap, began) < began]
        if self._blind.get(where[0], -1.0) >= began:
            found = [gap for gap in found if not gap.startswith(f"deployments/{where[1]} replicas:")]
        if not found:
            return
        if self._world.weather.met_at.get("changing policy", -1e9) > began - 120 or self._held(webapp):
            return
        raise Violated("honesty", f"{where[0]}/{where[1]} is said to be Ready, but the operator was told: {found[0]}")

    def _held(self, webapp: Object) -> bool:
        """Tell whether a child says that a policy holds a field."""
        return any("admission policy" in child.get("message", "") for child in webapp["status"].get("children", ()))

    def _check_drift(self, webapp: Object) -> None:
        """Check that drift in a status happened to children of this very WebApp."""
        drift = webapp.get("status", {}).get("drift")
        if not drift or self._world.memory.get("foreign") or self._world.weather.met["changing policy"]:
            return
        (at, name), made = place(webapp), self._world.made.get(webapp["metadata"]["uid"], 0.0)
        wrote = [
            when
            for (_, where, what, _), when in self._world.touched.items()
            if where == at and (what == name or what.startswith(f"{name}-"))
        ]
        if max(wrote, default=0.0) < made:
            raise Violated("honesty", f"{at}/{name} tells of drift from before it was made: {drift[-1]}")

    def _check_count(self, sent: Sent) -> None:
        """Check that a Deployment which the operator replaces keeps the count of its autoscaler."""
        where = (sent.namespace or "", sent.name or "")
        webapp = self._world.cluster.get("webapps", where)
        if sent.method == "DELETE" and sent.before is not None:
            if webapp is not None and autoscaler(webapp, self._objects()) is not None:
                self._replaced[where] = sent.before["spec"].get("replicas", 1)
        elif sent.before is None and where in self._replaced and isinstance(sent.answer, dict):
            before, now = self._replaced.pop(where), sent.answer["spec"].get("replicas", 1)
            if before != now and webapp is not None and autoscaler(webapp, self._objects()) is not None:
                raise Violated("honesty", f"{where}: an autoscaler had {before} replicas, its successor has {now}")
