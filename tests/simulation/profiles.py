"""A script for each seed: actions drawn by the weights of a profile."""

from collections.abc import Mapping

from simulation.chance import Chance
from simulation.cook import Cook
from simulation.draws import DRAWS, NAMES
from simulation.recipes import RECIPES
from simulation.script import Script, Step
from simulation.world import Conditions

_USERS = {"create": 2, "change": 10, "delete": 1, "recreate": 2, "annotate": 1, "change config again and again": 0.3}
_WRITERS = {"drift": 4, "apply": 1, "delete child": 3, "other content": 1}
_SCALING = {"autoscale": 1.5, "scale by autoscaler": 3, "stop autoscaling": 1.5}
_TAKEN = {"take name": 6, "allow adoption": 4, "give name back": 2}
_NETWORK = {"requests": 6, "requests that always fail": 1.5, "reads paused": 1, "compact": 1}
_WATCHES = {"close watches": 4, "flapping watch": 1, "silent watch": 2, "late watch": 3}
_RIGHTS = {"take right": 3, "refusing policy": 4, "changing policy": 1.5}

PROFILES: Mapping[str, dict[str, float]] = {
    "users": {**_USERS, **_SCALING},
    "drift": {**_USERS, **_WRITERS, **_SCALING},
    "fights": {**_USERS, **_WRITERS, "fight": 8, "delete child again and again": 2},
    "names": {**_USERS, **_TAKEN, **_WRITERS, **_SCALING, "delete": 2},
    "network": {**_USERS, **_WRITERS, **_NETWORK, "restart": 1, **_SCALING, "take name": 1, "allow adoption": 1},
    "watches": {**_USERS, **_WRITERS, **_WATCHES, "restart": 1, "compact": 2},
    "rights": {**_USERS, **_WRITERS, **_RIGHTS, **_TAKEN, "fight": 1, "flapping watch": 0.7},
    "history": {**_USERS, **_WRITERS, "back up": 5, "restore": 4, "restart": 2, "close watches": 2, "requests": 2},
    "namespaces": {**_USERS, **_WRITERS, "end namespace": 4, "restart": 1, "close watches": 1},
    "everything": {
        **_USERS,
        **_WRITERS,
        **_SCALING,
        **_TAKEN,
        **_NETWORK,
        **_WATCHES,
        **_RIGHTS,
        "fight": 2,
        "delete child again and again": 1,
        "end namespace": 2,
        "back up": 1,
        "restore": 1,
        "restart": 3,
    },
}

_RECIPES = 0.45
"""Probability that a script follows a recipe instead of a profile."""


def generate(seed: int) -> Script:
    """Return the script of a seed."""
    chance = Chance(f"script {seed}")
    conditions = Conditions(
        scoped=chance.happens(0.25, "scoped"),
        slowest=chance.pick((0.005, 0.05, 0.3), "slowest"),
        defer=chance.pick((0.0, 0.0, 0.1), "defer"),
        page_size=chance.pick((1, 2, 500), "page size"),
        requests_in_flight=chance.pick((2, 4, 32), "in flight"),
    )
    places = [(at, name) for at in conditions.namespaces for name in NAMES][: chance.whole(1, 4, "places")]
    steps: list[Step] = []
    now = 0.0
    if chance.happens(_RECIPES, "recipes"):
        at, name = chance.pick(places, "place")
        recipe = chance.pick(tuple(RECIPES), "recipe")
        cook = Cook(chance, 5.0, at, name, conditions)
        RECIPES[recipe](cook)
        finale = chance.happens(0.3, "finale") or recipe == "many_changes"
        return Script(seed, recipe, cook.conditions, tuple(cook.steps), finale)
    profile = chance.pick(tuple(PROFILES), "profile")
    weights = PROFILES[profile]
    for at, name in places:
        now += chance.delay(0.01, 10, "pause")
        if not chance.happens(0.15, "late"):
            steps.append(_step(chance, now, "create", at, name))
    for _ in range(chance.whole(3, 14, "steps")):
        now += chance.delay(0.02, 120, "pause")
        at, name = chance.pick(places, "place")
        steps.append(_step(chance, now, chance.weighted(weights, "do"), at, name))
        if chance.happens(0.15, "at once"):
            now += chance.delay(0.001, 0.5, "at once")
            steps.append(_step(chance, now, chance.weighted(weights, "do"), at, name))
    return Script(seed, profile, conditions, tuple(steps), finale=chance.happens(0.3, "finale"))


def _step(chance: Chance, time: float, do: str, at: str, name: str) -> Step:
    parameters = DRAWS[do](chance, at, name)
    known = {"requests that always fail": "requests", "reads paused": "requests"}
    return Step(round(time, 3), known.get(do, do), parameters)
