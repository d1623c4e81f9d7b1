"""Diagnosis of a Deployment's pods that are not ready. Only pods of the newest revision count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from coxswain.kernel.objects.manifests import Manifest, condition
from coxswain.kernel.objects.projection import only
from coxswain.kernel.objects.quote import quoted
from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.diagnosis.cause import Cause, Finding, Rank, message_of, word
from coxswain.webapp.diagnosis.commands import describe_pods, edit, pods_of
from coxswain.webapp.diagnosis.container_state import MAIN, STABLE_RUN, Container, of_container
from coxswain.webapp.diagnosis.pod_start import INITIALIZED, START, START_TIMES, of_start, pulls_since
from coxswain.webapp.identity import CONTAINER
from coxswain.webapp.spec import WebApp
from coxswain.webapp.times import after, moment

REVISION = "deployment.kubernetes.io/revision"
"""Annotation of a Deployment and its ReplicaSets with the revision number. The newest has the highest."""
TEMPLATE_HASH = "pod-template-hash"
"""Label of a ReplicaSet and its pods, equal for all pods of a revision."""


ROLLING_OUT = "rolling out: "
"""Prefix of the message of a Deployment during a rollout."""

END = timedelta(seconds=30)
"""Time after the grace period of a pod for the kubelet to report its end."""

_ENDED = ("Succeeded", "Failed")
_CONTAINERS = ("initContainers", "containers")
_CONDITION = ("type", "status", "reason", "message")
_UNREADY = ("image", "started", "restartCount", "state", "lastState")


@dataclass(frozen=True)
class Diagnosis:
    """Cause of missing pods, from the pods of the newest revision."""

    cause: Cause | None = None
    pods: tuple[str, ...] = ()
    """Names of the pods with this cause."""
    of: int = 0
    """Number of pods of the revision."""
    until: datetime | None = None
    """When to repeat the diagnosis without an event."""
    failed: bool = False
    """Whether all pods have a cause that no retry resolves."""


def diagnosis(
    webapp: WebApp,
    deployment: Mapping[str, Any],
    replica_sets: Sequence[Mapping[str, Any]],
    pods: Sequence[Mapping[str, Any]],
    now: datetime,
) -> Diagnosis:
    """Diagnose the pods of a Deployment's newest revision.

    Args:
        webapp: the WebApp.
        deployment: the Deployment, with its current generation observed by the Deployment controller.
        replica_sets: the ReplicaSets of the Deployment.
        pods: the pods of the WebApp without a deletionTimestamp.
        now: the present time.
    """
    concerned = [pod for pod in newest_pods(deployment, replica_sets, pods) if not _replaced(pod, now)]
    template = deployment.get("spec", {}).get("template", {}).get("spec", {})
    containers = _containers(webapp, template)
    findings = [list(_findings(pod, template, containers, webapp, now)) for pod in concerned]
    until = min((finding.until for of_pod in findings for finding in of_pod if finding.until), default=None)
    causes = [finding.cause for of_pod in findings for finding in of_pod if finding.cause]
    first = min(causes, key=lambda cause: cause.order, default=None)
    if first is None:
        return Diagnosis(until=until)
    same = [(pod, found) for pod, of_pod in zip(concerned, findings, strict=True) for found in _same(first, of_pod)]
    names = tuple(sorted(str(pod.get("metadata", {}).get("name", "")) for pod, _ in same))
    final_at = _latest([found.final_at for _, found in same]) if len(same) == len(concerned) else None
    failed = final_at is not None and final_at <= now
    if final_at is not None and not failed:
        until = min(final_at, until or final_at)
    return Diagnosis(first, names, len(concerned), until, failed)


def _same(cause: Cause, findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the finding of a pod with this cause, if it has one."""
    return [each for each in findings if each.cause is not None and each.cause.kind == cause.kind][:1]


def _latest(times: Sequence[datetime | None]) -> datetime | None:
    """Return the latest time; None if one is None."""
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) else None


def awaited_end(
    webapp: WebApp, deployment: Mapping[str, Any], terminating: Sequence[Mapping[str, Any]], now: datetime
) -> Diagnosis:
    """Diagnose the old pods of a Deployment with the strategy Recreate: its new pods start only after their end.

    The kubelet of a lost node never reports an end. The Deployment controller counts no progress deadline meanwhile.

    Args:
        webapp: the WebApp.
        deployment: the Deployment.
        terminating: the pods of the WebApp with a deletionTimestamp.
        now: the present time.
    """
    strategy = deployment.get("spec", {}).get("strategy", {})
    if strategy.get("type") != "Recreate" or deployment.get("status", {}).get("updatedReplicas"):
        return Diagnosis()
    awaited = [pod for pod in terminating if pod.get("status", {}).get("phase") not in _ENDED]
    ends = {pod["metadata"]["name"]: after(moment(pod["metadata"].get("deletionTimestamp")), END) for pod in awaited}
    late = sorted(name for name, end in ends.items() if end is not None and end <= now)
    until = min((end for end in ends.values() if end is not None and end > now), default=None)
    if not late:
        return Diagnosis(until=until)
    problem = f"have not ended {END.seconds} s after their grace period"
    effect = "With spec.rollout.strategy Recreate, new pods start after the end of the old ones"
    text = f"{problem}. {effect}. Check the nodes of these: {describe_pods(pods_of(webapp))}"
    return Diagnosis(Cause(Rank.NOT_ENDED, "OldPodsTerminating", text), tuple(late), len(awaited), until)


def explained(state: Health, deployment: Mapping[str, Any], result: Diagnosis) -> Health:
    """Return the health of a Deployment that waits for its pods, with the diagnosis added."""
    if result.cause is None:
        return state
    counts = deployment.get("status", {})
    older = counts.get("replicas", 0) > counts.get("updatedReplicas", 0)
    waits = state.message.removesuffix(".")
    if not older:
        waits = waits.removeprefix(ROLLING_OUT)
    pods = f"{len(result.pods)} of {result.of} {'new pods' if older else 'pods'}"
    return replace(
        state,
        level=Level.DEGRADED,
        reason=result.cause.reason if state.level is Level.PROGRESSING else state.reason,
        failed=state.failed or result.failed,
        message=quoted(f"{waits}; {pods}: {result.cause.text}", result.cause.quotation),
    )


def newest_of(deployment: Mapping[str, Any], replica_sets: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the newest ReplicaSet of a Deployment; an empty mapping if the cache lacks it."""
    revision = _revision(deployment)
    return next((each for each in replica_sets if _revision(each) == revision), {})


def newest_pods(
    deployment: Mapping[str, Any], replica_sets: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the pods of a Deployment's newest revision; none if the cache lacks its ReplicaSet."""
    newest = _template_hash(newest_of(deployment, replica_sets))
    return [pod for pod in pods if newest and _template_hash(pod) == newest]


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


def _containers(webapp: WebApp, template: Mapping[str, Any]) -> dict[Any, Container]:
    """Return the containers of a pod template by name, with their places in the WebApp."""
    fields = {spec.get("name"): spec for kind in _CONTAINERS for spec in template.get(kind, [])}
    pods, change = pods_of(webapp), edit(webapp)
    found = {name: Container(spec, pods=pods) for name, spec in fields.items()}
    found[CONTAINER] = Container(fields.get(CONTAINER, {}), MAIN, pods=pods, edit=change)
    for each in webapp.spec.get("initContainers", []):
        path = f"{MAIN}.initContainers[name={each['name']}]"
        found[each["name"]] = Container(fields.get(each["name"], {}), path, "init container", pods, change)
    for each in webapp.spec.get("sidecars", []):
        path = f"{MAIN}.sidecars[name={each['name']}]"
        found[each["name"]] = Container(fields.get(each["name"], {}), path, "sidecar", pods, change)
    return found


def _findings(
    pod: Mapping[str, Any],
    template: Mapping[str, Any],
    containers: Mapping[Any, Container],
    webapp: WebApp,
    now: datetime,
) -> Iterator[Finding]:
    name, status, pods = pod.get("metadata", {}).get("name", ""), pod.get("status", {}), pods_of(webapp)
    start = of_start(pod, template, webapp, now)
    if status.get("phase") == "Failed":
        cause = Cause(
            Rank.FAILED,
            word(status.get("reason"), "PodFailed"),
            f"failed. The ReplicaSet replaces them. See: {describe_pods(pods)}",
            message_of(status, name),
        )
        yield Finding(cause, _stable_at(pod))
    elif start.cause is not None:
        yield start
    else:
        yield start
        for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            if not container.get("ready"):
                known = containers.get(container.get("name"), Container(pods=pods))
                yield of_container(container, known, name, now, pulls_since=pulls_since(pod, container.get("name")))


def projected_pod(pod: Mapping[str, Any]) -> Manifest:
    """Return the cached fields of a pod. Ready pods need few, to save memory with thousands of pods."""
    metadata, status = pod["metadata"], pod.get("status", {})
    pending = status.get("phase") == "Pending"
    starting = pending and condition(pod, INITIALIZED).get("status") != "True"
    init = [_init_container(each) if starting else _container(each) for each in status.get("initContainerStatuses", [])]
    conditions = status.get("conditions", [])
    return {
        "metadata": {
            **only(metadata, ("name", "creationTimestamp", "deletionTimestamp")),
            "labels": only(metadata.get("labels", {}), (TEMPLATE_HASH,)),
        },
        "status": {
            **only(status, ("phase", "reason", "message")),
            "conditions": [_condition(each) for each in conditions if _is_kept(each, pending=pending)],
            "initContainerStatuses": init,
            "containerStatuses": [_container(each) for each in status.get("containerStatuses", [])],
        },
    }


def _container(status: Mapping[str, Any]) -> Manifest:
    kept = only(status, ("name", "ready"))
    return kept if status.get("ready") else {**kept, **only(status, _UNREADY)}


def _init_container(status: Mapping[str, Any]) -> Manifest:
    """Keep the times of a ready init container: the next one starts after it."""
    kept = _container(status)
    if not status.get("ready"):
        return kept
    return {**kept, "state": {name: only(state, START_TIMES) for name, state in status.get("state", {}).items()}}


def _is_kept(found: Mapping[str, Any], *, pending: bool) -> bool:
    return found.get("status") != "True" or (pending and found.get("type") in START)


def _condition(found: Mapping[str, Any]) -> Manifest:
    return only(found, (*_CONDITION, "lastTransitionTime") if found.get("type") in START else _CONDITION)
