"""What users do to WebApps."""

from collections.abc import Mapping
from typing import Any

from simulation.actions import action
from simulation.cluster import MERGE, path
from simulation.world import World


def spec(size: int, image: str, replicas: int) -> dict[str, Any]:
    """Return the spec of a WebApp: the bigger, the more fields."""
    found: dict[str, Any] = {"image": image, "replicas": replicas}
    if size >= 1:
        found["ports"] = [{"name": "http", "containerPort": 8080}]
    if size >= 2:
        found["config"] = {"MODE": "production"}
    if size >= 3:
        found["service"] = {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]}
        found["labels"] = {"team": "blue"}
    return found


@action("create")
def create(world: World, *, at: str, name: str, size: int, image: str, replicas: int) -> bool:
    """Create a WebApp."""
    body = {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": name, "namespace": at},
        "spec": spec(size, image, replicas),
    }
    response = world.cluster.request("kubectl", "POST", path("webapps", at), body, query={"fieldManager": "kubectl"})
    return bool(response.status == 201)


@action("change")
def change(world: World, *, at: str, name: str, what: Mapping[str, Any]) -> bool:
    """Change the spec of a WebApp."""
    changed = world.patch("kubectl-edit", "webapps", (at, name), {"spec": what}, MERGE)
    if changed:
        world.changes.append((world.clock(), at, name))
        world.asked |= {(at, name, part): world.clock() for part in what}
    return changed


@action("change config again and again")
def change_often(world: World, *, at: str, name: str, times: int, pause: float) -> bool:
    """Change the config of a WebApp many times."""
    loop = world.memory["loop"]
    for number in range(times):
        what = {"config": {"MODE": f"mode-{number}"}, "ports": [{"name": "http", "containerPort": 8000 + number}]}
        loop.call_later(number * pause, lambda what=what: change(world, at=at, name=name, what=what))
    return (at, name) in world.cluster.objects["webapps"]


@action("delete")
def delete(world: World, *, at: str, name: str, how: str = "Background") -> bool:
    """Delete a WebApp."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": how}
    response = world.cluster.request("kubectl", "DELETE", path("webapps", at, name), body)
    world.controllers.collect_soon()
    return bool(response.status == 200)


@action("recreate")
def recreate(
    world: World, *, at: str, name: str, size: int, image: str, replicas: int, pause: float, how: str = "Background"
) -> bool:
    """Delete a WebApp, and make another one of the same name."""
    found = delete(world, at=at, name=name, how=how)
    world.memory["loop"].call_later(
        pause, lambda: create(world, at=at, name=name, size=size, image=image, replicas=replicas)
    )
    return found


@action("annotate")
def annotate(world: World, *, at: str, name: str) -> bool:
    """Annotate a WebApp: nothing of its spec changes."""
    body = {"metadata": {"annotations": {"example.com/seen": f"{world.clock():.0f}"}}}
    return world.patch("kubectl-annotate", "webapps", (at, name), body, MERGE)
