"""Diagnosis of a Deployment's pods that are not ready. Only pods of the newest revision count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import only
from coxswain.kernel.objects.quote import quoted
from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.cause import STABLE_RUN, Cause, Finding, Rank, after, message_of, moment, of_container, word

REVISION = "deployment.kubernetes.io/revision"
"""Annotation of a Deployment and its ReplicaSets with the revision number. The newest has the highest."""
TEMPLATE_HASH = "pod-template-hash"
"""Label of a ReplicaSet and its pods, equal for all pods of a revision."""


ROLLING_OUT = "rolling out: "
"""Prefix of the message of a Deployment during a rollout."""

_CONTAINERS = ("initContainers", "containers")
_STATUSES = ("initContainerStatuses", "containerStatuses")
_CONDITION = ("type", "status", "reason", "message")
_UNREADY = ("image", "started", "restartCount", "state", "lastState")


@dataclass(frozen=True)
class Diagnosis:
    """Cause of missing pods, from the pods of the newest revision."""

    cause: Cause | None = None
    pods: int = 0
    """Number of pods with this cause."""
    of: int = 0
    """Number of pods of the revision."""
    again: datetime | None = None
    """When to repeat the diagnosis without an event."""


def diagnosis(
    deployment: Mapping[str, Any],
    replica_sets: Sequence[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    now: datetime,
) -> Diagnosis:
    """Diagnose the pods of a Deployment's newest revision.

    Args:
        deployment: the Deployment, with its current generation observed by the Deployment controller.
        replica_sets: the ReplicaSets of the Deployment.
        pods: the pods of the WebApp without a deletionTimestamp.
        now: the present time.
    """
    newest = _newest(deployment, replica_sets)
    concerned = [pod for pod in pods if newest and _template_hash(pod) == newest and not _replaced(pod, now)]
    template = deployment.get("spec", {}).get("template", {}).get("spec", {})
    specs = {spec.get("name"): spec for kind in _CONTAINERS for spec in template.get(kind, [])}
    findings = [list(_findings(pod, specs, now)) for pod in concerned]
    again = min((finding.until for of_pod in findings for finding in of_pod if finding.until), default=None)
    causes = [[finding.cause for finding in of_pod if finding.cause] for of_pod in findings]
    first = min((cause for of_pod in causes for cause in of_pod), key=lambda cause: cause.order, default=None)
    if first is None:
        return Diagnosis(again=again)
    kind = (first.reason, first.text)
    same = [of_pod for of_pod in causes if any((cause.reason, cause.text) == kind for cause in of_pod)]
    return Diagnosis(first, len(same), len(concerned), again)


def explained(state: Health, deployment: Mapping[str, Any], result: Diagnosis) -> Health:
    """Return the health of a Deployment that waits for its pods, with the diagnosis added."""
    if result.cause is None:
        return state
    counts = deployment.get("status", {})
    older = counts.get("replicas", 0) > counts.get("updatedReplicas", 0)
    waits = state.message.removesuffix(".")
    if not older:
        waits = waits.removeprefix(ROLLING_OUT)
    pods = f"{result.pods} of {result.of} {'new pods' if older else 'pods'}"
    return replace(
        state,
        level=Level.DEGRADED,
        reason=result.cause.reason if state.level is Level.PROGRESSING else state.reason,
        message=quoted(f"{waits}; {pods}: {result.cause.text}", result.cause.quotation),
    )


def _newest(deployment: Mapping[str, Any], replica_sets: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the template hash of the newest ReplicaSet, or None if the cache lacks it."""
    revision = _revision(deployment)
    return next((_template_hash(each) for each in replica_sets if _revision(each) == revision), None)


def _revision(owner: Mapping[str, Any]) -> str:
    return str(owner.get("metadata", {}).get("annotations", {}).get(REVISION, ""))


def _template_hash(resource: Mapping[str, Any]) -> str | None:
    template_hash: str | None = resource.get("metadata", {}).get("labels", {}).get(TEMPLATE_HASH)
    return template_hash


def _replaced(pod: Mapping[str, Any], now: datetime) -> bool:
    """Tell whether a failed pod is so old that the ReplicaSet has replaced it. It waits for garbage collection."""
    stable_at = _stable_at(pod)
    return pod.get("status", {}).get("phase") == "Failed" and stable_at is not None and now >= stable_at


def _stable_at(pod: Mapping[str, Any]) -> datetime | None:
    """Return the time after which a failed pod counts as replaced."""
    return after(moment(pod.get("metadata", {}).get("creationTimestamp")), STABLE_RUN)


def _findings(pod: Mapping[str, Any], specs: Mapping[Any, Mapping[str, Any]], now: datetime) -> Iterator[Finding]:
    name, status = pod.get("metadata", {}).get("name", ""), pod.get("status", {})
    scheduled = condition(pod, "PodScheduled")
    if status.get("phase") == "Failed":
        cause = Cause(
            Rank.FAILED,
            word(status.get("reason"), "PodFailed"),
            "failed. The ReplicaSet replaces them",
            message_of(status, name),
        )
        yield Finding(cause, _stable_at(pod))
    elif scheduled.get("status") == "False":
        reason = word(scheduled.get("reason"), "Unschedulable")
        yield Finding(Cause(Rank.UNSCHEDULED, reason, _unscheduled(reason), message_of(scheduled, name)))
    else:
        for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            if not container.get("ready"):
                yield of_container(container, specs.get(container.get("name"), {}), name, now)


def _unscheduled(reason: str) -> str:
    if reason != "Unschedulable":
        return "not scheduled yet"
    checks = "Check spec.resources.requests, spec.nodeSelector and spec.tolerations, or add nodes"
    return f"cannot be scheduled. The scheduler retries. {checks}"


def projected_pod(pod: Mapping[str, Any]) -> Manifest:
    """Return the cached fields of a pod. Ready pods need few, to save memory with thousands of pods."""
    metadata, status = pod["metadata"], pod.get("status", {})
    containers = {key: [_container(each) for each in status.get(key, [])] for key in _STATUSES}
    return {
        "metadata": {
            **only(metadata, ("name", "creationTimestamp")),
            "labels": only(metadata.get("labels", {}), (TEMPLATE_HASH,)),
        },
        "status": {
            **only(status, ("phase", "reason", "message")),
            "conditions": [
                only(each, _CONDITION) for each in status.get("conditions", []) if each.get("status") != "True"
            ],
            **containers,
        },
    }


def _container(status: Mapping[str, Any]) -> Manifest:
    kept = only(status, ("name", "ready"))
    return kept if status.get("ready") else {**kept, **only(status, _UNREADY)}
