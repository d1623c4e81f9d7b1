"""Small models of controllers: Deployments to ReplicaSets to pods, the kubelet, the garbage collector, and Gateways."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from model_cluster.api_server.selectors import selects
from model_cluster.chance import Chance
from model_cluster.cluster import JSON, MERGE, Cluster
from model_cluster.objects import Object, Place, controller, is_rolled_out, is_terminating, place
from model_cluster.routing import RouteControllers

MANAGER = "kube-controller-manager"
REVISION = "deployment.kubernetes.io/revision"
HASH = "pod-template-hash"
_DEADLINE_SECONDS = 600.0
_REVISIONS = 10
_OWNERS = ("deployments", "replicasets")
"""Built-in resources whose objects own others."""


class Controllers:
    """Deployment controller, kubelet, garbage collector, and the controllers of HTTPRoutes and Ingresses."""

    def __init__(self, cluster: Cluster, chance: Chance, *, slowest: float) -> None:
        self._cluster = cluster
        self._chance = chance
        self._slowest = slowest
        self._loop = asyncio.get_running_loop()
        self._dirty: set[Place] = set()
        self._collecting = False
        self._progress: dict[str, tuple[object, float]] = {}
        """By uid of a Deployment: its state at the last progress, and the time of it."""
        self._pods = 0
        self._owners = {kind.name: plural for plural, kind in cluster.kinds.items() if kind.custom}
        """Plural names of the custom resources by kind."""
        cluster.listeners.append(self.take)
        self.routes = RouteControllers(cluster, chance, slowest=20 * slowest)

    def take(self, plural: str, change: str, thing: Object) -> None:
        """Handle a change."""
        namespace = place(thing)[0]
        if plural == "deployments" and change != "DELETED":
            self._look_soon(place(thing))
        elif plural == "pods":
            self._look_soon((namespace, (thing["metadata"].get("labels") or {}).get("sim/deployment", "")))
            if change == "ADDED":
                self._loop.call_later(self._chance.delay(0.1, 8.0, "kubelet"), self._run_pod, place(thing))
        elif plural == "replicasets" and change != "MODIFIED":
            owner = controller(thing)
            self._look_soon((namespace, owner.get("name", "")))
        if change == "ADDED" and self._is_orphan(thing):
            self.collect_soon()
        if is_terminating(thing) or (change == "DELETED" and plural in (*self._owners.values(), *_OWNERS)):
            self.collect_soon()

    def _is_orphan(self, thing: Object) -> bool:
        """Return whether an object was created for an already deleted custom resource."""
        owner = controller(thing)
        if owner.get("kind") not in self._owners:
            return False
        owners = self._cluster.objects[self._owners[owner["kind"]]].values()
        return owner["uid"] not in (found["metadata"]["uid"] for found in owners)

    def collect_soon(self) -> None:
        """Schedule the garbage collector."""
        if not self._collecting:
            self._collecting = True
            self._loop.call_later(self._chance.delay(0.02, 5.0, "collector"), self._collect)

    def look_at_all(self) -> None:
        """Reconcile everything after a reset of the history."""
        for where in list(self._cluster.objects.get("deployments", ())):
            self._look_soon(where)
        for where in list(self._cluster.objects.get("pods", ())):
            self._loop.call_later(self._chance.delay(0.1, 8.0, "kubelet"), self._run_pod, where)
        self.routes.look_at_all()
        self.collect_soon()

    def _collect(self) -> None:
        self._collecting = False
        if self._cluster.collect_garbage():
            self.collect_soon()

    def _look_soon(self, where: Place) -> None:
        if where not in self._dirty and self._cluster.get("deployments", where) is not None:
            self._dirty.add(where)
            delay = self._chance.delay(0.005, 5 * self._slowest, "deployment controller")
            self._loop.call_later(delay, self._look, where)

    def _look(self, where: Place) -> None:
        self._dirty.discard(where)
        deployment = self._cluster.get("deployments", where)
        if deployment is None or is_terminating(deployment):
            return
        sets = self._sets(deployment)
        newest = self._newest(deployment, sets)
        if newest is None:
            return  # it was just created, and its event triggers the next look
        self._scale(deployment, newest, sets)
        self._prune(sets)
        self._tell(where, newest)

    def _sets(self, deployment: Object) -> list[Object]:
        """Return the ReplicaSets of a Deployment, after adopting orphans with its labels."""
        namespace = place(deployment)[0]
        selector = deployment["spec"]["selector"]
        found = []
        for (where, name), _ in list(self._cluster.objects["replicasets"].items()):
            thing = self._cluster.objects["replicasets"][where, name]
            owner = controller(thing)
            labels = thing["metadata"].get("labels") or {}
            if where == namespace and not owner and not is_terminating(thing) and selects(selector, labels):
                self._patch("replicasets", thing, {"metadata": {"ownerReferences": [_owner(deployment, "Deployment")]}})
                thing = self._cluster.get("replicasets", place(thing)) or thing
                owner = controller(thing)
            if where == namespace and owner.get("uid") == deployment["metadata"]["uid"] and not is_terminating(thing):
                found.append(thing)
        return found

    def _newest(self, deployment: Object, sets: list[Object]) -> Object | None:
        template = deployment["spec"]["template"]
        hashed = blake2b(json.dumps(template, sort_keys=True).encode(), digest_size=5).hexdigest()
        latest = max((_revision(each) for each in sets), default=0)
        newest = next((each for each in sets if (each["metadata"].get("labels") or {}).get(HASH) == hashed), None)
        if newest is None:
            self._make_set(deployment, hashed, latest + 1)
            return None
        if _revision(newest) < latest:
            newest = self._patch("replicasets", newest, {"metadata": {"annotations": {REVISION: str(latest + 1)}}})
        if newest is not None and _revision(deployment) != _revision(newest):
            self._patch("deployments", deployment, {"metadata": {"annotations": {REVISION: str(_revision(newest))}}})
        return newest

    def _make_set(self, deployment: Object, hashed: str, revision: int) -> None:
        namespace, name = place(deployment)
        template = deployment["spec"]["template"]
        labels = {**(template["metadata"].get("labels") or {}), HASH: hashed, "sim/deployment": name}
        metadata = {
            "name": f"{name}-{hashed}",
            "namespace": namespace,
            "labels": labels,
            "annotations": {REVISION: str(revision)},
            "ownerReferences": [_owner(deployment, "Deployment")],
        }
        own = deployment["spec"]["selector"]
        selector = {**own, "matchLabels": {**(own.get("matchLabels") or {}), HASH: hashed}}
        made = {**template, "metadata": {**template["metadata"], "labels": labels}}
        body = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": metadata,
            "spec": {"replicas": deployment["spec"].get("replicas", 1), "selector": selector, "template": made},
        }
        self._cluster.request(MANAGER, "POST", self._cluster.path("replicasets", namespace), body, query=_BY)
        self._loop.call_later(1.0, self._look_soon, (namespace, name))

    def _scale(self, deployment: Object, newest: Object, sets: list[Object]) -> None:
        wanted = deployment["spec"].get("replicas", 1)
        new = self._pods_of(newest)
        for _ in range(wanted - len(new)):
            self._make_pod(newest)
        for pod in sorted(new, key=_is_ready)[: max(0, len(new) - wanted)]:
            self._delete("pods", pod)
        ready = sum(map(_is_ready, new))
        old = [pod for each in sets if each is not newest for pod in self._pods_of(each)]
        old = [pod for pod in old if controller(pod).get("uid") != newest["metadata"]["uid"]]
        keep = max(0, wanted - ready)
        for pod in sorted(old, key=_is_ready)[: max(0, len(old) - keep)]:
            self._delete("pods", pod)

    def _prune(self, sets: list[Object]) -> None:
        """Delete the oldest ReplicaSets without pods."""
        idle = sorted((each for each in sets if not self._pods_of(each)), key=_revision)
        for each in idle[: max(0, len(idle) - _REVISIONS)]:
            self._delete("replicasets", each)

    def _tell(self, where: Place, newest: Object) -> None:
        deployment = self._cluster.get("deployments", where)
        if deployment is None:
            return
        pods = [pod for each in self._sets(deployment) for pod in self._pods_of(each)]
        updated = [pod for pod in pods if controller(pod).get("uid") == newest["metadata"]["uid"]]
        ready = sum(map(_is_ready, pods))
        status = {
            "observedGeneration": deployment["metadata"].get("generation", 0),
            "replicas": len(pods),
            "updatedReplicas": len(updated),
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        wanted = deployment["spec"].get("replicas", 1)
        available = ready >= wanted
        progressing = self._progressing({**deployment, "status": status}, status)
        conditions = [
            {
                "type": "Available",
                "status": str(available),
                "reason": f"MinimumReplicas{'' if available else 'Un'}available",
                "message": "",
            },
            progressing,
        ]
        live = deployment.get("status", {})
        same = {key: live.get(key, 0) for key in status} == status
        if not same or _shown(live.get("conditions", ())) != _shown(conditions):
            progressing["lastUpdateTime"] = self._update_time(progressing["reason"], live.get("conditions", ()))
            self._patch("deployments", deployment, {"status": {**status, "conditions": conditions}}, "status")

    def _progressing(self, deployment: Object, status: Mapping[str, Any]) -> dict[str, str]:
        uid, now = deployment["metadata"]["uid"], self._loop.time()
        if is_rolled_out(deployment):
            self._progress.pop(uid, None)
            return {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""}
        looks = tuple(status.values())
        before, since = self._progress.get(uid, (None, now))
        if before != looks:
            since = now
            self._loop.call_later(_DEADLINE_SECONDS + 1, self._look_soon, place(deployment))
        self._progress[uid] = looks, since
        if now - since > _DEADLINE_SECONDS:
            message = f'ReplicaSet "{place(deployment)[1]}" has timed out progressing.'
            return {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": message}
        return {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": ""}

    def _update_time(self, reason: str, before: Sequence[Mapping[str, str]]) -> str:
        """Return the lastUpdateTime of the condition Progressing: the same reason gets a new one only with progress."""
        now = self._cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        same = (each for each in before if (each["type"], each.get("reason")) == ("Progressing", reason))
        return now if reason == "ReplicaSetUpdated" else next(same, {}).get("lastUpdateTime", now)

    def _pods_of(self, replica_set: Object) -> list[Object]:
        uid = replica_set["metadata"]["uid"]
        pods = self._cluster.objects["pods"].values()
        return [pod for pod in pods if controller(pod).get("uid") == uid and not is_terminating(pod)]

    def _make_pod(self, replica_set: Object) -> None:
        self._pods += 1
        template, (namespace, name) = replica_set["spec"]["template"], place(replica_set)
        labels = template["metadata"].get("labels") or {}
        metadata = {
            "name": f"{name}-{self._pods}",
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": [_owner(replica_set, "ReplicaSet")],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        self._cluster.request(MANAGER, "POST", self._cluster.path("pods", namespace), body, query=_BY)

    def _run_pod(self, where: Place) -> None:
        """Let the kubelet start a pod, successfully or not."""
        pod = self._cluster.get("pods", where)
        if pod is None or is_terminating(pod) or _is_ready(pod):
            return
        container = pod["spec"]["containers"][0]
        status: dict[str, Any] = {"name": container["name"], "image": container.get("image", ""), "imageID": ""}
        image = str(container.get("image", ""))
        if "missing" in image:
            waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}": {image}: not found'}
            status |= {"ready": False, "restartCount": 0, "state": {"waiting": waiting}}
        elif "crash" in image:
            ended = {"exitCode": 1, "reason": "Error", "message": "cannot open the database"}
            waiting = {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}
            status |= {"ready": False, "restartCount": 3, "state": {"waiting": waiting}}
            status |= {"lastState": {"terminated": ended}}
        else:
            status |= {"ready": True, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
        ready = str(status["ready"])
        conditions = [{"type": "Ready", "status": ready}, {"type": "PodScheduled", "status": "True"}]
        body = {"phase": "Running" if status["ready"] else "Pending", "conditions": conditions}
        self._patch("pods", pod, {"status": {**body, "containerStatuses": [status]}}, "status", who="kubelet")

    def _patch(
        self, plural: str, thing: Object, body: Mapping[str, Any], subresource: str | None = None, *, who: str = MANAGER
    ) -> Object | None:
        address = self._cluster.path(plural, *place(thing), subresource)
        query = {"fieldManager": who}
        response = self._cluster.request(who, "PATCH", address, body, query=query, content_type=MERGE)
        return response.body if response.status < 300 else None

    def _delete(self, plural: str, thing: Object) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        self._cluster.request(MANAGER, "DELETE", self._cluster.path(plural, *place(thing)), body, content_type=JSON)


_BY = {"fieldManager": MANAGER}


def _owner(thing: Object, kind: str) -> dict[str, Any]:
    metadata = thing["metadata"]
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _revision(thing: Object) -> int:
    return int((thing["metadata"].get("annotations") or {}).get(REVISION, 0))


def _is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def _shown(conditions: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (found["type"], found["status"], found.get("reason"), found.get("message", "")) for found in conditions
    )
