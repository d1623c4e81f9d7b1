"""Actions specific to WebApps: autoscalers, and ConfigMaps with other content."""

from model_cluster.cluster import JSON, MERGE
from model_cluster.objects import place
from simulation.actions import action
from simulation.actions.writers import children
from simulation.world import World


@action("other content")
def other_content(world: World, *, at: str, name: str) -> bool:
    """Replace a child ConfigMap by another immutable one with other content."""
    for thing in children(world, "configmaps", at, name)[:1]:
        world.touched["configmaps", *place(thing), "existence"] = world.clock()
        world.cluster.request("restore-job", "DELETE", world.cluster.path("configmaps", *place(thing)))
        metadata = {key: thing["metadata"][key] for key in ("name", "namespace", "labels", "ownerReferences")}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "immutable": True,
            "data": {"MODE": "stale"},
        }
        world.cluster.request(
            "restore-job", "POST", world.cluster.path("configmaps", at), body, query={"fieldManager": "restore-job"}
        )
        return True
    return False


@action("autoscale")
def autoscale(world: World, *, at: str, name: str) -> bool:
    """Create an autoscaler for a WebApp's Deployment."""
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
    address = world.cluster.path("horizontalpodautoscalers", at)
    return bool(
        world.cluster.request("kubectl", "POST", address, body, query={"fieldManager": "kubectl"}).status == 201
    )


@action("scale by autoscaler")
def scale(world: World, *, at: str, name: str, replicas: int) -> bool:
    """Let the autoscaler change the replicas."""
    if world.cluster.get("horizontalpodautoscalers", (at, f"{name}-scaler")) is None:
        return False
    if world.cluster.get("deployments", (at, name)) is None:
        return False
    body = {"spec": {"replicas": replicas}}
    world.touched["deployments", at, name, "replicas"] = world.clock()
    return world.patch("kube-controller-manager", "deployments", (at, name), body, MERGE)


@action("stop autoscaling")
def stop_autoscaling(world: World, *, at: str, name: str) -> bool:
    """Delete the autoscaler of a WebApp, or else another one: few scripts have any."""
    scalers = [where for where in world.cluster.objects["horizontalpodautoscalers"] if where[1].endswith("-scaler")]
    where = (at, f"{name}-scaler") if (at, f"{name}-scaler") in scalers else next(iter(scalers), None)
    if where is None:
        return False
    address = world.cluster.path("horizontalpodautoscalers", *where)
    return bool(world.cluster.request("kubectl", "DELETE", address, None, content_type=JSON).status == 200)
