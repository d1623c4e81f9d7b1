"""Memory: nothing of WebApps that are gone is remembered, and no task is left."""

import asyncio
from collections.abc import Iterator

from simulation.cluster import Place
from simulation.world import World


def leftovers(world: World, names: set[Place], uids: set[str]) -> Iterator[str]:
    """Yield the tables of the operator that still hold something of WebApps that are gone."""
    for path, count in world.subject.mentions(names, uids).items():
        yield f"{path} ({count})"


def tasks_left() -> list[str]:
    """Return the tasks of the operator that have not ended."""
    return sorted(task.get_name() for task in asyncio.all_tasks() if getattr(task, "group", 0) > 0 and not task.done())


def memory_of(world: World, where: Place, uid: str) -> dict[str, int]:
    """Return how much each table holds of one WebApp."""
    return world.subject.mentions({where}, {uid})
