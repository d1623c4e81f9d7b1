"""Compares ScheduledTasks with their children and their status."""

from collections.abc import Iterator

from model_cluster.objects import Object, is_terminating, place
from simulation.judge import (
    Gap,
    Objects,
    child_gaps,
    different,
    generation_gaps,
    is_applied_by,
    is_child,
    is_unusable,
    ready_gaps,
)

PARENT = "scheduledtasks"
CHILDREN = ("configmaps", "cronjobs")
LABEL = "example.coxswain.dev/task"
MANAGER = "scheduled-tasks"


def gaps(task: Object, objects: Objects) -> list[Gap]:
    """Return the differences between a ScheduledTask and its children."""
    if task["spec"].get("paused"):
        return []
    return [*_config_map(task, objects), *_cron_job(task, objects)]


def status_gaps(task: Object, objects: Objects, children: list[Gap]) -> list[Gap]:
    """Return the differences between the children of a ScheduledTask and its status."""
    behind = generation_gaps(PARENT, task)
    if behind or task["spec"].get("paused"):
        return behind
    return [*ready_gaps(PARENT, task, objects, children, ""), *_last_run(task, objects, children)]


def _last_run(task: Object, objects: Objects, children: list[Gap]) -> Iterator[Gap]:
    """Yield the gap of a status without the last run of a CronJob that has no gap itself."""
    job, name = objects["cronjobs"].get(place(task)), place(task)[1]
    last = (job or {}).get("status", {}).get("lastScheduleTime")
    if last is None or any(gap.plural == "cronjobs" for gap in children):
        return
    reports = [each for each in task.get("status", {}).get("children", ()) if each["kind"] == "CronJob"]
    messages = [each.get("message", "") for each in reports if each["health"] == "Healthy"]
    if any(str(last) not in message for message in messages):
        yield Gap(PARENT, name, "last run", str(last), messages[0], of_status=True)


def _config_map(task: Object, objects: Objects) -> Iterator[Gap]:
    where, config = place(task), task["spec"].get("config") or {}
    live = objects["configmaps"].get(where)
    if not config:
        if live is not None and _is_leftover(task, live):
            yield Gap("configmaps", where[1], "leftover", "gone", "there")
        return
    found = list(child_gaps(task, "configmaps", live, where[1], {LABEL: where[1]}))
    yield from found
    if live is None or is_unusable(found):
        return
    data = live.get("data") or {}
    yield from different("configmaps", where[1], "config", config, data)
    for key in _applied_keys(live) - config.keys():
        yield Gap("configmaps", where[1], f"config {key}", "none", str(data.get(key)))


def _is_leftover(task: Object, live: Object) -> bool:
    labelled = (live["metadata"].get("labels") or {}).get(LABEL) == place(task)[1]
    return is_child(live, task) and is_applied_by(live, MANAGER) and labelled and not is_terminating(live)


def _applied_keys(config_map: Object) -> set[str]:
    """Return the keys of a ConfigMap owned by the operator."""
    entries = config_map["metadata"].get("managedFields") or ()
    owned = [entry["fieldsV1"].get("f:data", {}) for entry in entries if entry["manager"] == MANAGER]
    return {key[2:] for fields in owned for key in fields if key != "."}


def _cron_job(task: Object, objects: Objects) -> Iterator[Gap]:
    where, spec = place(task), task["spec"]
    live = objects["cronjobs"].get(where)
    found = list(child_gaps(task, "cronjobs", live, where[1], {LABEL: where[1]}))
    yield from found
    if live is None or is_unusable(found):
        return
    container = container_of(live)
    source = [{"configMapRef": {"name": where[1]}}] if spec.get("config") else []
    wanted = {
        "schedule": spec["schedule"],
        "concurrencyPolicy": "Forbid",
        "image": spec["image"],
        "args": spec.get("args") or [],
        "environment": source,
    }
    present = {
        "schedule": live["spec"]["schedule"],
        "concurrencyPolicy": live["spec"]["concurrencyPolicy"],
        "image": container.get("image"),
        "args": container.get("args") or [],
        "environment": container.get("envFrom") or [],
    }
    for field, value in wanted.items():
        if present[field] != value:
            yield Gap("cronjobs", where[1], field, str(value), str(present[field]))


def container_of(cron_job: Object) -> Object:
    """Return the container of a CronJob with the desired name."""
    containers = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    found: Object = next((each for each in containers if each["name"] == "task"), {})
    return found
