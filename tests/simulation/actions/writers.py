"""Who else writes to children: people once, controllers again and again, an older operator, tools that delete."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulation.actions import action
from simulation.cluster import APPLY, MERGE, Object, path, place
from simulation.judge import LABEL, is_going
from simulation.world import World

JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True)
class Field:
    """A field of children that others write."""

    plural: str
    read: Callable[[Object], Any]
    patch: Callable[[Any], Any]
    values: tuple[Any, ...]
    content_type: str = MERGE


def _label(key: str) -> Callable[[Object], Any]:
    return lambda thing: (thing["metadata"].get("labels") or {}).get(key)


def _replace(where: str) -> Callable[[Any], Any]:
    return lambda value: [{"op": "replace", "path": where, "value": value}]


_IMAGE = "/spec/template/spec/containers/0/image"

FIELDS: Mapping[str, Field] = {
    "image": Field(
        "deployments",
        lambda thing: thing["spec"]["template"]["spec"]["containers"][0]["image"],
        _replace(_IMAGE),
        ("other:1", "other:2"),
        JSON_PATCH,
    ),
    "replicas": Field(
        "deployments",
        lambda thing: thing["spec"].get("replicas", 1),
        lambda value: {"spec": {"replicas": value}},
        (4, 5),
    ),
    "label": Field(
        "deployments",
        _label("app.kubernetes.io/name"),
        lambda value: {"metadata": {"labels": {"app.kubernetes.io/name": value}}},
        ("theirs",),
    ),
    "webapp label": Field(
        "deployments", _label(LABEL), lambda value: {"metadata": {"labels": {LABEL: value}}}, (None,)
    ),
    "service label": Field(
        "services", _label(LABEL), lambda value: {"metadata": {"labels": {LABEL: value}}}, (None, "web-0")
    ),
    "port": Field(
        "services",
        lambda thing: thing["spec"]["ports"][0]["port"],
        _replace("/spec/ports/0/port"),
        (9090,),
        JSON_PATCH,
    ),
    "account label": Field(
        "serviceaccounts",
        _label("app.kubernetes.io/managed-by"),
        lambda value: {"metadata": {"labels": {"app.kubernetes.io/managed-by": value}}},
        ("Helm",),
    ),
    "config label": Field(
        "configmaps",
        _label("app.kubernetes.io/instance"),
        lambda value: {"metadata": {"labels": {"app.kubernetes.io/instance": value}}},
        ("theirs",),
    ),
}


def children(world: World, plural: str, at: str, name: str) -> list[Object]:
    """Return the children of a kind that are controlled by a WebApp."""
    webapp = world.cluster.get("webapps", (at, name))
    if webapp is None:
        return []
    uid = webapp["metadata"]["uid"]
    return [
        thing
        for thing in world.cluster.objects[plural].values()
        if any(owner["uid"] == uid for owner in thing["metadata"].get("ownerReferences") or ()) and not is_going(thing)
    ]


def write(world: World, thing: Object, field: str, value: Any, manager: str) -> bool:
    """Write a field of a child."""
    known = FIELDS[field]
    where = place(thing)
    world.touched[known.plural, *where, field] = world.clock()
    return world.patch(manager, known.plural, where, known.patch(value), known.content_type)


@action("drift")
def drift(world: World, *, at: str, name: str, field: str, value: Any, manager: str) -> bool:
    """Change a field of a child once."""
    things = children(world, FIELDS[field].plural, at, name)
    return bool(things) and write(world, things[0], field, value, manager)


@action("apply")
def apply(world: World, *, at: str, name: str, image: str, manager: str) -> bool:
    """Apply the image of a Deployment by force, as a GitOps tool does."""
    if children(world, "deployments", at, name):
        container = {"name": "app", "image": image}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": at},
            "spec": {"template": {"spec": {"containers": [container]}}},
        }
        world.touched["deployments", at, name, "image"] = world.clock()
        return world.patch(manager, "deployments", (at, name), body, APPLY, force="true")
    return False


@dataclass
class Fight:
    """Somebody who sets a field again whenever it is changed."""

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
    """Set a field again and again for a while."""
    fights: list[Fight] = world.memory.setdefault("fights", [])
    if not fights:
        world.cluster.listeners.append(lambda plural, change, thing: _seen(world, plural, change, thing))
    begun = Fight(at, name, field, value, manager, world.clock() + seconds, pause)
    fights.append(begun)
    _strike_soon(world, begun)
    return bool(children(world, FIELDS[field].plural, at, name))


def _seen(world: World, plural: str, change: str, thing: Object) -> None:
    for each in world.memory["fights"]:
        if plural == FIELDS[each.field].plural and change != "DELETED" and world.clock() < each.until:
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
    for thing in children(world, FIELDS[each.field].plural, each.at, each.name)[:1]:
        if FIELDS[each.field].read(thing) == each.value:
            continue
        if each.manager == "coxswain":
            each.wrote += _as_another_operator(world, thing, each)
        else:
            each.wrote += write(world, thing, each.field, each.value, each.manager)


def _as_another_operator(world: World, thing: Object, each: Fight) -> bool:
    """Apply what the operator applied last, with another value: an operator of another version does so."""
    applied = world.memory.get("applied", {}).get((FIELDS[each.field].plural, *place(thing)))
    if applied is None:
        return False
    metadata = {key: value for key, value in applied["metadata"].items() if key not in ("uid", "resourceVersion")}
    body = {**applied, "metadata": metadata}
    if each.field == "replicas":
        body["spec"] = {**body["spec"], "replicas": each.value}
    elif each.field == "image":
        template = body["spec"]["template"]
        containers = [{**found, "image": each.value} for found in template["spec"]["containers"]]
        body["spec"] = {
            **body["spec"],
            "template": {**template, "spec": {**template["spec"], "containers": containers}},
        }
    else:
        return False
    plural = FIELDS[each.field].plural
    world.touched[plural, *place(thing), each.field] = world.clock()
    return world.patch("coxswain", plural, place(thing), body, APPLY, force="true")


@action("delete child")
def delete_child(world: World, *, at: str, name: str, plural: str, how: str = "Background") -> bool:
    """Delete a child once; `Orphan` leaves the pods of a Deployment."""
    things = children(world, plural, at, name)
    for thing in things:
        world.touched[plural, *place(thing), "existence"] = world.clock()
        world.cluster.request("kubectl", "DELETE", path(plural, *place(thing)), {"propagationPolicy": how})
    return bool(things)


@action("delete child again and again")
def delete_often(world: World, *, at: str, name: str, plural: str, seconds: float, pause: float) -> bool:
    """Delete a child for a while whenever it is there, as a cleanup job does that knows it not."""
    until = world.clock() + seconds

    def strike() -> None:
        if world.clock() < until:
            delete_child(world, at=at, name=name, plural=plural)
            world.memory["loop"].call_later(pause * world.chance.between(0.5, 1.5, "deletes"), strike)

    found = bool(children(world, plural, at, name))
    strike()
    return found
