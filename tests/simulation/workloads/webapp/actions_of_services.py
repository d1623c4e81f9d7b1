"""Actions on the Service of a WebApp, and changes of its volumes and further containers."""

from collections.abc import Mapping
from typing import Any

from simulation.actions import action
from simulation.actions.users import change
from simulation.actions.writers import children
from simulation.scripts import JSON_PATCH
from simulation.world import World


@action("change service")
def change_service(world: World, *, at: str, name: str, what: Mapping[str, Any]) -> bool:
    """Change the type of the Service, or the leave to recreate it."""
    return change(world, at=at, name=name, what=what)


@action("change containers")
def change_containers(world: World, *, at: str, name: str, what: Mapping[str, Any]) -> bool:
    """Change volumes, sidecars and init containers."""
    return change(world, at=at, name=name, what=what)


@action("move node port")
def move_node_port(world: World, *, at: str, name: str) -> bool:
    """Give the first port of the Service a free node port. No spec sets one, so the operator must keep it."""
    for thing in children(world, "services", at, name):
        if thing["spec"].get("ports", [{}])[0].get("nodePort"):
            port = world.cluster.api.free_node_port()
            world.memory.setdefault("moved node ports", set()).add(port)
            body = [{"op": "replace", "path": "/spec/ports/0/nodePort", "value": port}]
            return world.patch("kubectl-edit", "services", (at, name), body, JSON_PATCH)
    return False
