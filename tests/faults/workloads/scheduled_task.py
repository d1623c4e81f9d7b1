"""The ScheduledTask of operator/example: a CronJob and a ConfigMap."""

from pathlib import Path
from typing import Any

from cluster import ControlPlane
from fault_engine.objects import Object, Resource
from fault_engine.script import Kubectl, apply, kubectl, patch
from fault_engine.workload import Children, Workload
from faults.scaled_settings import longest_retry

EXAMPLE = Path(__file__).parents[3] / "operator" / "example"
NAMESPACE, ACCOUNT = "tasks-system", "scheduled-tasks"

PARENT = Resource("example.coxswain.dev", "v1", "ScheduledTask", "scheduledtasks")
CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
CRON_JOB = Resource("batch", "v1", "CronJob", "cronjobs")
EVENT = Resource("events.k8s.io", "v1", "Event", "events")

# The schedules are on the first of January, so no Job runs during a test.
SPEC: dict[str, Any] = {
    "schedule": "2 0 1 1 *",
    "image": "registry.example/task:1",
    "config": {"GREETING": "hello"},
}
CHANGED: dict[str, Any] = {**SPEC, "image": "registry.example/task:2", "config": {"GREETING": "good morning"}}


def task(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a ScheduledTask."""
    return {"apiVersion": PARENT.api_version, "kind": PARENT.kind, "metadata": {"name": "{name}"}, "spec": spec}


LIFE: dict[str, tuple[Kubectl, ...]] = {
    "create": (apply(task(SPEC)),),
    "change": (apply(task(CHANGED)),),
    "edit": (patch("scheduledtask", "{name}", '{"spec": {"schedule": "{number} 0 1 1 *"}}'),),
    "edit main": (patch("cronjob", "{name}", '{"spec": {"schedule": "{number} 0 1 1 *"}}'),),
    "drift": (
        kubectl("delete", "configmap", "{name}"),
        patch("cronjob", "{name}", {"spec": {"concurrencyPolicy": "Replace"}}),
    ),
    "switch": (),
    "lose": (kubectl("delete", "cronjob", "-l", "{label}={name}", "--wait=false"),),
    "recreate": (apply(task(CHANGED)),),
    "delete": (kubectl("delete", "scheduledtask", "{name}", "--wait=false"),),
    "canary": (apply(task({"schedule": SPEC["schedule"], "image": "registry.example/canary:{number}"})),),
}
"""The steps of `fault_engine.workload.LIFE`."""


def install(cluster: ControlPlane) -> None:
    """Create the ServiceAccount of the operator, with the rights of the example."""
    cluster.kubectl("apply", "--filename", str(EXAMPLE / "rights.yaml"))
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl("--namespace", NAMESPACE, "create", "serviceaccount", ACCOUNT)
    account = f"--serviceaccount={NAMESPACE}:{ACCOUNT}"
    cluster.kubectl("create", "clusterrolebinding", ACCOUNT, "--clusterrole=scheduled-tasks", account)


def follows(parent: Object, cron_job: Object) -> bool:
    """Tell whether a CronJob has the schedule and the image of a ScheduledTask."""
    (container,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    spec = parent["spec"]
    return (cron_job["spec"]["schedule"], container["image"]) == (spec["schedule"], spec["image"])


def problem(parent: Object, children: Children) -> str | None:
    """Return the first difference between a ScheduledTask and its children in existence, schedule and image."""
    config_maps, cron_jobs = children[CONFIG_MAP.plural], children[CRON_JOB.plural]
    if parent["spec"].get("config") and config_maps == []:
        return "it owns no ConfigMap"
    if cron_jobs == []:
        return "it owns no CronJob"
    if cron_jobs and not follows(parent, cron_jobs[0]):
        return "its CronJob has another schedule or image"
    return None


SCHEDULED_TASK = Workload(
    name="scheduled-task",
    parent=PARENT,
    main=CRON_JOB,
    child=CONFIG_MAP,
    children=(CONFIG_MAP, CRON_JOB),
    others=(EVENT,),
    label="example.coxswain.dev/task",
    manager="scheduled-tasks",
    account=(NAMESPACE, ACCOUNT),
    agent="coxswain",
    watch_agent="coxswain-watch",
    program=("faults.launch", "--workload", "scheduled-task"),
    crd=EXAMPLE / "crd.yaml",
    role=EXAMPLE / "rights.yaml",
    install=install,
    life=LIFE,
    follows=follows,
    problem=problem,
    longest_retry=longest_retry,
    probe={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}},
)
