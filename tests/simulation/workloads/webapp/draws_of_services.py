"""Random parameters for the Service of a WebApp, and for volumes and further containers of its pods."""

from typing import Any

from model_cluster.chance import Chance
from simulation.draws import named
from simulation.scripts import Draw, Spec
from simulation.workloads.webapp.draws_of_routes import PORTS

SHAPES: dict[str, Spec] = {
    "silent": {},
    "cluster IP": {"type": "ClusterIP", "headless": False},
    "node port": {"type": "NodePort", "externalTrafficPolicy": "Local"},
    "load balancer": {"type": "LoadBalancer"},
    "local load balancer": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
    "alias": {"type": "ExternalName", "externalName": "shop.example.com"},
    "headless": {"headless": True},
}
_UNSET = dict.fromkeys(("type", "externalTrafficPolicy", "externalName", "headless", "replace"))

VOLUMES: tuple[Any, ...] = (
    None,
    [{"name": "cache", "mountPath": "/cache", "emptyDir": {}}],
    [{"name": "keys", "mountPath": "/keys", "secret": {"secretName": "db", "optional": True}}],
)
SIDECARS: tuple[Any, ...] = (None, [{"name": "proxy", "image": "proxy:1"}], [{"name": "proxy", "image": "proxy:2"}])
INIT_CONTAINERS: tuple[Any, ...] = (None, [{"name": "migrate", "image": "migrate:1"}])


def shaped(shape: str, *, allowed: bool) -> Spec:
    """Return the change to another shape of the Service; `allowed` gives leave to recreate it."""
    service = {**_UNSET, **SHAPES[shape], **({"replace": "Allowed"} if allowed else {})}
    # An alias leads to another host, so it has no routes. Each other Service needs a port.
    return {"service": service, **({"routes": None, "ingress": None} if shape == "alias" else {"ports": PORTS})}


def _service(chance: Chance, at: str, name: str) -> dict[str, Any]:
    shape, allowed = chance.pick(tuple(SHAPES), "shape"), chance.happens(0.6, "allowed")
    return {"at": at, "name": name, "what": shaped(shape, allowed=allowed)}


def _containers(chance: Chance, at: str, name: str) -> dict[str, Any]:
    what = {
        "volumes": chance.pick(VOLUMES, "volumes"),
        "sidecars": chance.pick(SIDECARS, "sidecars"),
        "initContainers": chance.pick(INIT_CONTAINERS, "init containers"),
    }
    return {"at": at, "name": name, "what": what}


DRAWS: dict[str, Draw] = {"change service": _service, "move node port": named, "change containers": _containers}
WEIGHTS = {"change service": 1.5, "move node port": 0.3, "change containers": 0.6}
