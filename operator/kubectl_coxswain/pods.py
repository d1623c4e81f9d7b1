"""The state of a pod and of its containers, in the words of `kubectl get pods`. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from coxswain.kernel.objects.quote import abridged
from kubectl_coxswain.screen import Level

_STARTING = ("ContainerCreating", "PodInitializing")


class ContainerState(NamedTuple):
    """An unready container."""

    name: str
    reason: str
    message: str
    restarts: int


def pod_state(pod: Mapping[str, Any]) -> tuple[str, Level]:
    """Return the state of a pod and its level."""
    status = pod.get("status") or {}
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating", "busy"
    phase = str(status.get("phase", "Unknown"))
    stuck = next((each for each in unready(pod) if each.reason not in ("", "Running", *_STARTING, "Completed")), None)
    if stuck is not None:
        return stuck.reason, "bad"
    if phase == "Running":
        return ("Running", "good") if is_ready(pod) else ("NotReady", "busy")
    if phase == "Pending":
        return next((each.reason for each in unready(pod) if each.reason), _scheduling(status)), "busy"
    return phase, "bad" if phase in ("Failed", "Unknown") else "none"


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Tell whether the condition Ready is True."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def info(pod: Mapping[str, Any]) -> str:
    """Return the number of ready containers and of restarts."""
    # Init containers that go on running are sidecars, and count as `kubectl get pods` counts them.
    sidecars = {each["name"] for each in pod["spec"].get("initContainers", []) if each.get("restartPolicy") == "Always"}
    running = [each for each in _statuses(pod) if each[0] == "containerStatuses" or each[1].get("name") in sidecars]
    total = len(pod["spec"].get("containers", [])) + len(sidecars)
    ready = sum(bool(each.get("ready")) for _, each in running)
    restarts = sum(int(each.get("restartCount", 0)) for _, each in running)
    return f"ready {ready}/{total}" + (f", restarts {restarts}" if restarts else "")


def unready(pod: Mapping[str, Any]) -> Sequence[ContainerState]:
    """Return the containers that are not ready; of init containers those that have not completed."""
    return [
        _state(status)
        for field, status in _statuses(pod)
        if not status.get("ready") and not (field == "initContainerStatuses" and _completed(status))
    ]


def _statuses(pod: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    status = pod.get("status") or {}
    for field in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(field) or []:
            yield field, each


def _completed(status: Mapping[str, Any]) -> bool:
    ended = (status.get("state") or {}).get("terminated")
    return bool(ended and ended.get("exitCode") == 0)


def _state(status: Mapping[str, Any]) -> ContainerState:
    name, restarts, state = str(status.get("name", "")), int(status.get("restartCount", 0)), status.get("state") or {}
    waiting, ended = state.get("waiting"), state.get("terminated")
    if waiting:
        message, reason = str(waiting.get("message", "")), str(waiting.get("reason", ""))
        last = (status.get("lastState") or {}).get("terminated")
        return ContainerState(name, reason, abridged(_joined(message, _end(last) if last else "")), restarts)
    if ended:
        return ContainerState(name, str(ended.get("reason", "Terminated")), _end(ended), restarts)
    return ContainerState(name, "Running" if state.get("running") else "", "runs and is not ready", restarts)


def _end(ended: Mapping[str, Any]) -> str:
    reason = f" ({ended['reason']})" if ended.get("reason") else ""
    return abridged(_joined(f"last exit code {ended.get('exitCode', '?')}{reason}", str(ended.get("message", ""))))


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)


def _scheduling(status: Mapping[str, Any]) -> str:
    scheduled: Mapping[str, Any] = next(
        (each for each in status.get("conditions") or [] if each.get("type") == "PodScheduled"), {}
    )
    return str(scheduled.get("reason") or "Pending") if scheduled.get("status") == "False" else "Pending"
