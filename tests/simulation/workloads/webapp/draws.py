"""Random parameters for actions on WebApps, and the list of actions."""

from typing import Any

from model_cluster.chance import Chance
from simulation.draws import Draws, drift_of, named
from simulation.profiles import profiles
from simulation.scripts import Draw, Spec
from simulation.workloads.webapp import draws_of_restarts, draws_of_services
from simulation.workloads.webapp import draws_of_routes as routing
from simulation.workloads.webapp.fields import FIELDS
from simulation.workloads.webapp.judge import CHILDREN
from simulation.workloads.webapp.judge_of_routes import MANAGER

IMAGES = ("app:1", "app:2", "app:3", "app:missing", "app:crash")
NAMES = ("web-0", "web-1", "web-2")
NETWORKS = (None, {"defaultDeny": True}, {"ingress": [{"from": {"sameNamespace": True}}]})
DISRUPTIONS = (None, {"enabled": True}, {"enabled": False}, {"enabled": True, "maxUnavailable": 2})
AUTOSCALINGS = (None, {"maxReplicas": 1}, {"maxReplicas": 5}, {"minReplicas": 2, "maxReplicas": 3})
NAMED = ("services", "deployments", "serviceaccounts", "ingresses", "httproutes")

_DRAWS = Draws(
    parent="webapps",
    children=CHILDREN,
    named=NAMED,
    main="deployments",
    first_name=NAMES[0],
    silent=("pods", "horizontalpodautoscalers"),
    late=("webapps", "deployments", "services", "pods", "httproutes"),
)


def spec(*, size: int, image: str, replicas: int, routes: Any = None, ingress: Any = None) -> Spec:
    """Return the spec of a WebApp: a larger size has more fields. Routes and Ingress need a port."""
    found: Spec = {"image": image, "replicas": replicas}
    if size >= 1:
        found["ports"] = [{"name": "http", "containerPort": 8080}]
        found |= {"routes": routes} if routes else {}
        found |= {"ingress": ingress} if ingress else {}
    if size >= 2:
        found["config"] = {"MODE": "production"}
    if size >= 3:
        found["service"] = {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
        found["labels"] = {"team": "blue"}
    return found


def often(number: int) -> Spec:
    """Return the nth of many changes."""
    return {"config": {"MODE": f"mode-{number}"}, "ports": [{"name": "http", "containerPort": 8000 + number}]}


def _change(chance: Chance, at: str, name: str) -> dict[str, Any]:
    what = chance.weighted(
        {
            "image": 5,
            "replicas": 3,
            "config": 3,
            "port": 2,
            "policy": 1,
            "paused": 1,
            "no config": 1,
            "network": 2,
            "disruption": 1,
            "autoscaling": 2,
            "routes": 3,
            "ingress": 2,
            "on failure": 2,
        },
        "what",
    )
    specs: dict[str, Spec] = {
        "image": {"image": chance.pick(IMAGES[:3] if chance.happens(0.8, "good") else IMAGES, "image")},
        "replicas": {"replicas": chance.whole(0, 4, "replicas")},
        "config": {"config": {"MODE": chance.pick(("a", "b", "c"), "mode")}},
        "port": {"ports": [{"name": "http", "containerPort": chance.whole(8081, 8083, "port")}]},
        "policy": {"conflicts": {"policy": chance.pick(("Enforce", "Yield", "Halt"), "policy")}},
        "paused": {"paused": chance.happens(0.5, "paused")},
        "no config": {"config": None},
        "network": {"network": chance.pick(NETWORKS, "network")},
        "autoscaling": {"autoscaling": chance.pick(AUTOSCALINGS, "autoscaling"), "replicas": 1},
        "disruption": {"disruption": chance.pick(DISRUPTIONS, "disruption")},
        "routes": {"routes": chance.pick(routing.ROUTES, "routes"), "ports": routing.PORTS},
        "ingress": {"ingress": chance.pick(routing.INGRESSES, "ingress"), "ports": routing.PORTS},
        "on failure": {"rollout": {"onFailure": chance.pick(("Rollback", "Rollback", "Hold"), "on failure")}},
    }
    return {"at": at, "name": name, "what": specs[what]}


def _new(chance: Chance, at: str, name: str) -> dict[str, Any]:
    return {
        "at": at,
        "name": name,
        "size": chance.whole(0, 3, "size"),
        "image": chance.pick(IMAGES[:2], "image"),
        "replicas": chance.whole(1, 2, "replicas"),
        "routes": chance.pick(routing.ROUTES, "routes"),
        "ingress": chance.pick(routing.INGRESSES, "ingress"),
    }


def _fighter(chance: Chance, field: str) -> str:
    another = FIELDS[field].in_manifest is not None and chance.happens(0.3, "another operator")
    return MANAGER if another else ""


def _scale(chance: Chance, at: str, name: str) -> dict[str, Any]:
    return {"at": at, "name": name, "replicas": chance.whole(1, 6, "n")}


DRAWS: dict[str, Draw] = {
    **_DRAWS.of_objects(_new, _change, drift_of(FIELDS), ("other:1", *IMAGES[:2]), fighter=_fighter),
    **_DRAWS.of_faults(),
    "other content": named,
    "autoscale": named,
    "scale by autoscaler": _scale,
    "stop autoscaling": named,
    **routing.DRAWS,
    **draws_of_services.DRAWS,
    **draws_of_restarts.DRAWS,
}
PROFILES = profiles(
    {"drift": 4, "apply": 1, "delete child": 3, "other content": 1},
    {
        "autoscale": 1.5,
        "scale by autoscaler": 3,
        "stop autoscaling": 1.5,
        **routing.WEIGHTS,
        **draws_of_services.WEIGHTS,
    },
)
