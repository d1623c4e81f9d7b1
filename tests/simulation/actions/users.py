"""Actions of users on parents."""

from collections.abc import Mapping
from typing import Any

from model_cluster.cluster import MERGE
from simulation.actions import action
from simulation.judge import STRAY
from simulation.scripts import JSON_PATCH
from simulation.world import World


@action("create")
def create(world: World, *, at: str, name: str, **parameters: Any) -> bool:
    """Create a parent; the workload defines the other parameters."""
    kind = world.cluster.kinds[world.workload.parent]
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, "namespace": at},
        "spec": world.workload.scripts.spec(**parameters),
    }
    path = world.cluster.path(kind.plural, at)
    return bool(world.cluster.request("kubectl", "POST", path, body, query={"fieldManager": "kubectl"}).status == 201)


@action("change")
def change(world: World, *, at: str, name: str, what: Mapping[str, Any]) -> bool:
    """Change the spec of a parent."""
    changed = world.patch("kubectl-edit", world.workload.parent, (at, name), {"spec": what}, MERGE)
    if changed:
        world.changes.append((world.clock(), at, name))
        world.asked |= {(at, name, part): world.clock() for part in what}
    return changed


@action("change config again and again")
def change_often(world: World, *, at: str, name: str, times: int, pause: float) -> bool:
    """Change the spec of a parent many times."""
    loop = world.memory["loop"]
    for number in range(times):
        what = world.workload.scripts.often(number)
        loop.call_later(number * pause, lambda what=what: change(world, at=at, name=name, what=what))
    return (at, name) in world.cluster.objects[world.workload.parent]


@action("delete")
def delete(world: World, *, at: str, name: str, how: str = "Background") -> bool:
    """Delete a parent."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": how}
    response = world.cluster.request("kubectl", "DELETE", world.cluster.path(world.workload.parent, at, name), body)
    world.controllers.collect_soon()
    return bool(response.status == 200)


@action("recreate")
def recreate(world: World, *, at: str, name: str, pause: float, how: str = "Background", **parameters: Any) -> bool:
    """Delete a parent, and create another one with its name."""
    found = delete(world, at=at, name=name, how=how)
    world.memory["loop"].call_later(pause, lambda: create(world, at=at, name=name, **parameters))
    return found


@action("annotate")
def annotate(world: World, *, at: str, name: str) -> bool:
    """Annotate a parent, without a change of its spec."""
    body = {"metadata": {"annotations": {"example.com/seen": f"{world.clock():.0f}"}}}
    return world.patch("kubectl-annotate", world.workload.parent, (at, name), body, MERGE)


@action("edit status")
def edit_status(world: World, *, at: str, name: str) -> bool:
    """Add an item to the status of a parent by another field manager. A forced apply does not remove it."""
    parent = world.cluster.objects[world.workload.parent].get((at, name))
    if parent is None or "status" not in parent:
        return False
    body = [{"op": "add", "path": "/status/conflicts", "value": [STRAY]}]
    path = world.cluster.path(world.workload.parent, at, name, "status")
    query = {"fieldManager": "editor"}
    return bool(
        world.cluster.request("editor", "PATCH", path, body, query=query, content_type=JSON_PATCH).status == 200
    )


@action("clear managedFields")
def clear_managed_fields(world: World, *, at: str, name: str) -> bool:
    """Remove all entries from managedFields of a parent."""
    body: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    return world.patch("kubectl-patch", world.workload.parent, (at, name), body, MERGE)
