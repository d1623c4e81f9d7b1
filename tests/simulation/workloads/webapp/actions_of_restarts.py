"""Actions on the Secrets and ConfigMaps in `spec.restartOn`, and on the right to watch Secrets."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from model_cluster.cluster import MERGE
from model_cluster.objects import Place
from simulation.actions import action
from simulation.actions.faults import take_right
from simulation.actions.users import change
from simulation.world import World

_OWNER = "vault"
"""The manager of the data. Labels have another one, whose entry in managedFields owns no data."""


@action("change restartOn")
def change_restart_on(world: World, *, at: str, name: str, what: Mapping[str, Any]) -> bool:
    """Change the objects whose data restarts a WebApp."""
    return change(world, at=at, name=name, what=what)


@action("change data")
def change_data(world: World, *, at: str, plural: str, what: str, times: int = 1, pause: float = 0.0) -> bool:
    """Change the data of an object, or create it."""
    for number in range(times):
        world.memory["loop"].call_later(number * pause, _write, world, plural, (at, what))
    return plural in world.conditions.metadata


@action("label object")
def label_object(world: World, *, at: str, plural: str, what: str) -> bool:
    """Change a label of an object, and no data."""
    if world.cluster.get(plural, (at, what)) is None:
        return False
    body = {"metadata": {"labels": {"example.com/seen": f"at-{world.clock():.0f}"}}}
    return world.patch("kubectl-label", plural, (at, what), body, MERGE)


@action("recreate object")
def recreate_object(world: World, *, at: str, plural: str, what: str, pause: float) -> bool:
    """Delete an object, and create it later with the same data."""
    thing = world.cluster.get(plural, (at, what))
    if thing is None or plural not in world.conditions.metadata:
        return False
    world.cluster.request(_OWNER, "DELETE", world.cluster.path(plural, at, what))
    world.memory["loop"].call_later(pause, _create, world, plural, (at, what), thing["data"])
    return True


@action("revoke watch of Secrets")
def revoke(world: World, *, verbs: Sequence[str], seconds: float) -> bool:
    """Revoke the right to watch Secrets, or also to list them, and return it later."""
    if "secrets" in world.conditions.metadata:
        for verb in verbs:
            take_right(world, verb=verb, plural="secrets", at=None, seconds=seconds)
    return "secrets" in world.conditions.metadata


def _write(world: World, plural: str, where: Place) -> None:
    if plural not in world.conditions.metadata:
        return
    value = f"{world.clock():.6f}"
    data = {"key": b64encode(value.encode()).decode() if plural == "secrets" else value}
    if world.cluster.get(plural, where) is None:
        _create(world, plural, where, data)
    else:
        world.patch(_OWNER, plural, where, {"data": data}, MERGE)


def _create(world: World, plural: str, where: Place, data: Mapping[str, str]) -> None:
    kind = world.cluster.kinds[plural]
    metadata = {"namespace": where[0], "name": where[1]}
    body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "data": data}
    query = {"fieldManager": _OWNER}
    world.cluster.request(_OWNER, "POST", world.cluster.path(plural, where[0]), body, query=query)
