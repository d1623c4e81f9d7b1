"""Memory checks: no table holds an entry of a deleted parent, and no task is left."""

import asyncio
from collections.abc import Iterator

from model_cluster.objects import Place
from simulation.world import World


def leftovers(world: World, names: set[Place], uids: set[str]) -> Iterator[str]:
    """Yield the operator's tables that still hold an entry of a deleted parent."""
    for replica in world.replicas:
        for path, count in replica.subject.mentions(names, uids).items():
            yield f"{path} ({count})"


def tasks_left() -> list[str]:
    """Return the operator's tasks that have not ended."""
    return sorted(task.get_name() for task in asyncio.all_tasks() if getattr(task, "group", 0) > 0 and not task.done())


def memory_of(world: World, where: Place, uid: str) -> dict[str, int]:
    """Return the number of entries of one parent in each table of its leader."""
    return world.holder(where[0]).subject.mentions({where}, {uid})


def objects_of(world: World, where: Place) -> int:
    """Return the number of objects with the label of a parent."""
    namespace, name = where
    return sum(
        at == namespace and thing["metadata"].get("labels", {}).get(world.workload.label) == name
        for things in world.cluster.objects.values()
        for (at, _), thing in things.items()
    )
