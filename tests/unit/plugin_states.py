"""WebApps in the states that the plugin shows."""

from typing import Any

from coxswain.webapp.children.deployment_health import deployment_health
from coxswain.webapp.diagnosis.pods import diagnosis, explained
from coxswain.webapp.kinds import DEPLOYMENT, POD, REPLICA_SET
from unit import pod_states
from unit.objects import webapp
from unit.plugin_bench import EVENTS, PluginBench

CREATED = "2026-01-01T00:00:00Z"
CHANGED = "2026-01-01T00:07:30Z"
IMAGE = pod_states.IMAGE
WAITING = pod_states.waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: not found')


def _cause() -> str:
    """Return the operator's message about a rollout whose image cannot be pulled."""
    live = pod_states.deployment(status={"replicas": 2, "updatedReplicas": 1, "readyReplicas": 1})
    new = pod_states.pod(pod_states.container(WAITING))
    found = diagnosis(webapp(), live, [pod_states.replica_set()], [new], pod_states.NOW)
    return f"Deployment web: {explained(deployment_health(live), live, found).message}"


CAUSE = _cause()


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    """Return a condition."""
    return {
        "type": type_,
        "status": status,
        "observedGeneration": 1,
        "lastTransitionTime": CHANGED,
        "reason": reason,
        "message": message,
    }


def reconciled(bench: PluginBench, **status: Any) -> None:
    """Report on the present generation, without children."""
    generation = bench.raw["metadata"]["generation"]
    bench.status(**{"observedGeneration": generation, "conditions": [condition("Ready", "True", "Ready")], **status})


def healthy(bench: PluginBench, **status: Any) -> None:
    """Report a healthy WebApp with two pods."""
    _report(
        bench, "Healthy", [condition("Ready", "True", "Ready", "all children match the spec and are healthy")], status
    )
    replica_set(bench, "web-5d9c", 1, 2)
    for name in ("web-5d9c-aaaaa", "web-5d9c-bbbbb"):
        pod(bench, name, "web-5d9c", {"running": {"startedAt": CREATED}}, ready=True)


def failing(bench: PluginBench, **status: Any) -> None:
    """Report a rollout whose image cannot be pulled."""
    conditions = [
        condition("Ready", "False", "ImagePullBackOff", CAUSE),
        condition("Progressing", "True", "ImagePullBackOff", CAUSE),
        condition("Available", "True", "MinimumReplicasAvailable"),
        condition("Stalled", "False", "NotStalled"),
    ]
    _report(bench, "Degraded", conditions, status, CAUSE.partition(": ")[2])
    replica_set(bench, "web-5d9c", 1, 1)
    replica_set(bench, "web-77aa", 2, 1, ready=0)
    pod(bench, "web-5d9c-aaaaa", "web-5d9c", {"running": {"startedAt": CREATED}}, ready=True)
    pod(bench, "web-77aa-ccccc", "web-77aa", WAITING, ready=False)
    event(bench, "WebApp", "web", "ImagePullBackOff", CAUSE)
    event(bench, "WebApp", "other", "Failed", "an Event of another WebApp")
    text = f'Failed to pull image "{IMAGE}": not found'
    for count in (1, 3):
        event(bench, "Pod", "web-77aa-ccccc", "Failed", text, count=count)


def event(bench: PluginBench, kind: str, name: str, reason: str, message: str, *, count: int = 1) -> None:
    """Add a Warning Event."""
    number = len(bench.kubectl.more[EVENTS])
    bench.kubectl.more[EVENTS].append(
        {
            "metadata": {"name": f"event-{number}", "namespace": "shop", "creationTimestamp": CREATED},
            "involvedObject": {"kind": kind, "name": name, "namespace": "shop"},
            "type": "Warning",
            "reason": reason,
            "message": message,
            "count": count,
            "lastTimestamp": CHANGED,
        }
    )


def _report(
    bench: PluginBench, health: str, conditions: list[dict[str, Any]], status: dict[str, Any], message: str = ""
) -> None:
    deployment: dict[str, Any] = {"kind": "Deployment", "name": "web", "health": health}
    children = [
        {"kind": "ServiceAccount", "name": "web", "health": "Healthy"},
        {"kind": "Service", "name": "web", "health": "Healthy"},
        {**deployment, "message": message} if message else deployment,
    ]
    counts = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}
    rolled = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    bench.model.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": rolled})
    fields = {"observedGeneration": 1, "conditions": conditions, "children": children, "selector": "a=b"}
    bench.status(**{**fields, **counts, **status})


def replica_set(bench: PluginBench, name: str, revision: int, replicas: int, ready: int | None = None) -> None:
    """Create a ReplicaSet of the Deployment."""
    deployment = bench.model.request("GET", DEPLOYMENT.path("shop", "web"), None, "").body
    labels = {"coxswain.dev/webapp": "web", "pod-template-hash": name.partition("-")[2]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": IMAGE}]}}
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [_owner("apps/v1", "Deployment", deployment)],
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }
    stored = bench.model.post(REPLICA_SET.path("shop"), made).body
    status = {"replicas": replicas, "readyReplicas": replicas if ready is None else ready}
    path = REPLICA_SET.path("shop", stored["metadata"]["name"], "status")
    assert bench.model.patch(path, {"status": status}).status == 200


def pod(bench: PluginBench, name: str, of: str, state: dict[str, Any], *, ready: bool, restarts: int = 0) -> None:
    """Create a pod of a ReplicaSet."""
    owner = bench.model.request("GET", REPLICA_SET.path("shop", of), None, "").body
    labels = owner["metadata"]["labels"]
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [_owner("apps/v1", "ReplicaSet", owner)]},
        "spec": {"containers": [{"name": "app", "image": IMAGE}]},
    }
    bench.model.post(POD.path("shop"), made)
    container = {
        "name": "app",
        "image": IMAGE,
        "imageID": "",
        "ready": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": {},
    }
    status = {
        "phase": "Running" if ready else "Pending",
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [container],
    }
    assert bench.model.patch(POD.path("shop", name, "status"), {"status": status}).status == 200


def _owner(version: str, kind: str, owner: dict[str, Any]) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"], "controller": True}
