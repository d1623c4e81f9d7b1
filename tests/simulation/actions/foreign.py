"""Objects of others: with names that children need, with our label, left to be adopted; autoscalers."""

from collections.abc import Sequence
from typing import Any

from simulation.actions import action
from simulation.actions.writers import children
from simulation.cluster import JSON, KIND_OF, MERGE, PATHS, path, place
from simulation.judge import ADOPT, LABEL
from simulation.world import World

_NAMED = ("services", "deployments", "serviceaccounts")


def _manifest(plural: str, at: str, name: str, *, label: str | None, ours: bool) -> dict[str, Any]:
    """Return an object of somebody else; `ours` says that a Deployment's pods have our label."""
    labels = {LABEL: label} if label else {}
    group = PATHS[plural].split("/", 2)[2]
    found: dict[str, Any] = {
        "apiVersion": group,
        "kind": KIND_OF[plural],
        "metadata": {"name": name, "namespace": at, "labels": {"app": name, **labels}},
    }
    if plural == "services":
        found["spec"] = {"selector": {"app": name}, "ports": [{"name": "web", "port": 8888}]}
    if plural == "deployments":
        pod_labels = {"app": name, **({LABEL: name} if ours else {})}
        containers = [{"name": "app", "image": "before:1"}]
        found["spec"] = {
            "replicas": 3,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": pod_labels}, "spec": {"containers": containers}},
        }
    return found


@action("take name")
def take_name(world: World, *, at: str, name: str, plural: str, label: str | None, ours: bool, adopt: bool) -> bool:
    """Create an object that has a child's name."""
    body = _manifest(plural, at, name, label=label, ours=ours)
    if adopt:
        body["metadata"]["annotations"] = {ADOPT: name}
    response = world.cluster.request("helm", "POST", path(plural, at), body, query={"fieldManager": "helm"})
    if response.status == 201:
        world.memory.setdefault("foreign", set()).add(response.body["metadata"]["uid"])
    return bool(response.status == 201)


@action("allow adoption")
def allow_adoption(world: World, *, at: str, name: str, plurals: Sequence[str] = _NAMED) -> bool:
    """Annotate the objects that have the names of a WebApp's children."""
    done = False
    for plural in plurals:
        thing = world.cluster.get(plural, (at, name))
        if thing is not None and thing["metadata"]["uid"] in world.memory.get("foreign", ()):
            body = {"metadata": {"annotations": {ADOPT: name}}}
            done |= world.patch("kubectl-annotate", plural, (at, name), body, MERGE)
    return done


@action("give name back")
def give_back(world: World, *, at: str, name: str, plurals: Sequence[str] = _NAMED) -> bool:
    """Delete the foreign objects that have the names of a WebApp's children."""
    done = False
    for plural in plurals:
        thing = world.cluster.get(plural, (at, name))
        if thing is not None and thing["metadata"]["uid"] in world.memory.get("foreign", ()):
            options = {"propagationPolicy": "Background"}
            done |= world.cluster.request("helm", "DELETE", path(plural, at, name), options).status == 200
    return done


@action("other content")
def other_content(world: World, *, at: str, name: str) -> bool:
    """Put another ConfigMap, immutable as ours, in the place of a child."""
    for thing in children(world, "configmaps", at, name)[:1]:
        world.touched["configmaps", *place(thing), "existence"] = world.clock()
        world.cluster.request("restore-job", "DELETE", path("configmaps", *place(thing)))
        metadata = {key: thing["metadata"][key] for key in ("name", "namespace", "labels", "ownerReferences")}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "immutable": True,
            "data": {"MODE": "stale"},
        }
        world.cluster.request(
            "restore-job", "POST", path("configmaps", at), body, query={"fieldManager": "restore-job"}
        )
        return True
    return False


@action("autoscale")
def autoscale(world: World, *, at: str, name: str) -> bool:
    """Make an autoscaler for a WebApp's Deployment."""
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": f"{name}-scaler", "namespace": at},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 1,
            "maxReplicas": 30,
        },
    }
    address = path("horizontalpodautoscalers", at)
    return bool(
        world.cluster.request("kubectl", "POST", address, body, query={"fieldManager": "kubectl"}).status == 201
    )


@action("scale by autoscaler")
def scale(world: World, *, at: str, name: str, replicas: int) -> bool:
    """Let the autoscaler change the count."""
    if world.cluster.get("horizontalpodautoscalers", (at, f"{name}-scaler")) is None:
        return False
    if world.cluster.get("deployments", (at, name)) is None:
        return False
    body = {"spec": {"replicas": replicas}}
    world.touched["deployments", at, name, "replicas"] = world.clock()
    return world.patch("kube-controller-manager", "deployments", (at, name), body, MERGE)


@action("stop autoscaling")
def stop_autoscaling(world: World, *, at: str, name: str) -> bool:
    """Delete the autoscaler."""
    address = path("horizontalpodautoscalers", at, f"{name}-scaler")
    return bool(world.cluster.request("kubectl", "DELETE", address, None, content_type=JSON).status == 200)


def clear(world: World) -> None:
    """Delete autoscalers, orphans, and all objects that are no child: in the end nothing of a WebApp is to be left."""
    foreign = world.memory.get("foreign", set())
    for plural in ("horizontalpodautoscalers", "replicasets", *_NAMED, "configmaps"):
        for where, thing in list(world.cluster.objects[plural].items()):
            orphan = plural == "replicasets" and not thing["metadata"].get("ownerReferences")
            if plural == "horizontalpodautoscalers" or orphan or thing["metadata"]["uid"] in foreign:
                world.cluster.request("admin", "DELETE", path(plural, *where), {"propagationPolicy": "Background"})
    world.controllers.collect_soon()
