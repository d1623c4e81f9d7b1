"""Counts what happens to HTTPRoutes and Ingresses, so that runs without such events are noticed."""

from model_cluster.objects import Object, controller
from simulation.network import Sent
from simulation.workloads.webapp.judge_of_routes import INGRESSES, ROUTED, ROUTES
from simulation.world import World

HAPPENINGS = (
    "HTTPRoute created",
    "HTTPRoute rejected by a Gateway",
    "HTTPRoute deleted with its CRD",
    "HTTPRoute orphaned",
    "write of an HTTPRoute refused",
    "Ingress created",
    "Ingress without its address",
    "Ingress orphaned",
)
"""The counted events. An object is orphaned if its WebApp was deleted before it."""


class RouteCounts:
    """Counts events of HTTPRoutes and Ingresses."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._refused: set[str] = set()
        """The uids of HTTPRoutes that a Gateway rejects."""
        self._addressed: set[str] = set()
        """The uids of Ingresses with an address."""
        world.cluster.listeners.append(self.take)
        world.on_sent.append(self.sent)

    def take(self, plural: str, change: str, thing: Object) -> None:
        """Count a change of the cluster."""
        if plural not in ROUTED or controller(thing).get("kind") != "WebApp":
            return
        kind = thing.get("kind", "")
        if change == "ADDED":
            self._world.happened[f"{kind} created"] += 1
        elif change == "DELETED":
            webapps = self._world.cluster.objects["webapps"].values()
            alive = controller(thing)["uid"] in {webapp["metadata"]["uid"] for webapp in webapps}
            self._world.happened[f"{kind} orphaned"] += not alive
        elif plural == ROUTES:
            self._count_rejection(thing)
        elif plural == INGRESSES:
            self._count_address(thing)

    def sent(self, sent: Sent) -> None:
        """Count a refused write of the operator."""
        if sent.plural == ROUTES and sent.method != "GET" and sent.status >= 400:
            self._world.happened["write of an HTTPRoute refused"] += 1

    def _count_rejection(self, route: Object) -> None:
        uid = route["metadata"]["uid"]
        parents = route.get("status", {}).get("parents", ())
        rejected = any(each["status"] == "False" for entry in parents for each in entry["conditions"])
        if rejected and uid not in self._refused:
            self._world.happened["HTTPRoute rejected by a Gateway"] += 1
        (self._refused.add if rejected else self._refused.discard)(uid)

    def _count_address(self, ingress: Object) -> None:
        uid = ingress["metadata"]["uid"]
        addressed = bool(ingress.get("status", {}).get("loadBalancer", {}).get("ingress"))
        if not addressed and uid in self._addressed:
            self._world.happened["Ingress without its address"] += 1
        (self._addressed.add if addressed else self._addressed.discard)(uid)
