"""Foreign objects with the names of children: some have our label, some may be adopted."""

from collections.abc import Sequence
from typing import Any

from model_cluster.cluster import MERGE
from simulation.actions import action
from simulation.world import World


def _manifest(world: World, plural: str, at: str, name: str, *, label: str | None, ours: bool) -> dict[str, Any]:
    """Return a foreign object; `ours` puts our label on its pods."""
    kind, labels = world.cluster.kinds[plural], {world.workload.label: label} if label else {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name, "namespace": at, "labels": {"app": name, **labels}},
        **world.workload.scripts.foreign(plural, name, ours),
    }


@action("take name")
def take_name(world: World, *, at: str, name: str, plural: str, label: str | None, ours: bool, adopt: bool) -> bool:
    """Create a foreign object with a child's name."""
    body = _manifest(world, plural, at, name, label=label, ours=ours)
    if adopt:
        body["metadata"]["annotations"] = {world.workload.adopt: name}
    response = world.cluster.request(
        "helm", "POST", world.cluster.path(plural, at), body, query={"fieldManager": "helm"}
    )
    if response.status == 201:
        world.memory.setdefault("foreign", set()).add(response.body["metadata"]["uid"])
    return bool(response.status == 201)


@action("allow adoption")
def allow_adoption(world: World, *, at: str, name: str, plurals: Sequence[str] = ()) -> bool:
    """Annotate the objects with the names of a parent's children for adoption."""
    done = False
    for plural in plurals or world.workload.scripts.named:
        thing = world.cluster.get(plural, (at, name))
        if thing is not None and thing["metadata"]["uid"] in world.memory.get("foreign", ()):
            body = {"metadata": {"annotations": {world.workload.adopt: name}}}
            done |= world.patch("kubectl-annotate", plural, (at, name), body, MERGE)
    return done


@action("give name back")
def give_back(world: World, *, at: str, name: str, plurals: Sequence[str] = ()) -> bool:
    """Delete the foreign objects with the names of a parent's children."""
    done = False
    for plural in plurals or world.workload.scripts.named:
        thing = world.cluster.get(plural, (at, name))
        if thing is not None and thing["metadata"]["uid"] in world.memory.get("foreign", ()):
            options = {"propagationPolicy": "Background"}
            done |= world.cluster.request("helm", "DELETE", world.cluster.path(plural, at, name), options).status == 200
    return done


def clear(world: World) -> None:
    """Delete orphans, autoscalers and all foreign objects, so that no object of a parent is left at the end."""
    foreign = world.memory.get("foreign", set())
    others = (*world.workload.related, *world.workload.decisive)
    for plural in (*reversed(world.workload.related), *world.workload.scripts.named, *world.workload.children):
        for where, thing in list(world.cluster.objects.get(plural, {}).items()):
            unowned = plural in others and not thing["metadata"].get("ownerReferences")
            if unowned or thing["metadata"]["uid"] in foreign:
                options = {"propagationPolicy": "Background"}
                world.cluster.request("admin", "DELETE", world.cluster.path(plural, *where), options)
    world.controllers.collect_soon()
