"""Recipes for HTTPRoutes: a CustomResourceDefinition that comes and goes, and Gateways that change their answer."""

from typing import Any

from simulation.recipe_builder import RecipeBuilder
from simulation.workloads.webapp.draws_of_routes import GATEWAYS, INGRESSES, INTERNAL, PORTS, PUBLIC, ROUTES

_ONE = [{"parentRefs": [{"name": PUBLIC}]}]
_TWO = [*_ONE, {"name": "api", "parentRefs": [{"name": INTERNAL}]}]


def crd_comes_and_goes(recipe: RecipeBuilder) -> None:
    """The CRD of HTTPRoute goes and comes while the spec of a WebApp changes."""
    recipe.to_parent("create", name=recipe.name, size=2, image="app:1", routes=_ONE)
    recipe.pause(10, 30)
    for number in range(recipe.chance.whole(1, 3, "recipe")):
        seconds = round(recipe.chance.delay(1, 150, "recipe"), 2)
        recipe.to_parent("delete CRD", seconds=seconds, back=True)
        begun = recipe.now
        recipe.pause(0.1, 40)
        changes: tuple[dict[str, Any], ...] = (
            {"image": f"app:{number + 2}"},
            {"routes": _TWO},
            {"routes": None},
            {"config": {"MODE": str(number)}},
            {"ports": [{"name": "http", "containerPort": 8090 + number}]},
        )
        recipe.change(**recipe.chance.pick(changes, "recipe"))
        recipe.now = max(recipe.now, begun + seconds + recipe.chance.delay(0.1, 40, "recipe"))
        recipe.change(routes=recipe.chance.pick((_ONE, _TWO), "recipe"))
        recipe.pause(0.1, 60)


def crd_comes_late(recipe: RecipeBuilder) -> None:
    """The CRD is installed after the WebApps, while lists of HTTPRoutes fail."""
    recipe.now = 0.0
    seconds = round(recipe.chance.delay(10, 200, "recipe"), 2)
    recipe.to_parent("delete CRD", seconds=seconds, pause=0.01, back=True)
    for number in range(3):
        recipe.now = 5.0 + number
        recipe.to_parent("create", name=recipe.scripts.numbered(number), size=1, image="app:1", routes=_TWO)
    recipe.now = seconds
    if recipe.chance.happens(0.6, "recipe"):
        recipe.requests("internal error", recipe.chance.delay(20, 100, "recipe"), methods="reads", plural="httproutes")
    recipe.pause(1, 60)
    recipe.change(image="app:2")


def crd_goes_for_good(recipe: RecipeBuilder) -> None:
    """The CRD is not installed again, and the operator hears of no deleted HTTPRoute."""
    recipe.finale = True
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", routes=_TWO)
    recipe.pause(10, 30)
    recipe.do("late watch", plural="httproutes", seconds=20.0, late=10.0)
    recipe.to_parent("delete CRD", seconds=1.0, pause=0.01, back=False)
    recipe.pause(1, 60)
    changes: tuple[dict[str, Any], ...] = ({"image": "app:2"}, {"routes": None}, {"routes": _ONE})
    recipe.change(**recipe.chance.pick(changes, "recipe"))


def unseen_routes(recipe: RecipeBuilder) -> None:
    """HTTPRoutes cannot be listed or watched, or their watch hangs; the operator restarts, and the CRD goes."""
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", routes=_TWO)
    recipe.pause(10, 30)
    cause = recipe.chance.pick(("list", "watch", "hang"), "recipe")
    hangs = cause == "hang"
    # A WebApp that waits for the watch is wrong for too long only if it waits long.
    seconds = round(recipe.chance.between(200, 300, "recipe") if hangs else recipe.chance.delay(20, 300, "recipe"), 2)
    if hangs:
        recipe.do("silent watch", plural="httproutes", seconds=seconds, hang=True)
    else:
        recipe.do("take right", verb=cause, plural="httproutes", at=None, seconds=seconds)
    recipe.pause(0.1, 5)
    if hangs or recipe.chance.happens(0.7, "recipe"):
        recipe.to_parent("restart", hard=True)
    recipe.pause(1, 60)
    recipe.change(image="app:2")
    if recipe.chance.happens(0.5, "recipe"):
        recipe.to_parent("delete CRD", seconds=round(recipe.chance.delay(1, 100, "recipe"), 2))


def crd_goes_during_writes(recipe: RecipeBuilder) -> None:
    """Writes of HTTPRoutes are slow or fail, and the CRD goes meanwhile."""
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", routes=_ONE)
    recipe.pause(10, 30)
    kind = recipe.chance.pick(("slow", "lost answer", "internal error"), "recipe")
    pause = 5.0 if kind == "slow" else 0.0
    recipe.requests(kind, 60.0, methods="writes", plural="httproutes", pause=pause)
    recipe.pause(0.1, 2)
    recipe.change(routes=_TWO, ports=[{"name": "http", "containerPort": 8085}])
    recipe.pause(0.1, 6)
    recipe.to_parent("delete CRD", seconds=round(recipe.chance.delay(1, 100, "recipe"), 2))
    recipe.pause(1, 60)
    recipe.change(routes=recipe.chance.pick(ROUTES, "recipe"), ports=PORTS)


def fickle_gateways(recipe: RecipeBuilder) -> None:
    """Gateways and Ingress classes change their answers around a change of routes; others own parts of the status."""
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", routes=_TWO, ingress=INGRESSES[-1])
    recipe.pause(5, 30)
    for _ in range(recipe.chance.whole(2, 5, "recipe")):
        if recipe.chance.happens(0.5, "recipe"):
            recipe.to_parent("clear managedFields")
            recipe.pause(0.5, 5)
        recipe.to_parent("gateway answers")
        recipe.pause(0.05, 40)
        if recipe.chance.happens(0.5, "recipe"):
            recipe.change(routes=recipe.chance.pick(ROUTES, "recipe"), ports=PORTS)
            recipe.pause(0.05, 20)
    for gateway in GATEWAYS:
        recipe.to_parent("gateway answers", gateway=gateway, answer="accept")


RECIPES = (
    crd_comes_and_goes,
    crd_comes_late,
    crd_goes_for_good,
    unseen_routes,
    crd_goes_during_writes,
    fickle_gateways,
)
"""Recipes of WebApps."""
