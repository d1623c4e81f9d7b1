"""Recipes for the Service: types that follow each other closely, and a headless Service without leave."""

from simulation.recipe_builder import RecipeBuilder
from simulation.workloads.webapp.draws_of_services import SHAPES, shaped


def _change(recipe: RecipeBuilder, shape: str, *, allowed: bool) -> None:
    recipe.to_parent("change service", what=shaped(shape, allowed=allowed))


def changing_types(recipe: RecipeBuilder) -> None:
    """The type of the Service changes often, while writes of Services fail or are slow; a person moves a node port."""
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", routes=None, ingress=None)
    recipe.pause(10, 30)
    kind = recipe.chance.pick(("lost answer", "slow", "internal error", "always a conflict"), "recipe")
    pause = 3.0 if kind == "slow" else 0.0
    recipe.requests(kind, 60.0, methods="writes", plural="services", probability=0.4, pause=pause)
    for _ in range(recipe.chance.whole(3, 6, "recipe")):
        shape = recipe.chance.pick((*SHAPES, "headless"), "recipe")
        _change(recipe, shape, allowed=recipe.chance.happens(0.7, "recipe"))
        recipe.pause(0.05, 30)
        if recipe.chance.happens(0.3, "recipe"):
            recipe.to_parent("restart", hard=True, pause=0.5)
    _change(recipe, recipe.chance.pick(("node port", "load balancer"), "recipe"), allowed=True)
    recipe.pause(60, 90)
    recipe.to_parent("move node port")
    recipe.pause(1, 10)
    _change(recipe, "local load balancer", allowed=False)


def headless_without_leave(recipe: RecipeBuilder) -> None:
    """A Service must become headless, or the other way around, without leave; a person helps later, or gives leave."""
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", routes=None, ingress=None)
    recipe.pause(10, 30)
    first, second = recipe.chance.pick((("headless", "node port"), ("load balancer", "headless")), "recipe")
    _change(recipe, first, allowed=True)
    recipe.pause(10, 60)
    _change(recipe, second, allowed=False)
    recipe.pause(0.5, 60)
    if recipe.chance.happens(0.5, "recipe"):
        recipe.to_parent("restart", hard=True)
        recipe.pause(1, 30)
    help_ = recipe.chance.pick(("delete", "leave", "back", "nothing"), "recipe")
    if help_ == "delete":
        recipe.to_parent("delete child", plural="services", how="Background")
    elif help_ != "nothing":
        _change(recipe, second if help_ == "leave" else first, allowed=help_ == "leave")
    recipe.pause(0.1, 60)
    recipe.change(image="app:2")


RECIPES = (changing_types, headless_without_leave)
