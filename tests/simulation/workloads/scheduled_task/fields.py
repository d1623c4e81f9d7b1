"""Fields of a ScheduledTask's children written by other managers, and foreign objects."""

from typing import Any

from simulation.scripts import JSON_PATCH, Field, Manifest, label_field, replace_at
from simulation.workloads.scheduled_task.judge import LABEL, container_of


def _with_schedule(manifest: Manifest, value: Any) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "schedule": value}}


def _with_image(manifest: Manifest, value: Any) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], **_job([{**container_of(manifest), "image": value}])}}


def _job(containers: list[Any], labels: dict[str, str] | None = None) -> Manifest:
    spec = {"restartPolicy": "OnFailure", "containers": containers}
    template = {"spec": spec, **({"metadata": {"labels": labels}} if labels else {})}
    return {"jobTemplate": {"spec": {"template": template}}}


FIELDS: dict[str, Field] = {
    "image": Field(
        "cronjobs",
        lambda thing: thing["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"],
        replace_at("/spec/jobTemplate/spec/template/spec/containers/0/image"),
        ("other:1", "other:2"),
        JSON_PATCH,
        in_manifest=_with_image,
    ),
    "schedule": Field(
        "cronjobs",
        lambda thing: thing["spec"]["schedule"],
        lambda value: {"spec": {"schedule": value}},
        ("0 0 1 1 *", "0 0 2 2 *"),
        in_manifest=_with_schedule,
    ),
    "concurrency": Field(
        "cronjobs",
        lambda thing: thing["spec"]["concurrencyPolicy"],
        lambda value: {"spec": {"concurrencyPolicy": value}},
        ("Allow", "Replace"),
    ),
    "task label": label_field("cronjobs", LABEL, None),
    "config label": label_field("configmaps", LABEL, None, "task-0"),
    "config": Field(
        "configmaps",
        lambda thing: (thing.get("data") or {}).get("MODE"),
        lambda value: {"data": {"MODE": value}},
        ("theirs",),
    ),
}


def applied(_name: str, image: str) -> tuple[str, Manifest]:
    """Return the manifest that a GitOps tool applies to a CronJob."""
    template = {"spec": {"containers": [{"name": "task", "image": image}]}}
    return "image", {"spec": {"jobTemplate": {"spec": {"template": template}}}}


def foreign(plural: str, name: str, ours: bool) -> Manifest:
    """Return the content of a foreign object; `ours` puts our label on a CronJob's pods."""
    if plural == "configmaps":
        return {"data": {"MODE": "before", "OLD": "1"}}
    labels = {"app": name, **({LABEL: name} if ours else {})}
    container = {"name": "task" if ours else "other", "image": "before:1"}
    return {"spec": {"schedule": "1 1 1 1 *", **_job([container], labels)}}
