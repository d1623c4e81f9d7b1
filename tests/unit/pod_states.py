"""Pods in states produced by the kubelet and the scheduler, for unit tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

PODS = "-l coxswain.dev/webapp=web -n shop"
"""The options of kubectl that select the pods."""
EDIT = "kubectl edit webapp web -n shop"
"""The command that changes the WebApp."""
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
IMAGE = "registry.example/web:2"
READINESS: dict[str, Any] = {
    "readinessProbe": {"tcpSocket": {"port": "http"}, "timeoutSeconds": 1, "periodSeconds": 10}
}
"""Long enough to fail 31 s after the start for certain: one second is added for times truncated to seconds."""


def ago(seconds: float) -> str:
    """Return a time before now, in the API server's format."""
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def waiting(reason: str | None = None, message: str | None = None) -> dict[str, Any]:
    """Return the state of a waiting container."""
    given = {"reason": reason, "message": message}
    return {"waiting": {key: value for key, value in given.items() if value is not None}}


def running(seconds: float) -> dict[str, Any]:
    """Return the state of a container that has run for some seconds."""
    return {"running": {"startedAt": ago(seconds)}}


def ended(code: int = 1, reason: str = "Error", message: str | None = None, *, ran: float = 2, since: float = 5) -> Any:
    """Return the state of a container that ended after `ran` seconds, `since` seconds ago."""
    said = {"message": message} if message else {}
    times = {"startedAt": ago(since + ran), "finishedAt": ago(since)}
    return {"terminated": {"exitCode": code, "reason": reason, "containerID": "containerd://1", **said, **times}}


def container(state: Any, last: Any = None, *, restarts: int = 0, name: str = "app", **more: Any) -> dict[str, Any]:
    """Return the status of a container that is not ready."""
    return {
        "name": name,
        "image": f"docker.io/library/{IMAGE}",
        "imageID": "",
        "ready": False,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
        **more,
    }


def pod(*containers: dict[str, Any], name: str = "web-new-1", revision: str = "new", **status: Any) -> dict[str, Any]:
    """Return a pod with these containers."""
    labels = {"coxswain.dev/webapp": "web", "pod-template-hash": revision}
    metadata = {"name": name, "labels": labels, "creationTimestamp": ago(60)}
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": list(containers), **status}}


def ending(seconds: float, **status: Any) -> dict[str, Any]:
    """Return an old pod whose grace period ended some seconds ago."""
    found = pod(name="web-old-1", revision="old", **{"phase": "Running", **status})
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": ago(seconds)}}


def unscheduled(message: str, reason: str = "Unschedulable") -> dict[str, Any]:
    """Return a pod that fits on no node."""
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}])


def replica_set(revision: str = "new", number: int = 2) -> dict[str, Any]:
    """Return a ReplicaSet of a revision."""
    annotations = {"deployment.kubernetes.io/revision": str(number)}
    return {"metadata": {"labels": {"pod-template-hash": revision}, "annotations": annotations}}


def deployment(*, replicas: int = 2, status: Any = None, **spec: Any) -> dict[str, Any]:
    """Return a Deployment at its second revision, with these fields in its container."""
    template = {"spec": {"containers": [{"name": "app", "image": IMAGE, **spec}]}}
    return {
        "kind": "Deployment",
        "metadata": {"generation": 2, "annotations": {"deployment.kubernetes.io/revision": "2"}},
        "spec": {"replicas": replicas, "template": template},
        "status": {"observedGeneration": 2, **(status or {})},
    }


CRASH = "2026-01-01T11:59:00Z starting\n2026-01-01T11:59:01Z panic: no DATABASE_URL\n"
CRASH_LOOP = [
    container(ended(message=CRASH), ended(message=CRASH), restarts=1),
    container(
        waiting("CrashLoopBackOff", "back-off 10s restarting failed container=app pod=web-new-1_shop(7f3e)"),
        ended(message=CRASH),
        restarts=1,
    ),
    container(waiting(), ended(message=CRASH), restarts=2),
    container(running(1), ended(message=CRASH), restarts=2),
    container(running(50), ended(message=CRASH, ran=1), restarts=2),
    container(ended(message=CRASH, ran=50), ended(message=CRASH), restarts=2),
    container(
        waiting("CrashLoopBackOff", "back-off 20s restarting failed container=app pod=web-new-1_shop(7f3e)"),
        ended(message=CRASH, ran=50),
        restarts=2,
    ),
    container(
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=app pod=web-new-1_shop(7f3e)"),
        ended(message=CRASH),
        restarts=9,
    ),
]
"""The states of a container in a crash loop, from its second exit on."""

NOT_FOUND = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "registry.example/web:2": failed to resolve '
    'reference "registry.example/web:2": registry.example/web:2: not found'
)
PULL_LOOP = [
    container(waiting("ErrImagePull", NOT_FOUND)),
    container(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: {NOT_FOUND}')),
]
"""The states of a container whose image cannot be pulled."""

STARTS = [
    container(waiting("ContainerCreating")),
    container(waiting("PodInitializing")),
    container(waiting()),
    container(running(5)),
    container(running(31)),
    container(ended(since=0)),
    container(waiting(), ended(since=1), restarts=1),
    container(running(5), ended(), restarts=1),
    container(ended(code=143, ran=86400, since=1), restarts=3),
    container(running(5), ended(code=255, reason="Unknown", ran=86400), restarts=4),
    container(
        running(5),
        {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}},
        restarts=4,
    ),
]
"""Containers in a usual start: the first one, one after an exit, and one after a reboot."""
