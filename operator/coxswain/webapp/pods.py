"""Why a Deployment's pods are not ready: those of its newest revision, as the others are on their way out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import only
from coxswain.kernel.objects.quote import quoted
from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.cause import SOUND, Cause, Finding, Rank, after, message_of, moment, of_container, word

REVISION = "deployment.kubernetes.io/revision"
"""Annotation of a Deployment and its ReplicaSets: the number of the revision, the greatest of the newest."""
TEMPLATE_HASH = "pod-template-hash"
"""Label of a ReplicaSet and its pods: the same for the pods of one revision."""


ROLLING_OUT = "rolling out: "
"""The beginning of the message of a Deployment whose rollout goes on."""

_CONTAINERS = ("initContainers", "containers")
_STATUSES = ("initContainerStatuses", "containerStatuses")
_CONDITION = ("type", "status", "reason", "message")
_UNREADY = ("image", "started", "restartCount", "state", "lastState")


@dataclass(frozen=True)
class Diagnosis:
    """What the pods of the newest revision tell."""

    cause: Cause | None = None
    pods: int = 0
    """Pods that have this cause."""
    of: int = 0
    """Pods of the revision."""
    again: datetime | None = None
    """When it may be another one though nothing happens."""


def diagnosis(
    deployment: Mapping[str, Any],
    replica_sets: Sequence[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    now: datetime,
) -> Diagnosis:
    """Return why pods of a Deployment's newest revision are not ready, as far as they tell.

    Args:
        deployment: the Deployment, its present spec seen by its controller.
        replica_sets: those of the Deployment.
        pods: those of the WebApp that are not being deleted.
        now: the present time.
    """
    newest = _newest(deployment, replica_sets)
    concerned = [pod for pod in pods if newest and _template_hash(pod) == newest and not _replaced(pod, now)]
    template = deployment.get("spec", {}).get("template", {}).get("spec", {})
    specs = {spec.get("name"): spec for kind in _CONTAINERS for spec in template.get(kind, [])}
    findings = [list(_findings(pod, specs, now)) for pod in concerned]
    again = min((finding.until for found in findings for finding in found if finding.until), default=None)
    causes = [[finding.cause for finding in found if finding.cause] for found in findings]
    told = min((cause for found in causes for cause in found), key=lambda cause: cause.order, default=None)
    if told is None:
        return Diagnosis(again=again)
    same = [found for found in causes if any((cause.reason, cause.text) == (told.reason, told.text) for cause in found)]
    return Diagnosis(told, len(same), len(concerned), again)


def explained(state: Health, deployment: Mapping[str, Any], found: Diagnosis) -> Health:
    """Return the health of a Deployment that waits for its pods, with what they tell."""
    if found.cause is None:
        return state
    counts = deployment.get("status", {})
    older = counts.get("replicas", 0) > counts.get("updatedReplicas", 0)
    waits = state.message.removesuffix(".")
    if not older:
        waits = waits.removeprefix(ROLLING_OUT)
    pods = f"{found.pods} of {found.of} {'new pods' if older else 'pods'}"
    return replace(
        state,
        level=Level.DEGRADED,
        reason=found.cause.reason if state.level is Level.PROGRESSING else state.reason,
        message=quoted(f"{waits}; {pods}: {found.cause.text}", found.cause.quotation),
    )


def _newest(deployment: Mapping[str, Any], replica_sets: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the template hash of the newest ReplicaSet; None if only older ones were seen so far."""
    revision = _revision(deployment)
    return next((_template_hash(found) for found in replica_sets if _revision(found) == revision), None)


def _revision(owner: Mapping[str, Any]) -> str:
    return str(owner.get("metadata", {}).get("annotations", {}).get(REVISION, ""))


def _template_hash(thing: Mapping[str, Any]) -> str | None:
    found: str | None = thing.get("metadata", {}).get("labels", {}).get(TEMPLATE_HASH)
    return found


def _replaced(pod: Mapping[str, Any], now: datetime) -> bool:
    """Tell whether a pod failed that lived for long: it has a successor by now and only waits to be cleaned up."""
    sound = _sound(pod)
    return pod.get("status", {}).get("phase") == "Failed" and sound is not None and now >= sound


def _sound(pod: Mapping[str, Any]) -> datetime | None:
    """Return the time from which on a pod has lived for long."""
    return after(moment(pod.get("metadata", {}).get("creationTimestamp")), SOUND)


def _findings(pod: Mapping[str, Any], specs: Mapping[Any, Mapping[str, Any]], now: datetime) -> Iterator[Finding]:
    name, status = pod.get("metadata", {}).get("name", ""), pod.get("status", {})
    scheduled = condition(pod, "PodScheduled")
    if status.get("phase") == "Failed":
        cause = Cause(
            Rank.FAILED, word(status.get("reason"), "PodFailed"), "failed and replaced", message_of(status, name)
        )
        yield Finding(cause, _sound(pod))
    elif scheduled.get("status") == "False":
        reason = word(scheduled.get("reason"), "Unschedulable")
        yield Finding(Cause(Rank.UNSCHEDULED, reason, "no node takes it", message_of(scheduled, name)))
    else:
        for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            if not container.get("ready"):
                yield of_container(container, specs.get(container.get("name"), {}), name, now)


def projected_pod(pod: Mapping[str, Any]) -> Manifest:
    """Return what is kept of a pod: of one that is ready next to nothing, since there may be thousands."""
    metadata, status = pod["metadata"], pod.get("status", {})
    containers = {key: [_container(found) for found in status.get(key, [])] for key in _STATUSES}
    return {
        "metadata": {
            **only(metadata, ("name", "creationTimestamp")),
            "labels": only(metadata.get("labels", {}), (TEMPLATE_HASH,)),
        },
        "status": {
            **only(status, ("phase", "reason", "message")),
            "conditions": [
                only(found, _CONDITION) for found in status.get("conditions", []) if found.get("status") != "True"
            ],
            **containers,
        },
    }


def _container(status: Mapping[str, Any]) -> Manifest:
    kept = only(status, ("name", "ready"))
    return kept if status.get("ready") else {**kept, **only(status, _UNREADY)}
