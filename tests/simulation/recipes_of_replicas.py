"""Recipes for the leader election: event orders that are rare in random scripts of several replicas."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simulation.elections import slot_of
from simulation.recipe_builder import RecipeBuilder


def _begin(recipe: RecipeBuilder) -> None:
    """Create a parent, and change it every six seconds after a leader was found."""
    recipe.conditions = replace(recipe.conditions, slowest=min(recipe.conditions.slowest, 0.05))
    recipe.create(1)
    recipe.now = 20.0
    recipe.do("change config again and again", at=recipe.at, name=recipe.name, times=15, pause=6.0)
    recipe.pause(15, 30)


def _end_leader(recipe: RecipeBuilder, *, hard: bool) -> None:
    recipe.do("end replica", which="leader", hard=hard, pause=round(recipe.chance.delay(0.1, 20, "recipe"), 2))


def _pause(recipe: RecipeBuilder, which: str, what: str) -> None:
    seconds = round(recipe.chance.between(9, 40, "recipe"), 2)
    recipe.do("pause replica", which=which, seconds=seconds, what=what)


def _lease_requests(recipe: RecipeBuilder, kind: str, seconds: float, **parameters: Any) -> None:
    usual = {"which": "leader", "methods": "all", "probability": 1.0, "pause": 0.0}
    recipe.do("lease requests", kind=kind, seconds=round(seconds, 2), **{**usual, **parameters})


def rolling_update(recipe: RecipeBuilder) -> None:
    """Each leader gets SIGTERM, one after the other."""
    _begin(recipe)
    for _ in range(4):
        _end_leader(recipe, hard=False)
        recipe.pause(3, 30)


def crashes(recipe: RecipeBuilder) -> None:
    """Each leader is killed, sometimes immediately after its takeover."""
    _begin(recipe)
    for _ in range(3):
        _end_leader(recipe, hard=True)
        recipe.pause(15, 25)


def paused_leader(recipe: RecipeBuilder) -> None:
    """The leader's process or machine is paused longer than its leadership, and then continues."""
    _begin(recipe)
    for _ in range(3):
        _pause(recipe, "leader", recipe.chance.pick(("process", "machine"), "recipe"))
        recipe.pause(40, 60)


def blocked_main_loop(recipe: RecipeBuilder) -> None:
    """The leader's main loop is blocked; the renewals continue or fail."""
    _begin(recipe)
    for _ in range(2):
        _pause(recipe, "leader", "main loop")
        if recipe.chance.happens(0.7, "recipe"):
            _lease_requests(recipe, "time-out", recipe.chance.between(8, 20, "recipe"))
        recipe.pause(40, 60)


def lost_release(recipe: RecipeBuilder) -> None:
    """The leader gets SIGTERM during slow writes, its release arrives, and the response is late or lost."""
    _begin(recipe)
    for _ in range(3):
        kind, seconds = recipe.chance.pick(
            (("slow answer", 15.0), ("slow answer", 15.0), ("lost answer", 6.0)), "recipe"
        )
        _lease_requests(recipe, kind, seconds, methods="writes", pause=4.0)
        recipe.requests("slow", 6.0, methods="writes", plural=recipe.workload.main, pause=1.0)
        recipe.pause(0.1, 2)
        _end_leader(recipe, hard=False)
        recipe.pause(30, 40)


def late_renewals(recipe: RecipeBuilder) -> None:
    """Renewals arrive, but their responses are lost or late; mostly the leader is paused meanwhile."""
    _begin(recipe)
    for _ in range(3):
        kind = recipe.chance.pick(("slow answer", "slow answer", "slow answer", "lost answer"), "recipe")
        _lease_requests(recipe, kind, recipe.chance.between(4, 25, "recipe"), methods="writes", pause=4.5)
        if recipe.chance.happens(0.8, "recipe"):
            recipe.pause(1.5, 5)
            what = recipe.chance.pick(("machine", "machine", "process"), "recipe")
            recipe.do("pause replica", which="leader", seconds=recipe.chance.whole(17, 40, "recipe"), what=what)
        recipe.pause(45, 60)


def waiting_writes(recipe: RecipeBuilder) -> None:
    """The leader is paused while writes wait for their turn behind slow ones."""
    recipe.conditions = replace(recipe.conditions, slowest=0.05, requests_in_flight=2)
    names = [recipe.scripts.numbered(number) for number in range(6)]
    for name in names:
        recipe.create_smallest(name)
    recipe.now = 30.0
    for number in range(2, 4):
        recipe.requests("slow", 20.0, methods="writes", pause=2.0)
        for name in names:
            recipe.do("change", at=recipe.at, name=name, what={"image": f"app:{number}"})
        recipe.pause(1, 5)
        _pause(recipe, "leader", recipe.chance.pick(("process", "machine"), "recipe"))
        recipe.pause(50, 60)


def failed_renewals(recipe: RecipeBuilder) -> None:
    """The leader cannot renew the Lease, and the standby can acquire it."""
    _begin(recipe)
    for _ in range(3):
        kind = recipe.chance.pick(("time-out", "unavailable", "lost request", "internal error"), "recipe")
        _lease_requests(recipe, kind, recipe.chance.between(8, 30, "recipe"))
        recipe.pause(40, 60)


def changed_lease(recipe: RecipeBuilder) -> None:
    """The Lease is deleted, cleared or taken by a stranger while the leader cannot reach it."""
    _begin(recipe)
    slot = slot_of(recipe.at, recipe.conditions.slots) if recipe.conditions.slots > 1 else None
    for _ in range(3):
        _lease_requests(recipe, "time-out", recipe.chance.between(2, 9, "recipe"))
        recipe.pause(0.1, 2)
        recipe.do("change lease", how=recipe.chance.pick(("delete", "delete", "clear", "take"), "recipe"), slot=slot)
        recipe.pause(40, 60)


def wrong_clocks(recipe: RecipeBuilder) -> None:
    """The wall clocks differ, go back, or stand still."""
    _begin(recipe)
    for _ in range(3):
        seconds = recipe.chance.pick((-3600.0, -30.0, 0.0, 30.0, 3600.0), "recipe")
        stands = recipe.chance.happens(0.4, "recipe")
        recipe.do(
            "step clock", which=recipe.chance.pick(("leader", "standby"), "recipe"), seconds=seconds, stands=stands
        )
        recipe.pause(20, 40)


def hung_api_server(recipe: RecipeBuilder) -> None:
    """All requests hang, shorter or longer than the Lease."""
    _begin(recipe)
    for _ in range(2):
        recipe.do("hang API server", seconds=round(recipe.chance.between(4, 40, "recipe"), 2))
        recipe.pause(60, 90)


def two_versions(recipe: RecipeBuilder) -> None:
    """Two operator versions without election desire different children; a user changes the image during their war."""
    recipe.conditions = replace(recipe.conditions, replicas=2, elected=False)
    recipe.create(1)
    recipe.pause(60, 200)
    recipe.change(image="app:2")
    recipe.pause(20, 60)
    recipe.do("restart", hard=recipe.chance.happens(0.5, "recipe"), pause=5.0)


RECIPES: dict[str, Callable[[RecipeBuilder], None]] = {
    each.__name__.replace("_", " "): each
    for each in (
        rolling_update,
        paused_leader,
        waiting_writes,
        late_renewals,
        changed_lease,
        lost_release,
        wrong_clocks,
        crashes,
        failed_renewals,
        blocked_main_loop,
        hung_api_server,
        two_versions,
    )
}
