"""Generates the script of a seed: actions drawn by the weights of a profile, or a recipe.

Odd seeds take the recipes in turn, so that a few hundred seeds contain each of them several times.
"""

from model_cluster.chance import Chance
from model_cluster.objects import Place
from simulation import draws_of_replicas
from simulation.conditions import Conditions
from simulation.draws import ACTION_OF
from simulation.recipe_builder import RecipeBuilder
from simulation.recipes_of_replicas import RECIPES as RECIPES_OF_REPLICAS
from simulation.script import Script, Step
from simulation.workloads import DEFAULT, Workload, workload


def generate(seed: int, name: str = DEFAULT, replicas: int | None = None) -> Script:
    """Return the script of a seed for the workload of this name, with this or a random number of replicas."""
    of = workload(name)
    scripts = of.scripts
    chance = Chance(f"script {seed}")
    conditions = Conditions(
        scoped=chance.happens(0.25, "scoped"),
        slowest=chance.pick((0.005, 0.05, 0.3), "slowest"),
        defer=chance.pick((0.0, 0.0, 0.1), "defer"),
        page_size=chance.pick((1, 2, 500), "page size"),
        requests_in_flight=chance.pick((2, 4, 32), "in flight"),
        replicas=draws_of_replicas.replicas(chance) if replicas is None else replicas,
    )
    places = [(at, name) for at in conditions.namespaces for name in scripts.names][: chance.whole(1, 4, "places")]
    steps: list[Step] = []
    now = 0.0
    if seed % 2:
        where = chance.pick(places, "place")
        recipes = scripts.recipes if conditions.replicas == 1 else RECIPES_OF_REPLICAS
        recipe = tuple(recipes)[seed // 2 % len(recipes)]
        builder = RecipeBuilder(of, chance, 5.0, where, conditions)
        recipes[recipe](builder)
        finale = chance.happens(0.3, "finale") or builder.finale
        return Script(seed, recipe, builder.conditions, tuple(builder.steps), finale, of.name)
    profile = chance.pick(tuple(scripts.profiles), "profile")
    weights = scripts.profiles[profile]
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
        steps += _of_replicas(chance, now)
    return Script(seed, profile, conditions, tuple(steps), finale=chance.happens(0.3, "finale"), workload=of.name)


def actions_of(name: str) -> list[str]:
    """Return the names of the actions of a workload."""
    return sorted({ACTION_OF.get(draw, draw) for draw in (*workload(name).scripts.draws, *draws_of_replicas.DRAWS)})


def _of_replicas(chance: Chance, last: float) -> list[Step]:
    """Return faults of replicas, after the first leader began."""
    steps = []
    for _ in range(chance.whole(2, 10, "faults of replicas")):
        time = 16.0 + chance.between(0, max(last, 60.0), "time of a fault")
        do = chance.weighted(draws_of_replicas.WEIGHTS, "fault of a replica")
        steps.append(Step(round(time, 3), do, draws_of_replicas.DRAWS[do](chance)))
    return steps


def _step(of: Workload, chance: Chance, time: float, do: str, where: Place) -> Step:
    parameters = of.scripts.draws[do](chance, *where)
    return Step(round(time, 3), ACTION_OF.get(do, do), parameters)
