"""Recipes for `spec.restartOn`: data that changes closely before and after other events."""

from dataclasses import replace

from simulation.recipe_builder import RecipeBuilder
from simulation.workloads.webapp.draws_of_restarts import OBJECTS

_BOTH = {"secrets": ["db"], "configMaps": ["flags"]}


def _begin(recipe: RecipeBuilder) -> None:
    """Create the objects, and WebApps that name them."""
    recipe.conditions = replace(recipe.conditions, metadata=recipe.workload.metadata)
    for plural, what in OBJECTS:
        recipe.to_parent("change data", plural=plural, what=what, times=1)
    recipe.create(1)
    recipe.to_parent("change restartOn", what={"restartOn": _BOTH})
    if recipe.chance.happens(0.5, "recipe"):
        other = recipe.scripts.numbered(1) if recipe.name == recipe.scripts.numbered(0) else recipe.scripts.numbered(0)
        recipe.create(0, name=other)
        recipe.to_parent("change restartOn", name=other, what={"restartOn": _BOTH})
    recipe.pause(10, 40)


def rotated(recipe: RecipeBuilder) -> None:
    """Data changes again and again, also within a second; objects are recreated, and labels change."""
    _begin(recipe)
    for _ in range(recipe.chance.whole(3, 6, "recipe")):
        action = recipe.chance.pick(("change data", "change data", "recreate object", "label object"), "recipe")
        recipe.to_parent(action)
        recipe.pause(0.05, 40)
        if recipe.chance.happens(0.3, "recipe"):
            recipe.to_parent("restart", hard=True)
            recipe.pause(0.05, 10)
    recipe.to_parent("recreate object", plural="secrets", what="db")
    recipe.pause(10, 90)
    recipe.to_parent("label object", plural="secrets", what="db")


def unseen_data(recipe: RecipeBuilder) -> None:
    """The right to watch Secrets is revoked, or their watch is late or silent, while data changes."""
    _begin(recipe)
    cause = recipe.chance.pick(("right", "right", "late", "silent"), "recipe")
    seconds = round(recipe.chance.delay(5, 200, "recipe"), 2)
    if cause == "right":
        recipe.to_parent("revoke watch of Secrets", seconds=seconds)
    elif cause == "late":
        recipe.do("late watch", plural="secrets", seconds=seconds, late=10.0)
    else:
        recipe.do("silent watch", plural="secrets", seconds=seconds, hang=recipe.chance.happens(0.5, "recipe"))
    begun = recipe.now
    recipe.pause(0.1, 20)
    recipe.to_parent(recipe.chance.pick(("change data", "recreate object"), "recipe"), plural="secrets", what="db")
    if recipe.chance.happens(0.4, "recipe"):
        recipe.to_parent("restart", hard=True)
    if recipe.chance.happens(0.5, "recipe"):
        recipe.pause(0.1, 20)
        recipe.change(image="app:2")
    recipe.now = max(recipe.now, begun + seconds + recipe.chance.delay(0.1, 60, "recipe"))
    recipe.to_parent("change data", plural="secrets", what="db")


RECIPES = (rotated, unseen_data)
