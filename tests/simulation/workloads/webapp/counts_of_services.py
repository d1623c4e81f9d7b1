"""An invariant of Services: each keeps its address and its allocated values, unless the spec gives leave."""

import math
from functools import partial

from model_cluster.objects import Object, Place, controller, place
from simulation.bounds import Violated
from simulation.network import Sent
from simulation.replica import Replica
from simulation.workloads.webapp.judge_of_revisions import REVISIONS, running
from simulation.workloads.webapp.judge_of_services import ALIAS, HEADLESS, SERVICES, may_be_replaced, type_of
from simulation.world import World

KEEPS = "a Service keeps its address"
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", ALIAS, HEADLESS)
HAPPENINGS = (
    *(f"Service became {kind}" for kind in _TYPES),
    "Service recreated by leave",
    "Service kept without leave",
    "node port of others kept",
)


class Services:
    """Checks the writes of Services, and counts their types."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._leave: dict[tuple[Replica, str], float] = {}
        """The last time at which a replica knew a spec that lets it delete the Service, by uid of the WebApp."""
        self._refused: set[str] = set()
        """The uids of WebApps whose Service waits for a person."""
        world.on_sent.append(self.take)
        world.cluster.listeners.append(self._changed)
        for replica in world.replicas:
            replica.delivered.listeners.append(partial(self._told, replica))

    def take(self, sent: Sent) -> Violated | None:
        """Check a write that arrived; return a violation of the invariant."""
        if sent.plural != SERVICES or sent.method == "GET" or sent.status >= 300 or sent.before is None:
            return None
        if sent.method == "DELETE":
            return self._deleted(sent, sent.before)
        return self._kept(sent, sent.before, sent.answer)

    def _deleted(self, sent: Sent, before: Object) -> Violated | None:
        owner = controller(before)
        webapp = self._world.cluster.get("webapps", place(before))
        if owner.get("kind") != "WebApp" or webapp is None or webapp["metadata"]["uid"] != owner["uid"]:
            return None
        began = getattr(sent.task, "created", 0.0)
        self._note_leave(sent.replica, place(before))
        if self._leave.get((sent.replica, owner["uid"]), -1.0) < began:
            return Violated(KEEPS, f"{sent.namespace}/{sent.name} of type {type_of(before)} is deleted without leave")
        self._world.happened["Service recreated by leave"] += 1
        return None

    def _kept(self, sent: Sent, before: Object, after: Object) -> Violated | None:
        names = [
            name for name in ("clusterIP", "healthCheckNodePort") if name in before["spec"] and name in after["spec"]
        ]
        changed = [name for name in names if before["spec"][name] != after["spec"][name]]
        changed += [name for name, port in _node_ports(before).items() if _node_ports(after).get(name, port) != port]
        if self._is_adopted(sent, before) and type_of(before) not in (ALIAS, type_of(after)):
            changed.append("type")
        if changed:
            return Violated(KEEPS, f"{sent.namespace}/{sent.name} loses its {', '.join(changed)}")
        moved = self._world.memory.get("moved node ports", ())
        self._world.happened["node port of others kept"] += any(port in moved for port in _node_ports(after).values())
        return None

    def _is_adopted(self, sent: Sent, before: Object) -> bool:
        """Return whether a write adopts a Service for a WebApp that sets no type."""
        webapp = self._world.cluster.get("webapps", place(before))
        asked = self._world.asked.get((*place(before), "service"), -1.0)
        if controller(before) or webapp is None or asked > getattr(sent.task, "created", 0.0):
            return False
        return not {"type", "headless"} & running(webapp, self._world.cluster.objects)["spec"].get("service", {}).keys()

    def _changed(self, plural: str, change: str, thing: Object) -> None:
        if plural == SERVICES and change != "DELETED":
            self._count_type(thing)
        elif plural == "webapps" and change == "MODIFIED":
            self._count_refusal(thing)

    def _count_type(self, service: Object) -> None:
        known: dict[Place, str] = self._world.memory.setdefault("types of Services", {})
        now, before = type_of(service), known.get(place(service))
        known[place(service)] = now
        if before not in (None, now):
            self._world.happened[f"Service became {now}"] += 1

    def _count_refusal(self, webapp: Object) -> None:
        conditions = webapp.get("status", {}).get("conditions", ())
        waits = any((each["type"], each["reason"]) == ("Stalled", "Immutable") for each in conditions)
        uid, children = webapp["metadata"]["uid"], webapp.get("status", {}).get("children", ())
        waits = waits and any((each["kind"], each["health"]) == ("Service", "Degraded") for each in children)
        if waits and uid not in self._refused:
            self._world.happened["Service kept without leave"] += 1
        (self._refused.add if waits else self._refused.discard)(uid)

    def _told(self, replica: Replica, plural: str, where: Place) -> None:
        if plural == "webapps":
            self._note_leave(replica, where)

    def _note_leave(self, replica: Replica, where: Place) -> None:
        objects = {kind: replica.delivered.objects.get(kind, {}) for kind in ("webapps", REVISIONS)}
        webapp = objects["webapps"].get(where)
        if webapp is None:
            return
        key = (replica, webapp["metadata"]["uid"])
        if any(may_be_replaced(each) for each in (webapp, running(webapp, objects))):
            self._leave[key] = math.inf
        elif self._leave.get(key) == math.inf:
            self._leave[key] = self._world.clock()


def _node_ports(service: Object) -> dict[str, int]:
    return {port.get("name", ""): port["nodePort"] for port in service["spec"].get("ports") or () if "nodePort" in port}
