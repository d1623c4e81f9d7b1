"""Generates the script of a seed: actions drawn by the weights of a profile, or a recipe.

Odd seeds take the recipes in turn, so that a few hundred seeds contain each of them several times. So does every 16th
seed with further recipes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from model_cluster.chance import Chance
from model_cluster.objects import Place
from simulation import draws_of_replicas
from simulation.conditions import Conditions
from simulation.draws import ACTION_OF
from simulation.recipe_builder import RecipeBuilder
from simulation.recipes_of_replicas import RECIPES as RECIPES_OF_REPLICAS
from simulation.recipes_of_slots import RECIPES as RECIPES_OF_SLOTS
from simulation.script import Script, Step
from simulation.workloads import DEFAULT, Workload, workload

_NAMESPACES_OF_SLOTS = ("a", "b", "h", "m", "r")
"""With four slots, at least one namespace in each."""


def generate(seed: int, name: str = DEFAULT, replicas: int | None = None, slots: int | None = None) -> Script:
    """Return the script of a seed.

    Args:
        seed: the seed.
        name: the name of the workload.
        replicas: the number of replicas; None: from the seed, at least two if there are several slots.
        slots: the number of slots; None: from the seed, one if there is one replica.
    """
    of = workload(name)
    scripts = of.scripts
    chance = Chance(f"script {seed}")
    count = draws_of_replicas.replicas(chance) if replicas is None else replicas
    conditions = Conditions(
        scoped=chance.happens(0.25, "scoped"),
        slowest=chance.pick((0.005, 0.05, 0.3), "slowest"),
        defer=chance.pick((0.0, 0.0, 0.1), "defer"),
        page_size=chance.pick((1, 2, 500), "page size"),
        requests_in_flight=chance.pick((2, 4, 32), "in flight"),
        replicas=count,
        # A wall clock that is wrong delays restarts, so several replicas have no watches of metadata.
        metadata=of.metadata if count == 1 and seed % 2 == 0 and chance.happens(0.4, "metadata") else (),
    )
    conditions = _with_slots(chance, conditions, replicas, slots)
    places = _places(conditions, scripts.names, chance.whole(1, 4, "places"))
    steps: list[Step] = []
    now = 0.0
    recipes, number = _recipes(of, conditions), seed // 2
    if seed % 16 == 6 and scripts.further_recipes and conditions.replicas == 1:
        recipes, number = scripts.further_recipes, seed // 16
    if seed % 2 or recipes is scripts.further_recipes:
        # Faults of the leader concern the one of the first namespace.
        where = chance.pick([each for each in places if each[0] == places[0][0] or conditions.slots == 1], "place")
        recipe = tuple(recipes)[number % len(recipes)]
        builder = RecipeBuilder(of, chance, 5.0, where, conditions)
        recipes[recipe](builder)
        finale = _has_finale(chance, conditions) or builder.finale
        return Script(seed, recipe, builder.conditions, tuple(builder.steps), finale, of.name)
    profile = chance.pick(tuple(scripts.profiles), "profile")
    weights = {**scripts.profiles[profile], **(scripts.weights_of_metadata if conditions.metadata else {})}
    for where in places:
        now += chance.delay(0.01, 10, "pause")
        if not chance.happens(0.15, "late"):
            steps.append(_step(of, chance, now, "create", where))
    for _ in range(chance.whole(3, 14, "steps")):
        now += chance.delay(0.02, 120, "pause")
        where = chance.pick(places, "place")
        steps.append(_step(of, chance, now, chance.weighted(weights, "do"), where))
        if chance.happens(0.15, "at once"):
            now += chance.delay(0.001, 0.5, "at once")
            steps.append(_step(of, chance, now, chance.weighted(weights, "do"), where))
    if conditions.replicas > 1:
        steps += _of_replicas(chance, now, conditions.slots)
    return Script(seed, profile, conditions, tuple(steps), finale=_has_finale(chance, conditions), workload=of.name)


def actions_of(name: str) -> list[str]:
    """Return the names of the actions of a workload."""
    return sorted({ACTION_OF.get(draw, draw) for draw in (*workload(name).scripts.draws, *draws_of_replicas.DRAWS)})


def _with_slots(chance: Chance, conditions: Conditions, replicas: int | None, slots: int | None) -> Conditions:
    """Return the conditions with several slots, if this number of slots or the seed wants it."""
    count = conditions.replicas
    if replicas is None and slots is not None and slots > 1 and count == 1:
        count = chance.pick((2, 3), "replicas that share slots")
    if count == 1:
        return conditions
    conditions = replace(conditions, metadata=())
    number = draws_of_replicas.slots(chance) if slots is None else slots
    if number == 1:
        return replace(conditions, replicas=count)
    return replace(conditions, replicas=count, slots=number, namespaces=_NAMESPACES_OF_SLOTS)


def _has_finale(chance: Chance, conditions: Conditions) -> bool:
    """Return whether a run ends with the finale, which takes most of the time of a run with slots."""
    return chance.happens(0.3 if conditions.slots == 1 else 0.1, "finale")


def _places(conditions: Conditions, names: Sequence[str], number: int) -> list[Place]:
    """Return the places of parents: with slots one in each namespace, and some more."""
    if conditions.slots == 1:
        return [(at, name) for at in conditions.namespaces for name in names][:number]
    return [(at, name) for name in names for at in conditions.namespaces][: len(conditions.namespaces) + number - 1]


def _recipes(of: Workload, conditions: Conditions) -> Mapping[str, Callable[[RecipeBuilder], None]]:
    if conditions.replicas == 1:
        return of.scripts.recipes
    if conditions.slots == 1:
        return RECIPES_OF_REPLICAS
    elected = {name: recipe for name, recipe in RECIPES_OF_REPLICAS.items() if name != "two versions"}
    return {**RECIPES_OF_SLOTS, **elected}


def _of_replicas(chance: Chance, last: float, slots: int) -> list[Step]:
    """Return faults of replicas, after the first leader began."""
    steps = []
    for _ in range(chance.whole(2, 10, "faults of replicas")):
        time = 16.0 + chance.between(0, max(last, 60.0), "time of a fault")
        do = chance.weighted(draws_of_replicas.WEIGHTS, "fault of a replica")
        parameters = draws_of_replicas.with_slot(chance, do, draws_of_replicas.DRAWS[do](chance), slots)
        steps.append(Step(round(time, 3), do, parameters))
    return steps


def _step(of: Workload, chance: Chance, time: float, do: str, where: Place) -> Step:
    parameters = of.scripts.draws[do](chance, *where)
    return Step(round(time, 3), ACTION_OF.get(do, do), parameters)
