"""Actions on HTTPRoutes and Ingresses: answers of their controllers, and a CustomResourceDefinition that goes."""

from model_cluster.routing import Answer
from simulation.actions import action
from simulation.world import World


@action("gateway answers")
def answer(world: World, *, gateway: str, answer: str) -> bool:
    """Let a Gateway, and the Ingress class of the same name, answer otherwise from now on."""
    return world.controllers.routes.decide(gateway, Answer(answer))


@action("delete CRD")
def delete_crd(world: World, *, plural: str, seconds: float, pause: float, back: bool) -> bool:
    """Delete a CustomResourceDefinition with its objects, and mostly install it again.

    Args:
        world: the world.
        plural: the resource.
        seconds: the time from the deletion to the installation.
        pause: the time for which it is terminating: an apply still creates objects.
        back: whether it is installed again.
    """
    if plural not in world.cluster.objects or plural in world.memory.setdefault("terminating", set()):
        return False
    world.memory["terminating"].add(plural)
    loop = world.memory["loop"]
    _empty(world, plural)
    loop.call_later(min(pause, seconds / 2), _withdraw, world, plural)
    if back:
        loop.call_later(seconds, _install, world, plural)
    return True


def _empty(world: World, plural: str) -> None:
    for where in list(world.cluster.objects[plural]):
        world.happened["HTTPRoute deleted with its CRD"] += 1
        options = {"propagationPolicy": "Background"}
        world.cluster.request("apiserver", "DELETE", world.cluster.path(plural, *where), options)


def _withdraw(world: World, plural: str) -> None:
    world.memory["terminating"].discard(plural)
    if plural in world.cluster.objects:
        _empty(world, plural)
        world.cluster.withdraw(plural)
        world.close_watches("expired", plural)
        _discover_later(world)


def _install(world: World, plural: str) -> None:
    if plural not in world.cluster.objects:
        world.cluster.serve(plural)
        _discover_later(world)


def _discover_later(world: World) -> None:
    """Let discovery follow after a moment, as in a real API server."""
    api = world.cluster.api

    def follow() -> None:
        api.undiscovered = set(api.unserved)

    world.memory["loop"].call_later(world.chance.delay(0.01, 3.0, "discovery"), follow)
