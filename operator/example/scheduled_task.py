"""A ScheduledTask runs an image on a schedule: a CronJob, and a ConfigMap with its environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.conflicts.policy import Policies, policies
from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection, Rules, whole
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.conditions import TYPES, conditions, standard_conditions, standard_fields
from coxswain.kernel.status.health import HEALTHY, Health
from coxswain.kernel.status.urgency import Pace, StatusRules
from coxswain.kernel.workload import ChildType, Desired, Observations, Removal, World, projector

GROUP = "example.coxswain.dev"
LABEL = f"{GROUP}/task"
MANAGER = "scheduled-tasks"

TASK = Kind(GROUP, "v1", "ScheduledTask", "scheduledtasks")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", LABEL)
CRON_JOB = Kind("batch", "v1", "CronJob", "cronjobs", LABEL)


@dataclass(frozen=True)
class Task:
    """A ScheduledTask as desired."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: Mapping[str, Any]

    @property
    def paused(self) -> bool:
        """Whether nothing but the status may be written."""
        return bool(self.spec.get("paused", False))

    @property
    def policies(self) -> Policies:
        """The policies for fields of other managers."""
        return policies(self.spec.get("conflicts", {}))


def config_map(task: Task, _: World) -> Desired | None:
    """Return the ConfigMap with `spec.config`; none without config."""
    config = task.spec.get("config")
    if not config:
        return None
    return Desired({"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(task), "data": dict(config)})


def cron_job(task: Task, _: World) -> Desired:
    """Return the CronJob."""
    spec = task.spec
    container: Manifest = {
        "name": "task",
        "image": spec["image"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if spec.get("args"):
        container["args"] = list(spec["args"])
    if spec.get("config"):
        container["envFrom"] = [{"configMapRef": {"name": task.name}}]
    pod = {
        "restartPolicy": "OnFailure",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    manifest = {
        "apiVersion": CRON_JOB.api_version,
        "kind": CRON_JOB.kind,
        "metadata": _metadata(task),
        "spec": {
            "schedule": spec["schedule"],
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": {"template": {"metadata": {"labels": {LABEL: task.name}}, "spec": pod}}},
        },
    }
    return Desired(manifest)


CRON_JOB_RULES = Rules(whole(CRON_JOB, "lastScheduleTime"), namesake=str)
"""The cache keeps the last run besides the spec."""


def cron_job_health(live: Projection) -> Health:
    """Return the health of a CronJob: it is healthy once it exists, and reports its last run."""
    last = live.content.get("status", {}).get("lastScheduleTime")
    return Health(HEALTHY.level, message=f"last run at {last}") if last else HEALTHY


def _metadata(task: Task) -> Manifest:
    owner = {"apiVersion": f"{GROUP}/v1", "kind": TASK.kind, "name": task.name, "uid": task.uid, "controller": True}
    return {
        "name": task.name,
        "namespace": task.namespace,
        "labels": {LABEL: task.name},
        "ownerReferences": [owner],
    }


CHILDREN = (
    ChildType(CONFIG_MAP, config_map, removal=Removal.AT_ONCE),
    ChildType(CRON_JOB, cron_job, rules=CRON_JOB_RULES, health=cron_job_health, needs=(CONFIG_MAP,)),
)


class ScheduledTasks:
    """The workload: ScheduledTasks with their children."""

    name = f"{GROUP}/operator"
    labels = (LABEL,)
    children = CHILDREN
    projector = projector(TASK, CHILDREN, label=LABEL, manager=MANAGER)
    status_rules = StatusRules(TYPES)

    def parse(self, observed: Projection) -> Task:
        """Return a ScheduledTask as desired."""
        spec = observed.content["spec"]
        return Task(observed.namespace, observed.name, observed.uid, observed.generation, spec)

    def status(self, parent: Task, observations: Observations, previous: Status, now: str) -> Status:
        """Return the status of a ScheduledTask."""
        children, unknown = [report.child for report in observations.children], parent.policies.unknown()
        held, paused, commands = observations.conflicts, parent.paused, Commands.of(parent, TASK, MANAGER)
        states = standard_conditions(children, held, previous, commands, paused=paused, unknown_policies=unknown)
        return {
            "observedGeneration": parent.generation,
            "conditions": conditions(states, parent.generation, previous, now),
            **standard_fields(children, held, observations.repairs, previous),
        }

    def pace(self, parent: Task, observations: Observations) -> Pace:  # noqa: ARG002 - part of the interface
        """Return the pace: no child rolls out."""
        return Pace(retried=any(report.child.health.retried for report in observations.children))

    def events(self, parent: Task, observations: Observations, previous: Status, present: Status) -> list[EventRecord]:  # noqa: ARG002 - part of the interface
        """Return no Events besides those of the kernel."""
        return []


WORKLOAD = ScheduledTasks()
