"""Actions specific to ScheduledTasks."""

from model_cluster.cluster import MERGE
from simulation.actions import action
from simulation.world import World

_MANAGER = "kube-controller-manager"


@action("run")
def run(world: World, *, at: str, name: str) -> bool:
    """Let the CronJob controller start a Job: it records the time in the CronJob's status."""
    if world.cluster.get("cronjobs", (at, name)) is None:
        return False
    body = {"status": {"lastScheduleTime": world.cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ")}}
    path, query = world.cluster.path("cronjobs", at, name, "status"), {"fieldManager": _MANAGER}
    answer = world.cluster.request(_MANAGER, "PATCH", path, body, query=query, content_type=MERGE)
    return bool(answer.status == 200)
