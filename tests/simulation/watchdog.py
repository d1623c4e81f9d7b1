"""The invariants: what must hold at each step of a run, judged from outside of the operator."""

from dataclasses import dataclass, field

from simulation.bounds import RESOURCES, Bounds, Violated
from simulation.cluster import CHILDREN, Object, Place, place
from simulation.judge import (
    ADOPT,
    LABEL,
    Gap,
    concerns,
    condition,
    controller,
    gaps,
    held_by_policy,
    is_behind,
    is_child,
    is_complete,
    lacks_config,
    status_gaps,
    told,
)
from simulation.weather import Trouble, blocks, is_general
from simulation.world import World


@dataclass
class _Known:
    """What is known of one WebApp's gaps."""

    uid: str = ""
    gaps: list[Gap] = field(default_factory=list)
    since: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """When each gap began, or was last excused."""
    troubled: float = -1e9
    """When anything last excused it."""
    looked: float = -1e9
    """When each of its gaps was last looked at."""


_LOOK_SECONDS = 0.5
"""How long a WebApp that is attended to is not looked at again while nothing changes: no bound is that short."""

_JUDGED = frozenset((*CHILDREN, "webapps", "horizontalpodautoscalers"))
"""Resources that gaps depend on."""

_PART_OF = {"image": "image", "replicas": "replicas", "port": "ports", "config": "config"}
"""The part of a WebApp's spec that a gap is about."""


class Watchdog:
    """Progress, and nobody is forgotten: looked at whenever nothing is left to do at a moment."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world = world
        self._bounds = bounds
        self._known: dict[Place, _Known] = {}
        self._dirty: set[str] = set()
        """Namespaces in which something has changed since the last judgement."""
        self._troubled = 0.0
        """When there was any trouble last."""
        self._resets = 0
        self.enabled = True
        world.cluster.listeners.append(self._changed)

    def look(self) -> None:
        """Look at all WebApps.

        Raises:
            Violated: one is forgotten, or has waited for too long.
        """
        if not self.enabled:
            return
        world = self._world
        if world.weather.active(world.clock()):
            self._troubled = world.clock()
        if world.cluster.resets != self._resets:
            self._resets = world.cluster.resets
            self._dirty.update(world.conditions.namespaces)
        if self._dirty:
            self._judge()
            self._dirty.clear()
        if error := world.subject.failed():
            raise Violated("the operator runs", f"it ended with {error!r}") from error
        for where, known in self._known.items():
            if known.gaps:
                self._look_at(where, known)

    def _changed(self, plural: str, change: str, thing: Object) -> None:  # noqa: ARG002
        if plural in _JUDGED:
            self._dirty.add(place(thing)[0])

    def _judge(self) -> None:
        objects = self._world.cluster.objects
        webapps = self._world.webapps()
        for gone in self._known.keys() - {place(webapp) for webapp in webapps}:
            del self._known[gone]
        for webapp in webapps:
            if place(webapp)[0] not in self._dirty:
                continue
            known = self._known.setdefault(place(webapp), _Known())
            known.looked = -1e9
            if known.uid != webapp["metadata"]["uid"]:
                known.uid, known.since = webapp["metadata"]["uid"], {}
            children = gaps(webapp, objects)
            known.gaps = [*children, *status_gaps(webapp, objects, children)]
            present = {(gap.plural, gap.name, gap.field) for gap in known.gaps}
            known.since = {key: since for key, since in known.since.items() if key in present}

    def _look_at(self, where: Place, known: _Known) -> None:
        world, now = self._world, self._world.clock()
        attends = world.subject.attends(where)
        if attends is not None and now - known.looked < _LOOK_SECONDS:
            return
        known.looked = now
        if self._excused(where):
            known.troubled = now
            known.since = {}
            return
        webapp = world.cluster.objects["webapps"][where]
        for gap in known.gaps:
            key = (gap.plural, gap.name, gap.field)
            since = known.since.setdefault(key, max(now if key not in known.since else 0.0, 0.0))
            if self._explained(webapp, gap):
                known.since[key] = now
                known.troubled = max(known.troubled, now if self._in_trouble(gap) else known.troubled)
                continue
            if now - since > self._bound(gap, known, now):
                raise Violated("progress", f"for {now - since:.0f} s WebApp {where[0]}/{where[1]}: {gap}")
        if attends is None and self._forgotten(webapp, known.gaps):
            shown = "; ".join(map(str, known.gaps[:3]))
            raise Violated("nobody is forgotten", f"nothing will look at WebApp {where[0]}/{where[1]}: {shown}")

    def _bound(self, gap: Gap, known: _Known, now: float) -> float:
        bounds = self._bounds
        if now - known.troubled < 900:
            return bounds.after
        if gap.field in ("owner", "existence"):
            return bounds.name
        return bounds.status if gap.of_status else bounds.calm

    def _excused(self, where: Place) -> bool:
        """Tell whether something keeps all news or all writes of a namespace from their way."""
        world, now = self._world, self._world.clock()
        if not world.subject.running or world.memory.get("restarting"):
            return True
        uncovered = [plural for plural in RESOURCES if not world.covered(plural, where[0])]
        if uncovered and not world.told_all(where):
            # A watch, and the list that follows its start, are not waited for without end.
            since = max(self._troubled, *(world.uncovered_since(plural, where[0]) for plural in uncovered))
            if now - since < self._bounds.uncovered:
                return True
        active = world.weather.active(now)
        if any(trouble.kind == "reads paused" for trouble in active) and self._needed_a_read(where):
            return True
        return any(is_general(trouble.kind, trouble.plural) for trouble in active) or (
            where[0] in world.memory.get("ending", ())
        )

    def _needed_a_read(self, where: Place) -> bool:
        """Tell whether a read for this WebApp was refused lately, or has to come before its next write."""
        refused: dict[Place, float] = self._world.memory.get("reads refused", {})
        now = self._world.clock()
        if any(
            at == where[0] and (name == where[1] or name.startswith(f"{where[1]}-")) and now - when < 120
            for (at, name), when in refused.items()
        ):
            return True
        changed = max((when for when, *place_ in self._world.changes if tuple(place_) == where), default=-1e9)
        looked_at = max(changed, self._world.made.get(self._known[where].uid, -1e9))
        # A WebApp from before the gap of a watch is looked at; and so are the managers of a port that others moved.
        return looked_at < self._world.memory.get("last start", -1e9) or any(
            gap.field.startswith("port") and any(_is_of(key, gap, where) for key in self._world.touched)
            for gap in self._known[where].gaps
        )

    def _in_trouble(self, gap: Gap) -> bool:
        now = self._world.clock()
        return any(trouble.plural in (None, gap.plural) for trouble in self._world.weather.active(now))

    def _explained(self, webapp: Object, gap: Gap) -> bool:
        """Tell whether the status rightly says why a gap stays, or a trouble of that very resource explains it."""
        world, now = self._world, self._world.clock()
        if not gap.of_status and world.is_undone(gap.plural, (place(webapp)[0], gap.name)):
            return True
        if gap.of_status:
            return self._status_explained(webapp, gap)
        concerned = (gap.plural, "configmaps") if gap.field == "config data" else (gap.plural,)
        if any(blocks(trouble.kind) and trouble.plural in concerned for trouble in world.weather.active(now)):
            return True
        policy = webapp["spec"].get("conflicts", {}).get("policy", "Enforce")
        where = place(webapp)
        if policy != "Enforce" and gap.field not in ("existence", "owner"):
            return any(_is_of(key, gap, where) for key in world.touched)
        return (
            held_by_policy(webapp, gap)
            or self._waits_for_the_collector(webapp, gap)
            or self._adopted_later(webapp, gap)
            or self._name_taken(webapp, gap)
            or self._needs_a_person(webapp, gap)
            or self._contested(webapp, gap)
            or self._held_back(webapp, gap)
        )

    def _status_explained(self, webapp: Object, gap: Gap) -> bool:
        active = self._world.weather.active(self._world.clock())
        if gap.wanted == "False" and held_by_policy(webapp, None):
            return True
        if any(trouble.plural in ("webapps/status", "webapps") and blocks(trouble.kind) for trouble in active):
            return True
        if self._is_unwatched(webapp) and gap.wanted != "False":
            return gap.field != "observedGeneration"
        if gap.field != "Ready":
            return False
        children = [each for each in self._known[place(webapp)].gaps if not each.of_status]
        if any(self._world.is_undone(each.plural, (place(webapp)[0], each.name)) for each in children):
            return True
        return self._is_rightly_ready(webapp, gap, active)

    def _is_unwatched(self, webapp: Object) -> bool:
        # Without our label the watch does not cover the Deployment; that it is missing is a gap of its own.
        known = self._known[place(webapp)].gaps
        return ("deployments", f"label {LABEL}") in {(each.plural, each.field) for each in known}

    def _is_rightly_ready(self, webapp: Object, gap: Gap, active: list[Trouble]) -> bool:
        # Not Ready although all that is judged here is as it should be: a part of the child that is not judged.
        if gap.wanted == "True" and any(blocks(trouble.kind) and trouble.plural in CHILDREN for trouble in active):
            return True
        if gap.wanted == "True":
            return condition(webapp, "Conflicted") == "True" or condition(webapp, "Contested") == "True"
        # Ready although a field is not as desired: left to others, and told, or held by a policy.
        if condition(webapp, "Conflicted") == "True" or any(trouble.kind == "changing policy" for trouble in active):
            return True
        return str(webapp["spec"].get("conflicts", {}).get("policy")) == "Yield"

    def _adopted_later(self, webapp: Object, gap: Gap) -> bool:
        """Tell whether a Service that may be adopted rightly waits for the pods of this WebApp."""
        if (gap.plural, gap.field) != ("services", "owner"):
            return False
        deployment = self._world.cluster.get("deployments", place(webapp))
        return not is_child(deployment, webapp) or deployment is None or not is_complete(deployment)

    def _name_taken(self, webapp: Object, gap: Gap) -> bool:
        thing = self._world.cluster.get(gap.plural, (place(webapp)[0], gap.name))
        if gap.field != "owner" or thing is None or is_child(thing, webapp):
            return False
        annotations = thing["metadata"].get("annotations") or {}
        allowed = annotations.get(ADOPT) == place(webapp)[1] and not controller(thing)
        return not allowed and told(webapp, gap) == "Foreign"

    def _waits_for_the_collector(self, webapp: Object, gap: Gap) -> bool:
        """Tell whether a child is of a WebApp that is gone, or about to go: its DELETED will come."""
        thing = self._world.cluster.get(gap.plural, (place(webapp)[0], gap.name))
        if thing is None or gap.field not in ("owner", "existence"):
            return False
        owner = controller(thing)
        uids = {found["metadata"]["uid"] for found in self._world.cluster.objects["webapps"].values()}
        gone = owner.get("kind") == "WebApp" and owner.get("uid") not in uids
        return gone or "deletionTimestamp" in thing["metadata"]

    def _needs_a_person(self, webapp: Object, gap: Gap) -> bool:
        """Tell whether the status says that a person must act, and that is so."""
        if condition(webapp, "Stalled") != "True" or told(webapp, gap) not in ("Degraded", "Foreign"):
            return False
        thing = self._world.cluster.get(gap.plural, (place(webapp)[0], gap.name))
        reason = condition(webapp, "Stalled", "reason")
        # A refusal for good is tried again with the next resync.
        uid = "" if thing is None else thing["metadata"]["uid"]
        refused = self._world.clock() - self._world.refused.get((gap.plural, place(webapp)[0], gap.name, uid), -1e9)
        if reason == "Rejected" and refused < 1.1 * self._world.conditions.resync_interval + self._bounds.after:
            return True
        if reason == "Immutable":
            return thing is not None and thing["metadata"]["uid"] in self._world.memory.get("foreign", ())
        return (
            reason == "Rejected"
            and thing is not None
            and (thing["metadata"]["uid"] in self._world.memory.get("foreign", ()))
        )

    def _contested(self, webapp: Object, gap: Gap) -> bool:
        """Tell whether somebody else set a field since a user last asked for it, and the status says so."""
        where = place(webapp)
        part = _PART_OF.get(gap.field.split()[0], "")
        if part == "ports" and webapp["spec"].get("service", {}).get("ports"):
            part = "service"
        asked = self._world.asked.get((*where, part), -1.0)
        wrote = [at for key, at in self._world.touched.items() if _is_of(key, gap, where)]
        fought = condition(webapp, "Contested") == "True" or told(webapp, gap) in ("Degraded", "Missing")
        return bool(wrote) and max(wrote) > asked and fought and self._world.subject.attends(where) is not None

    def _held_back(self, webapp: Object, gap: Gap) -> bool:
        """Tell whether a Deployment rightly waits for another child that is missing."""
        if gap.plural != "deployments":
            return False
        active = self._world.weather.active(self._world.clock())
        blocked = any(blocks(trouble.kind) and trouble.plural == "configmaps" for trouble in active)
        lacks = lacks_config(webapp, self._world.cluster.objects)
        if lacks and (blocked or self._former_config(webapp) or self._left_config(webapp)):
            return True
        others = [each for each in gaps(webapp, self._world.cluster.objects) if each.plural != "deployments"]
        missing = [each for each in others if each.field in ("existence", "owner")]
        return any(self._explained(webapp, each) for each in missing if each.plural != "services")

    def _left_config(self, webapp: Object) -> bool:
        """Tell whether another content of a ConfigMap is left to its manager by policy, and the status says so."""
        policy = webapp["spec"].get("conflicts", {}).get("policy", "Enforce")
        at = place(webapp)[0]
        touched = any((plural, where) == ("configmaps", at) for plural, where, _, _ in self._world.touched)
        children = webapp.get("status", {}).get("children", ())
        said = any((each["kind"], each["health"]) == ("ConfigMap", "Degraded") for each in children)
        return policy != "Enforce" and touched and said

    def _former_config(self, webapp: Object) -> bool:
        """Tell whether a ConfigMap with the wanted content is of a namesake that is gone: it has the name."""
        uids = {found["metadata"]["uid"] for found in self._world.cluster.objects["webapps"].values()}
        return any(
            where == place(webapp)[0] and thing.get("data") == webapp["spec"].get("config")
            for (where, _), thing in self._world.cluster.objects["configmaps"].items()
            if controller(thing).get("uid") not in uids
        )

    def _forgotten(self, webapp: Object, found: list[Gap]) -> bool:
        where = place(webapp)
        if self._on_the_way(where):
            return False
        says_so = condition(webapp, "Stalled") == "True" and not is_behind(webapp)
        return not says_so and not all(self._explained(webapp, gap) for gap in found)

    def _on_the_way(self, where: Place) -> bool:
        """Tell whether an event that concerns a WebApp has not been delivered yet."""
        for plural in RESOURCES:
            connection = self._world.watches.connection(plural, where[0])
            if connection is None:
                continue
            for _, _, thing, _ in connection.pending:
                if thing is not None and concerns(thing, where):
                    return True
        return False


def _is_of(key: tuple[str, str, str, str], gap: Gap, where: Place) -> bool:
    plural, at, _, _ = key
    content = gap.field == "config data" and plural == "configmaps"
    return at == where[0] and (plural == gap.plural or content)
