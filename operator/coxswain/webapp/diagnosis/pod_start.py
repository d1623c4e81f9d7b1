"""The start of a pod: why its containers cannot start yet, and when the kubelet could first pull their images."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from coxswain.kernel.objects.manifests import condition
from coxswain.webapp.diagnosis.cause import Cause, Finding, Rank, message_of, word
from coxswain.webapp.diagnosis.commands import describe_pods, edit, pods_of
from coxswain.webapp.spec import WebApp
from coxswain.webapp.times import after, moment

SCHEDULED = "PodScheduled"
PREPARED = "PodReadyToStartContainers"
"""Condition of a pod: its volumes are mounted, and its sandbox has a network (KEP-3085). Image pulls come later."""
INITIALIZED = "Initialized"
"""Condition of a pod: its init containers have ended, and its sidecars have started."""
START = (SCHEDULED, PREPARED, INITIALIZED)
"""The conditions of a pod in the order in which they become True."""
START_TIMES = ("startedAt", "finishedAt")
"""Fields in the state of a container."""

PATIENCE = timedelta(minutes=2)
"""Longer than a usual attachment of a disk, shorter than the kubelet's and the attach-detach controller's timeouts."""

_DEFAULT_SCHEDULER = "default-scheduler"


def of_start(pod: Mapping[str, Any], template: Mapping[str, Any], webapp: WebApp, now: datetime) -> Finding:
    """Return the cause of a pod whose containers cannot start.

    Args:
        pod: the pod.
        template: the pod's spec in the Deployment's template.
        webapp: the WebApp.
        now: the present time.
    """
    scheduled, prepared = condition(pod, SCHEDULED), condition(pod, PREPARED)
    metadata, pending = pod.get("metadata", {}), pod.get("status", {}).get("phase") == "Pending"
    if scheduled.get("status") == "False":
        reason = word(scheduled.get("reason"), "Unschedulable")
        see = f"not scheduled yet. See: {describe_pods(pods_of(webapp))}"
        text = _unscheduled(template, webapp) if reason == "Unschedulable" else see
        return Finding(Cause(Rank.UNSCHEDULED, reason, text, message_of(scheduled, metadata.get("name", ""))))
    scheduler = template.get("schedulerName", _DEFAULT_SCHEDULER)
    if pending and not scheduled and scheduler != _DEFAULT_SCHEDULER:
        text = f"no scheduler {scheduler} has handled them for 2 minutes. Check spec.schedulerName: {edit(webapp)}"
        return _overdue(Cause(Rank.UNSCHEDULED, "Unschedulable", text), metadata.get("creationTimestamp"), now)
    if prepared.get("status") == "False":
        text = "volumes or network have not been ready for 2 minutes. The kubelet retries. "
        advice = [*volume_advice(template), f"See the Events: {describe_pods(pods_of(webapp))}"]
        cause = Cause(Rank.NOT_PREPARED, "ContainerCreating", text + ". ".join(advice))
        return _overdue(cause, prepared.get("lastTransitionTime"), now)
    return Finding()


def pulls_since(pod: Mapping[str, Any], container: str | None) -> datetime | None:
    """Return when the kubelet could first pull the image of a container; None if the pod has no time.

    Scheduling, volumes, network and the init containers before it come first, one after the other.
    """
    init = pod.get("status", {}).get("initContainerStatuses", [])
    names = [each.get("name") for each in init]
    is_init = container in names
    conditions = [condition(pod, each) for each in (START[:2] if is_init else START)]
    times = [each.get("lastTransitionTime") for each in conditions if each.get("status") == "True"]
    states = [each.get("state", {}) for each in (init[: names.index(container)] if is_init else init)]
    times += [state.get(field) for of_one in states for state in of_one.values() for field in START_TIMES]
    times.append(pod.get("metadata", {}).get("creationTimestamp"))
    return max((time for each in times if (time := moment(each)) is not None), default=None)


def _overdue(cause: Cause, since: str | None, now: datetime) -> Finding:
    """Return a cause once it has lasted for too long."""
    late = after(moment(since), PATIENCE)
    if late is None:
        return Finding()
    return Finding(cause) if now >= late else Finding(until=late)


def _unscheduled(template: Mapping[str, Any], webapp: WebApp) -> str:
    fields = ["spec.resources.requests", "spec.nodeSelector"]
    fields += ["spec.affinity"] if "affinity" in template else []
    spread = template.get("topologySpreadConstraints", [])
    if any(each.get("whenUnsatisfiable") == "DoNotSchedule" for each in spread):
        fields.append("spec.topologySpreadConstraints")
    if any({"persistentVolumeClaim", "ephemeral"} & volume.keys() for volume in template.get("volumes", [])):
        fields.append("the claims in spec.volumes")
    advice = f"Add nodes, or check {', '.join(fields)} and spec.tolerations: {edit(webapp)}"
    return f"cannot be scheduled. The scheduler retries. {advice}"


def volume_advice(template: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about volumes that a pod may wait for."""
    if claimed := claims(template):
        yield (
            f"A ReadWriteOnce claim attaches to one node at a time: let one pod use {' and '.join(claimed)} "
            "(spec.replicas 1, spec.rollout.strategy Recreate)"
        )
    if any({"configMap", "secret", "projected"} & volume.keys() for volume in template.get("volumes", [])):
        yield "Check that the ConfigMaps and Secrets in spec.volumes exist, and their keys"


def claims(template: Mapping[str, Any]) -> list[str]:
    """Return the names of the claims in the volumes of a pod."""
    volumes = [volume for volume in template.get("volumes", []) if "persistentVolumeClaim" in volume]
    return [str(volume["persistentVolumeClaim"].get("claimName", "")) for volume in volumes]
