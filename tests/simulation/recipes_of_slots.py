"""Recipes for replicas that share slots: handovers, and faults in the middle of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simulation.recipe_builder import RecipeBuilder

_LED_SECONDS = 25.0
"""From the start of the replicas until each slot has a leader."""


def _begin(recipe: RecipeBuilder, *, often: bool = True) -> None:
    """Create a parent in each namespace, and change each of them every nine seconds."""
    recipe.conditions = replace(recipe.conditions, slowest=min(recipe.conditions.slowest, 0.05))
    for namespace in recipe.conditions.namespaces:
        recipe.do("create", at=namespace, name=recipe.name, **recipe.samples.smallest)
    recipe.now = _LED_SECONDS
    for namespace in recipe.conditions.namespaces if often else ():
        recipe.do("change config again and again", at=namespace, name=recipe.name, times=20, pause=9.0)
        recipe.now += 1.3
    recipe.pause(5, 20)


def _replica(recipe: RecipeBuilder) -> str:
    return recipe.chance.pick(("leader", "standby"), "recipe")


def _end(recipe: RecipeBuilder, which: str, pause: float, *, hard: bool) -> None:
    recipe.do("end replica", which=which, hard=hard, pause=round(pause, 2))


def _join(recipe: RecipeBuilder, which: str) -> None:
    """Let a replica leave and join again, and add the time until the others give slots back to it."""
    _end(recipe, which, recipe.chance.between(20, 30, "recipe"), hard=recipe.chance.happens(0.3, "recipe"))
    recipe.now += 30.0
    recipe.pause(3, 14)


def _lease_requests(recipe: RecipeBuilder, kind: str, seconds: float, **parameters: Any) -> None:
    usual = {"which": "leader", "methods": "all", "probability": 1.0, "pause": 0.0, "slot": None}
    recipe.do("lease requests", kind=kind, seconds=round(seconds, 2), **{**usual, **parameters})


def _slot(recipe: RecipeBuilder) -> int:
    return recipe.chance.whole(0, recipe.conditions.slots - 1, "recipe")


def joins_and_leaves(recipe: RecipeBuilder) -> None:
    """Replicas leave and join again, with time for a rebalance or without it."""
    _begin(recipe)
    for _ in range(4):
        _end(recipe, _replica(recipe), recipe.chance.delay(1, 60, "recipe"), hard=recipe.chance.happens(0.3, "recipe"))
        recipe.pause(5, 90)


def crash_loop(recipe: RecipeBuilder) -> None:
    """A replica ends again and again, and then stays."""
    _begin(recipe)
    which = _replica(recipe)
    for _ in range(5):
        _end(recipe, which, recipe.chance.delay(0.5, 5, "recipe"), hard=recipe.chance.happens(0.5, "recipe"))
        recipe.pause(4, 16)


def crashes_in_a_handover(recipe: RecipeBuilder) -> None:
    """A replica joins, and it or another one is killed during the handover."""
    _begin(recipe)
    for _ in range(2):
        _join(recipe, _replica(recipe))
        _end(recipe, _replica(recipe), recipe.chance.delay(1, 40, "recipe"), hard=True)
        recipe.pause(40, 60)


def slow_drains(recipe: RecipeBuilder) -> None:
    """A replica joins while the writes of all replicas are slow."""
    _begin(recipe)
    for _ in range(3):
        which = _replica(recipe)
        _end(recipe, which, 10.0, hard=False)
        recipe.now += 10.0
        pause = round(recipe.chance.between(1, 8, "recipe"), 2)
        recipe.requests("slow", 30.0, methods="writes", plural=recipe.workload.main, pause=pause)
        recipe.pause(50, 70)


def pauses_in_a_handover(recipe: RecipeBuilder) -> None:
    """A replica joins, and it or another one is paused during the handover."""
    _begin(recipe)
    for _ in range(2):
        _join(recipe, _replica(recipe))
        what = recipe.chance.pick(("process", "machine", "main loop", "main loop"), "recipe")
        seconds = round(recipe.chance.between(5, 40, "recipe"), 2)
        recipe.do("pause replica", which=_replica(recipe), seconds=seconds, what=what)
        recipe.pause(50, 70)


def lost_releases_of_slots(recipe: RecipeBuilder) -> None:
    """A replica joins, and writes of Leases get lost or late during the handover."""
    _begin(recipe)
    for _ in range(2):
        which = _replica(recipe)
        _end(recipe, which, 5.0, hard=False)
        recipe.now += 5.0
        recipe.pause(2, 8)
        kind = recipe.chance.pick(("lost answer", "slow answer", "lost request", "internal error"), "recipe")
        _lease_requests(recipe, kind, 12.0, which="all", methods="writes", pause=3.0, probability=0.7)
        recipe.pause(60, 80)


def lost_slots(recipe: RecipeBuilder) -> None:
    """The Lease of one slot cannot be renewed, or is changed by hand, during slow writes to its namespaces."""
    _begin(recipe)
    for _ in range(3):
        slot = _slot(recipe)
        if recipe.chance.happens(0.7, "recipe"):
            recipe.requests("slow", 25.0, methods="writes", plural=recipe.workload.main, pause=4.0)
        if recipe.chance.happens(0.5, "recipe"):
            seconds = recipe.chance.between(8, 25, "recipe")
            _lease_requests(recipe, "unavailable", seconds, which="all", methods="writes", slot=slot)
            recipe.pause(0.1, 3)
        recipe.do("change lease", how=recipe.chance.pick(("take", "take", "delete", "clear"), "recipe"), slot=slot)
        recipe.pause(45, 60)


def failed_writes_in_a_lost_slot(recipe: RecipeBuilder) -> None:
    """A slot is lost while the writes to its namespaces fail, so its parents are in backoff."""
    _begin(recipe)
    for _ in range(2):
        kind = recipe.chance.pick(("internal error", "unavailable", "time-out"), "recipe")
        recipe.requests(kind, 40.0, methods="writes", plural=recipe.workload.main)
        recipe.pause(5, 30)
        if recipe.chance.happens(0.5, "recipe"):
            recipe.do("change lease", how="take", slot=_slot(recipe))
        else:
            _end(recipe, _replica(recipe), 5.0, hard=False)
        recipe.pause(90, 120)


RECIPES: dict[str, Callable[[RecipeBuilder], None]] = {
    each.__name__.replace("_", " "): each
    for each in (
        joins_and_leaves,
        slow_drains,
        lost_slots,
        crashes_in_a_handover,
        pauses_in_a_handover,
        failed_writes_in_a_lost_slot,
        lost_releases_of_slots,
        crash_loop,
    )
}
