"""Pods as the kubelet and the scheduler leave them, for unit tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
IMAGE = "registry.example/web:2"
READINESS = {"readinessProbe": {"tcpSocket": {"port": "http"}, "timeoutSeconds": 1, "periodSeconds": 10}}
"""Passed or failed for sure 31 s after the start, and a second more for times that are cut to seconds."""


def ago(seconds: float) -> str:
    """A time before now, as the API server writes it."""
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def waiting(reason: str | None = None, message: str | None = None) -> dict[str, Any]:
    """The state of a container that waits."""
    given = {"reason": reason, "message": message}
    return {"waiting": {key: value for key, value in given.items() if value is not None}}


def running(seconds: float) -> dict[str, Any]:
    """The state of a container that has run so long."""
    return {"running": {"startedAt": ago(seconds)}}


def ended(code: int = 1, reason: str = "Error", message: str | None = None, *, ran: float = 2, since: float = 5) -> Any:
    """The state of a container that ended after `ran` seconds, `since` seconds ago."""
    said = {"message": message} if message else {}
    times = {"startedAt": ago(since + ran), "finishedAt": ago(since)}
    return {"terminated": {"exitCode": code, "reason": reason, "containerID": "containerd://1", **said, **times}}


def container(state: Any, last: Any = None, *, restarts: int = 0, name: str = "app", **more: Any) -> dict[str, Any]:
    """The status of a container that is not ready."""
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
    """A pod with these containers."""
    labels = {"coxswain.dev/webapp": "web", "pod-template-hash": revision}
    metadata = {"name": name, "labels": labels, "creationTimestamp": ago(60)}
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": list(containers), **status}}


def unscheduled(message: str, reason: str = "Unschedulable") -> dict[str, Any]:
    """A pod that no node takes."""
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}])


def replica_set(revision: str = "new", number: int = 2) -> dict[str, Any]:
    """A ReplicaSet of a revision."""
    annotations = {"deployment.kubernetes.io/revision": str(number)}
    return {"metadata": {"labels": {"pod-template-hash": revision}, "annotations": annotations}}


def deployment(*, replicas: int = 2, status: Any = None, **spec: Any) -> dict[str, Any]:
    """A Deployment at its second revision, whose container has these fields."""
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
"""One container on its way round a crash loop, from the second end on."""

NOT_FOUND = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "registry.example/web:2": failed to resolve '
    'reference "registry.example/web:2": registry.example/web:2: not found'
)
PULL_LOOP = [
    container(waiting("ErrImagePull", NOT_FOUND)),
    container(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: {NOT_FOUND}')),
]
"""One container whose image can't be pulled."""

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
"""Containers that start in the usual way: the first time, after one end, after a reboot."""
