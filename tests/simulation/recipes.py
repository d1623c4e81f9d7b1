"""Recipes: combinations of steps that are rare in random scripts. The seed varies times and values."""

from dataclasses import replace

from simulation.recipe_builder import RecipeBuilder


def names(recipe: RecipeBuilder) -> None:
    """Two names are taken, detected at slightly different times, and released to the parent one after the other."""
    for plural in recipe.scripts.named[:2]:
        recipe.do("take name", at=recipe.at, name=recipe.name, plural=plural, label=None, ours=True, adopt=False)
    recipe.create(1)
    for plural in recipe.scripts.named[:2]:
        recipe.pause(10, 100)
        recipe.to_parent(recipe.chance.pick(("allow adoption", "give name back"), "recipe"), plurals=[plural])


def overdue_names(recipe: RecipeBuilder) -> None:
    """The check of a name becomes due during an unrelated reconcile; then the name is released."""
    recipe.conditions = replace(recipe.conditions, slowest=0.05)
    others = [recipe.scripts.numbered(number) for number in range(6)]
    for name in others:
        recipe.do("take name", at=recipe.at, name=name, plural=recipe.workload.main, label=None, ours=True, adopt=False)
        recipe.create(0, name=name)
    begun = recipe.now
    _, field, value = recipe.samples.side
    recipe.now = begun + 56
    # The reconcile looks at the name before it is due, and ends with a slow write afterwards.
    recipe.requests("slow", 10.0, methods="writes", plural="events", pause=3.0)
    for name in others:
        recipe.now = begun + recipe.chance.between(57, 60.5, "recipe")
        recipe.do("drift", at=recipe.at, name=name, field=field, value=value, manager="helm")
    recipe.now = begun + 90
    for name in others:
        recipe.do("allow adoption", at=recipe.at, name=name)


def refused_adoption(recipe: RecipeBuilder) -> None:
    """An adoption is refused; then the object is deleted."""
    # The main child may be replaced instead.
    others = [plural for plural in recipe.scripts.named if plural != recipe.workload.main]
    plural = recipe.chance.pick((*others, *others, recipe.workload.main), "recipe")
    ours = plural == recipe.workload.main
    recipe.do("take name", at=recipe.at, name=recipe.name, plural=plural, label=None, ours=ours, adopt=True)
    kind = recipe.chance.pick(("invalid", "invalid", "policy"), "recipe")
    if kind == "policy":
        recipe.do("refusing policy", plural=plural, operations=["UPDATE"], seconds=90.0, webhook=False)
        recipe.create(1)
        recipe.pause(40, 200)
    else:
        # The object is deleted after the end of the refusals, but before the name is read again after a minute.
        recipe.requests("invalid", 45.0, methods="writes", plural=plural, subresource="")
        recipe.create(1)
        recipe.pause(46, 58)
    recipe.to_parent("give name back")


def others_label(recipe: RecipeBuilder) -> None:
    """A name is taken by an object labelled for another parent; then that object is deleted."""
    recipe.do(
        "take name",
        at=recipe.at,
        name=recipe.name,
        plural=recipe.scripts.named[0],
        label="shop",
        ours=True,
        adopt=False,
    )
    recipe.create(1)
    recipe.pause(5, 300)
    recipe.to_parent("give name back")


def refused_removal(recipe: RecipeBuilder) -> None:
    """A child that the spec no longer wants cannot be deleted for a long time."""
    plural, change = recipe.samples.removal
    recipe.create(2)
    recipe.pause(10, 30)
    kind = recipe.chance.pick(("policy", "right", "error"), "recipe")
    if kind == "policy":
        recipe.do("refusing policy", plural=plural, operations=["DELETE"], seconds=400.0, webhook=True)
    elif kind == "right":
        recipe.do("take right", verb="delete", plural=plural, at=None, seconds=400.0)
    else:
        recipe.requests("internal error", 400.0, methods="deletes", plural=plural)
    recipe.pause(1, 5)
    recipe.change(**change)


def account(recipe: RecipeBuilder) -> None:
    """A child needed by the main child is faulty, and the image changes."""
    recipe.create(1)
    recipe.pause(10, 30)
    kind = recipe.chance.pick(("right", "halt", "fight"), "recipe")
    seconds = 300.0
    plural, field, value = recipe.samples.side
    if kind == "fight":
        recipe.to_parent("fight", field=field, value=value, manager="helm", seconds=seconds, pause=0.3)
    else:
        if kind == "right":
            recipe.do("take right", verb="patch", plural=plural, at=None, seconds=seconds)
        else:
            recipe.change(conflicts={"policy": "Halt"})
            recipe.pause(1, 3)
        recipe.to_parent("drift", field=field, value=value, manager="helm")
    recipe.pause(5, 60)
    recipe.change(image="app:2")


def always_failing(recipe: RecipeBuilder) -> None:
    """Writes to one kind always fail with an error other than a refusal."""
    recipe.create(2)
    recipe.pause(10, 30)
    drift = recipe.chance.pick(recipe.samples.drifts, "recipe")
    kind = recipe.chance.pick(("garbled", "hidden", "always a conflict", "always not found", "time-out"), "recipe")
    recipe.requests(kind, 500.0, methods="writes", plural=drift[0], subresource="")
    recipe.pause(0.1, 5)
    recipe.to_parent("drift", field=drift[1], value=drift[2], manager="helm")


def another_operator(recipe: RecipeBuilder) -> None:
    """Two operators of different versions share a field manager."""
    recipe.create(1)
    recipe.pause(10, 30)
    field, value, _ = recipe.chance.pick(recipe.samples.wars, "recipe")
    pause = recipe.chance.delay(0.02, 0.3, "recipe")
    recipe.to_parent(
        "fight", field=field, value=value, manager=recipe.workload.manager, seconds=120.0, pause=round(pause, 3)
    )


def stripped_label(recipe: RecipeBuilder) -> None:
    """Our label is removed repeatedly; then the image changes."""
    recipe.create(1)
    recipe.pause(10, 30)
    field = recipe.chance.pick(recipe.samples.labels, "recipe")
    recipe.to_parent("fight", field=field, value=None, manager="helm", seconds=30.0, pause=0.2)
    recipe.pause(2, 40)
    recipe.change(**recipe.samples.every_child)


def many_changes(recipe: RecipeBuilder) -> None:
    """One parent changes constantly."""
    recipe.finale = True
    recipe.create(2)
    recipe.pause(2, 5)
    recipe.do("change config again and again", at=recipe.at, name=recipe.name, times=64, pause=3.0)


def namesake(recipe: RecipeBuilder) -> None:
    """A parent with unreported drift is deleted and immediately recreated, during a slow write of its status."""
    recipe.create(1)
    recipe.pause(10, 30)
    recipe.to_parent("fight", field="image", value="other:1", manager="helm", seconds=6.0, pause=0.1)
    recipe.pause(7, 30)
    recipe.requests("slow", 30.0, methods="writes", plural=recipe.workload.parent, pause=3.0)
    recipe.requests("internal error", 30.0, methods="writes", plural=recipe.workload.parent)
    _, field, value = recipe.samples.drifts[0]
    recipe.to_parent("drift", field=field, value=value, manager="kubectl")
    recipe.pause(0.5, 2)
    recipe.change(image="app:2")
    recipe.pause(4, 10)
    recipe.to_parent("recreate", size=1, image="app:1", pause=0.002)


def new_intent(recipe: RecipeBuilder) -> None:
    """After a fight over a field, the other writer stops, and a user changes the field."""
    recipe.create(1)
    recipe.pause(10, 30)
    field, value, what = recipe.chance.pick(recipe.samples.wars, "recipe")
    # The second pause of the enforcement begins after a minute, and lasts two.
    recipe.to_parent("fight", field=field, value=value, manager="helm", seconds=70.0, pause=0.1)
    recipe.pause(71, 100)
    recipe.change(**what)


def deletions(recipe: RecipeBuilder) -> None:
    """A child is deleted whenever it exists."""
    recipe.create(1)
    recipe.pause(10, 30)
    plural = recipe.chance.pick(recipe.samples.deleted, "recipe")
    recipe.do(
        "delete child again and again",
        at=recipe.at,
        name=recipe.name,
        plural=plural,
        seconds=60.0,
        pause=round(recipe.chance.delay(0.02, 0.3, "recipe"), 3),
    )


def refused_and_busy(recipe: RecipeBuilder) -> None:
    """A write is refused for good, and the parent has many events."""
    recipe.create(2)
    recipe.pause(10, 30)
    plural = recipe.chance.pick([drift[0] for drift in recipe.samples.drifts], "recipe")
    recipe.requests("invalid", 90.0, methods="writes", plural=plural, subresource="")
    recipe.pause(1, 5)
    recipe.change(**recipe.samples.every_child)
    for _ in range(40):
        recipe.now += 1.01
        recipe.to_parent("annotate")


def edited_status(recipe: RecipeBuilder) -> None:
    """Another field manager owns a part of the status, and later all of it; then the status changes."""
    recipe.create(1)
    recipe.pause(10, 30)
    recipe.to_parent("edit status")
    recipe.pause(0.5, 20)
    recipe.to_parent("clear managedFields")
    recipe.pause(0.5, 20)
    _, field, value = recipe.samples.drifts[0]
    recipe.to_parent("drift", field=field, value=value, manager="helm")
    recipe.pause(0.5, 20)
    recipe.to_parent("clear managedFields")
    recipe.change(**recipe.samples.every_child)


def deleted_in_the_foreground(recipe: RecipeBuilder) -> None:
    """A parent stays until its children are gone; a finalizer of another manager holds one of them."""
    recipe.create(2)
    recipe.pause(10, 30)
    plural = recipe.chance.pick(recipe.scripts.named, "recipe")
    recipe.do("hold child", at=recipe.at, name=recipe.name, plural=plural, seconds=60.0)
    recipe.pause(1, 5)
    recipe.to_parent("delete", how="Foreground")
    recipe.pause(70, 90)
    recipe.create(1)


RECIPES = (
    names,
    overdue_names,
    refused_adoption,
    others_label,
    refused_removal,
    account,
    always_failing,
    another_operator,
    stripped_label,
    many_changes,
    namesake,
    new_intent,
    deletions,
    refused_and_busy,
    deleted_in_the_foreground,
    edited_status,
)
"""Recipes for any workload."""
