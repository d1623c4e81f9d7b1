"""Other writers of children: people, competing controllers, an older operator, deleting tools."""

from dataclasses import dataclass
from typing import Any

from model_cluster.cluster import APPLY, MERGE
from model_cluster.objects import Object, Place, is_terminating, place
from simulation.actions import action
from simulation.world import World


def children(world: World, plural: str, at: str, name: str) -> list[Object]:
    """Return the children of a kind controlled by a parent."""
    parent = world.cluster.get(world.workload.parent, (at, name))
    if parent is None:
        return []
    uid = parent["metadata"]["uid"]
    return [
        thing
        for thing in world.cluster.objects.get(plural, {}).values()
        if any(owner["uid"] == uid for owner in thing["metadata"].get("ownerReferences") or ())
        and not is_terminating(thing)
    ]


def write(world: World, thing: Object, field: str, value: Any, manager: str) -> bool:
    """Write a field of a child."""
    known = world.workload.scripts.fields[field]
    where = place(thing)
    world.touched[known.plural, *where, field] = world.clock()
    return world.patch(manager, known.plural, where, known.patch(value), known.content_type)


def _plural(world: World, field: str) -> str:
    return world.workload.scripts.fields[field].plural


@action("drift")
def drift(world: World, *, at: str, name: str, field: str, value: Any, manager: str) -> bool:
    """Change a field of a child once."""
    things = children(world, _plural(world, field), at, name)
    return bool(things) and write(world, things[0], field, value, manager)


@action("apply")
def apply(world: World, *, at: str, name: str, image: str, manager: str) -> bool:
    """Force-apply the image of the main child, as a GitOps tool does."""
    kind = world.cluster.kinds[world.workload.main]
    if not children(world, kind.plural, at, name):
        return False
    field, spec = world.workload.scripts.applied(name, image)
    metadata = {"name": name, "namespace": at}
    body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **spec}
    world.touched[kind.plural, at, name, field] = world.clock()
    return world.patch(manager, kind.plural, (at, name), body, APPLY, force="true")


@dataclass
class Fight:
    """A writer that restores its value after each change of a field."""

    at: str
    name: str
    field: str
    value: Any
    manager: str
    until: float
    pause: float
    wrote: int = 0
    waiting: bool = False


@action("fight")
def fight(
    world: World, *, at: str, name: str, field: str, value: Any, manager: str, seconds: float, pause: float
) -> bool:
    """Set a field repeatedly for a time."""
    fights: list[Fight] = world.memory.setdefault("fights", [])
    if not fights:
        world.cluster.listeners.append(lambda plural, change, thing: _seen(world, plural, change, thing))
    begun = Fight(at, name, field, value, manager, world.clock() + seconds, pause)
    fights.append(begun)
    _strike_soon(world, begun)
    return bool(children(world, _plural(world, field), at, name))


def _seen(world: World, plural: str, change: str, thing: Object) -> None:
    for each in world.memory["fights"]:
        if plural == _plural(world, each.field) and change != "DELETED" and world.clock() < each.until:
            owners = {owner["name"] for owner in thing["metadata"].get("ownerReferences") or ()}
            if place(thing)[0] == each.at and each.name in owners:
                _strike_soon(world, each)


def _strike_soon(world: World, each: Fight) -> None:
    if not each.waiting:
        each.waiting = True
        pause = each.pause * world.chance.between(0.5, 1.5, "fight")
        world.memory["loop"].call_later(pause, _strike, world, each)


def _strike(world: World, each: Fight) -> None:
    each.waiting = False
    if world.clock() >= each.until:
        return
    for thing in children(world, _plural(world, each.field), each.at, each.name)[:1]:
        if world.workload.scripts.fields[each.field].read(thing) == each.value:
            continue
        if each.manager == world.workload.manager:
            each.wrote += _as_another_operator(world, thing, each)
        else:
            each.wrote += write(world, thing, each.field, each.value, each.manager)


def _as_another_operator(world: World, thing: Object, each: Fight) -> bool:
    """Apply the operator's last manifest with another value, as an operator of another version does."""
    applied = world.memory.get("applied", {}).get((_plural(world, each.field), *place(thing)))
    if applied is None:
        return False
    known = world.workload.scripts.fields[each.field]
    if known.in_manifest is None:
        return False
    metadata = {key: value for key, value in applied["metadata"].items() if key not in ("uid", "resourceVersion")}
    body = known.in_manifest({**applied, "metadata": metadata}, each.value)
    world.touched[known.plural, *place(thing), each.field] = world.clock()
    return world.patch(world.workload.manager, known.plural, place(thing), body, APPLY, force="true")


@action("delete child")
def delete_child(world: World, *, at: str, name: str, plural: str, how: str = "Background") -> bool:
    """Delete a child once; `Orphan` leaves the pods of a Deployment."""
    things = children(world, plural, at, name)
    for thing in things:
        world.touched[plural, *place(thing), "existence"] = world.clock()
        world.cluster.request(
            "kubectl", "DELETE", world.cluster.path(plural, *place(thing)), {"propagationPolicy": how}
        )
    return bool(things)


@action("delete child again and again")
def delete_often(world: World, *, at: str, name: str, plural: str, seconds: float, pause: float) -> bool:
    """Delete a child for a time whenever it exists, as a cleanup job does."""
    until = world.clock() + seconds

    def strike() -> None:
        if world.clock() < until:
            delete_child(world, at=at, name=name, plural=plural)
            world.memory["loop"].call_later(pause * world.chance.between(0.5, 1.5, "deletes"), strike)

    found = bool(children(world, plural, at, name))
    strike()
    return found


@action("hold child")
def hold(world: World, *, at: str, name: str, plural: str, seconds: float) -> bool:
    """Give a child a finalizer for a time, as a controller of load balancers does."""
    things = children(world, plural, at, name)

    def set_finalizers(where: Place, finalizers: list[str] | None) -> None:
        world.patch("cloud-controller-manager", plural, where, {"metadata": {"finalizers": finalizers}}, MERGE)
        world.controllers.collect_soon()

    for thing in things:
        set_finalizers(place(thing), ["example.com/hold"])
        world.memory["loop"].call_later(seconds, set_finalizers, place(thing), None)
    return bool(things)


@action("write again and again")
def write_often(world: World, *, at: str, name: str, field: str, manager: str, seconds: float, pause: float) -> bool:
    """Write a field of a child for a while, each time another value, as a controller writes a status."""
    until = world.clock() + seconds

    def strike() -> None:
        if world.clock() < until:
            for thing in children(world, _plural(world, field), at, name):
                write(world, thing, field, f"at-{world.clock():.3f}", manager)
            world.memory["loop"].call_later(pause * world.chance.between(0.5, 1.5, "writes"), strike)

    found = bool(children(world, _plural(world, field), at, name))
    strike()
    return found
