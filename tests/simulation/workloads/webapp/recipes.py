"""The recipes of WebApps; two of them are specific to this workload."""

from simulation import recipes, recipes_of_faults
from simulation.recipe_builder import RecipeBuilder
from simulation.scripts import Samples
from simulation.workloads.webapp import recipes_of_restarts, recipes_of_routes, recipes_of_services

SAMPLES = Samples(
    smallest={"size": 0, "image": "app:1", "replicas": 0},
    drifts=(("deployments", "label", "theirs"), ("services", "port", 9090)),
    side=("serviceaccounts", "account label", "Helm"),
    labels=("webapp label", "service label"),
    wars=(("image", "other:1", {"image": "app:3"}), ("replicas", 5, {"replicas": 3})),
    every_child={"image": "app:2", "ports": [{"name": "http", "containerPort": 8082}]},
    removal=("services", {"ports": [], "routes": None, "ingress": None}),
    deleted=("services", "serviceaccounts"),
    all_drifts=(("label", "theirs"), ("port", 9090), ("account label", "Helm"), ("config label", "theirs")),
    held_label=("app.kubernetes.io/instance", "held"),
)


def replaced_with_count(recipe: RecipeBuilder) -> None:
    """A Deployment with an autoscaler is replaced; the response to its DELETE is lost."""
    recipe.do("take name", at=recipe.at, name=recipe.name, plural="deployments", label=None, ours=True, adopt=False)
    recipe.pause(2, 10)
    recipe.to_parent("autoscale")
    recipe.pause(1, 10)
    recipe.to_parent("scale by autoscaler", replicas=7)
    recipe.pause(10, 30)
    recipe.create(1)
    recipe.pause(5, 20)
    recipe.requests("lost answer", 90.0, methods="deletes", plural="deployments", probability=0.9)
    recipe.to_parent("allow adoption")


def restored(recipe: RecipeBuilder) -> None:
    """History goes back to the moment before the replacement of a child, while its successor does not exist yet."""
    recipe.create(2)
    recipe.pause(10, 30)
    recipe.do("late watch", plural="configmaps", seconds=30.0, late=10.0)
    recipe.to_parent("other content")
    recipe.do("back up")
    recipe.pause(10.5, 19)
    recipe.to_parent("annotate")
    recipe.do("restore")


def busy_and_unwanted(recipe: RecipeBuilder) -> None:
    """A budget becomes superfluous while its controller writes to it faster than its watch delivers."""
    recipe.to_parent("create", name=recipe.name, size=1, image="app:1", replicas=3)
    recipe.pause(10, 30)
    recipe.do("late watch", plural="poddisruptionbudgets", seconds=40.0, late=2.0)
    pause = round(recipe.chance.delay(0.05, 0.2, "recipe"), 3)
    field, manager = "budget label", "kube-controller-manager"
    recipe.do(
        "write again and again", at=recipe.at, name=recipe.name, field=field, manager=manager, seconds=40.0, pause=pause
    )
    recipe.pause(0.1, 2)
    recipe.change(replicas=1)


def rolled_back(recipe: RecipeBuilder) -> None:
    """A rollout fails and is rolled back, while writes are lost and the operator restarts. Then the user undoes it."""
    recipe.create(2)
    recipe.pause(20, 40)
    recipe.change(image="app:missing", config={"MODE": "broken"}, rollout={"onFailure": "Rollback"})
    recipe.pause(30, 62)
    kind = recipe.chance.pick(("lost answer", "time-out"), "recipe")
    recipe.requests(kind, 40.0, methods="writes", probability=0.4)
    for _ in range(3):
        recipe.pause(0.1, 12)
        recipe.do("restart", hard=recipe.chance.happens(0.7, "recipe"), pause=0.5)
    recipe.pause(60, 120)
    recipe.change(image="app:1", config={"MODE": "production"}, rollout={"onFailure": "Rollback"})


RECIPES = {
    found.__name__: found
    for found in (
        recipes.names,
        recipes.overdue_names,
        recipes.refused_adoption,
        recipes.others_label,
        recipes_of_faults.pages,
        recipes.refused_removal,
        recipes.account,
        recipes.always_failing,
        recipes.another_operator,
        recipes.stripped_label,
        recipes_of_faults.flapping,
        replaced_with_count,
        restored,
        busy_and_unwanted,
        rolled_back,
        recipes_of_faults.restored_at_a_start,
        recipes_of_faults.ended_watches,
        recipes_of_faults.gap,
        recipes_of_faults.missed_changes,
        recipes_of_faults.lists_fail,
        recipes.many_changes,
        recipes_of_faults.outage,
        recipes.namesake,
        recipes.new_intent,
        recipes.deletions,
        recipes.refused_and_busy,
        recipes.deleted_in_the_foreground,
        recipes.edited_status,
        recipes_of_faults.paused_reads,
        *recipes_of_routes.RECIPES,
    )
}
FURTHER_RECIPES = {found.__name__: found for found in (*recipes_of_services.RECIPES, *recipes_of_restarts.RECIPES)}
