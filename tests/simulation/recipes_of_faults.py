"""Recipes for watches, lists, history and outages."""

from dataclasses import replace

from simulation.recipe_builder import RecipeBuilder


def pages(recipe: RecipeBuilder) -> None:
    """Lists fail between two pages while parents are created."""
    recipe.conditions = replace(recipe.conditions, page_size=1)
    recipe.requests("lost answer", recipe.chance.delay(3, 30, "recipe"), methods="reads", probability=0.5)
    recipe.do(
        "close watches", why="expired", plural=recipe.workload.parent, seconds=recipe.chance.delay(0.5, 10, "recipe")
    )
    for number in range(4):
        recipe.create(0, name=recipe.scripts.numbered(number))
        recipe.pause(0.05, 2)


def flapping(recipe: RecipeBuilder) -> None:
    """A terminal refusal, while the watch of parents starts over every few minutes; the refusal ends."""
    recipe.create(1)
    recipe.pause(10, 30)
    plural = recipe.chance.pick([drift[0] for drift in recipe.samples.drifts], "recipe")
    recipe.do(
        "flapping watch",
        plural=recipe.workload.parent,
        every=round(recipe.chance.delay(120, 400, "recipe"), 1),
        times=8,
    )
    recipe.requests("invalid", 60.0, methods="writes", plural=plural, subresource="")
    recipe.pause(1, 5)
    recipe.change(**recipe.samples.every_child)


def restored_at_a_start(recipe: RecipeBuilder) -> None:
    """History goes back, and the list that shows it arrives while the watches are about to start; three attempts."""
    recipe.conditions = replace(recipe.conditions, slowest=0.05)
    recipe.create(2)
    recipe.pause(15, 20)
    for number in (2, 3, 1):
        _restore_at_a_start(recipe)
        recipe.pause(4, 8)
        recipe.change(image=f"app:{number}")
        recipe.now += 200


def _restore_at_a_start(recipe: RecipeBuilder) -> None:
    recipe.do("back up")
    recipe.pause(1, 10)
    for field, value in recipe.samples.all_drifts:
        recipe.to_parent("drift", field=field, value=value, manager="kubectl")
    recipe.to_parent("annotate")
    recipe.pause(5, 8)
    closed = recipe.chance.between(4.2, 5.2, "recipe")
    # The watches restart about 1.1 s after their end.
    lists_fail = closed + recipe.chance.between(1.05, 1.25, "recipe")
    for plural in recipe.workload.resources:
        recipe.requests("internal error", lists_fail, methods="reads", plural=plural)
    recipe.do("close watches", why="expired", plural=None, seconds=0.0)
    begun = recipe.now
    recipe.pause(0.2, 0.4)
    recipe.do("restore")
    recipe.now = begun + closed
    recipe.do("close watches", why="error", plural=None, seconds=0.0)


def ended_watches(recipe: RecipeBuilder) -> None:
    """An error ends all watches without another fault, and the image changes."""
    recipe.create(2)
    recipe.pause(10, 30)
    recipe.do("close watches", why="error", plural=None, seconds=0.0)
    recipe.pause(0.3, 10)
    recipe.change(image="app:2")
    recipe.now += 300
    recipe.to_parent("annotate")


def gap(recipe: RecipeBuilder) -> None:
    """A child is deleted or the parent changed while the watch is closed; its history is compacted when it reopens."""
    recipe.create(2)
    recipe.pause(10, 30)
    plural = recipe.chance.pick((*recipe.samples.deleted, recipe.workload.main, recipe.workload.parent), "recipe")
    recipe.do("close watches", why="expired", plural=plural, seconds=8.0)
    recipe.pause(1, 5)
    if plural == recipe.workload.parent:
        recipe.to_parent("recreate", size=1, pause=0.5)
    else:
        recipe.to_parent("delete child", plural=plural, how="Background")
    recipe.do("compact", keep=0)


def missed_changes(recipe: RecipeBuilder) -> None:
    """An object changes twice while its watch is closed, so that one event tells of both changes."""
    recipe.create(2)
    recipe.pause(10, 30)
    plural = recipe.chance.pick((recipe.workload.main, recipe.workload.parent), "recipe")
    recipe.do("close watches", why="expired", plural=plural, seconds=8.0)
    for number in (1, 2):
        recipe.pause(0.5, 3)
        if plural == recipe.workload.parent:
            recipe.change(image=f"app:{number + 1}")
        else:
            recipe.to_parent("drift", field="image", value=f"other:{number}", manager="kubectl")
    recipe.do("compact", keep=0)


def lists_fail(recipe: RecipeBuilder) -> None:
    """The operator restarts and cannot list children for a time; parents changed meanwhile."""
    others = [recipe.scripts.numbered(number) for number in range(6)]
    for name in others:
        recipe.create(recipe.chance.whole(0, 2, "recipe"), name=name)
    recipe.pause(20, 30)
    plurals = recipe.chance.pick((("configmaps",), recipe.workload.children), "recipe")
    # A list that succeeds during a reconcile: after half a minute the status tells of the failures, and it is slow.
    meets = recipe.chance.happens(0.7, "recipe")
    low, high = (35, 45) if meets else (20, 50)
    for plural in plurals:
        seconds = round(recipe.chance.between(low, high, "recipe"), 2)
        recipe.requests("internal error", seconds, methods="reads", plural=plural)
    if meets:
        recipe.requests("slow", 75.0, methods="writes", plural=recipe.workload.parent, pause=20.0)
    recipe.do("restart", hard=True, pause=0.5)
    # The last change needs no new revision, so only the main child differs.
    _, _, rest = recipe.samples.wars[-1]
    for number, name in enumerate(others):
        recipe.do("change", at=recipe.at, name=name, what=rest if number % 2 else {"image": "app:2"})


def outage(recipe: RecipeBuilder) -> None:
    """No write succeeds; then one status write does, and reports a failing child; all other parents wait."""
    names = [recipe.scripts.numbered(number) for number in range(24)]
    for name in names:
        recipe.create_smallest(name)
    recipe.pause(15, 30)
    recipe.requests("internal error", 300.0, methods="writes", plural=recipe.workload.main, subresource="")
    for name in names:
        seconds = 140.0 if name == recipe.name else 300.0
        recipe.requests("unavailable", seconds, methods="writes", plural=recipe.workload.parent, name=name)
        recipe.do("change", at=recipe.at, name=name, what={"image": "app:2"})


def paused_reads(recipe: RecipeBuilder) -> None:
    """More reads than free slots get a Retry-After; config and image change meanwhile."""
    recipe.conditions = replace(recipe.conditions, requests_in_flight=2)
    recipe.create(2)
    recipe.pause(40, 60)
    recipe.requests("reads paused", 500.0, methods="reads", pause=60.0)
    for number in range(2, 4):
        # Responses are slow, so that all lists are in flight when the first one is refused.
        recipe.requests("slow", 5.0, methods="reads", pause=5.0)
        recipe.do("close watches", why="expired", plural=None, seconds=0.0)
        recipe.pause(6, 20)
        recipe.change(image=f"app:{number}", config={"MODE": str(number)})
        recipe.pause(160, 200)


RECIPES = (
    pages,
    flapping,
    restored_at_a_start,
    ended_watches,
    gap,
    missed_changes,
    lists_fail,
    outage,
    paused_reads,
)
"""Recipes for any workload."""
