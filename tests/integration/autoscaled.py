"""An autoscaler for the Deployment of a scene, and a history of the Deployment's replicas."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cluster.clients import direct_session
from integration.scene import Scene, eventually

NOTE = "coxswain.dev/replicas"


def autoscaler(target: str = "Deployment", *, least: int = 1, most: int = 8) -> dict[str, Any]:
    """Return an autoscaler that wants one pod per 100 millicores, without delays."""
    version = {"Deployment": "apps/v1", "WebApp": "coxswain.dev/v1"}[target]
    at_once = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}]}
    cpu = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100m"}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "scaler"},
        "spec": {
            "scaleTargetRef": {"apiVersion": version, "kind": target, "name": "web"},
            "minReplicas": least,
            "maxReplicas": most,
            "metrics": [{"type": "Resource", "resource": cpu}],
            "behavior": {"scaleUp": at_once, "scaleDown": at_once},
        },
    }


def replicas(scene: Scene) -> int:
    found: int = scene.get("deployment")["spec"]["replicas"]
    return found


def note(scene: Scene) -> str | None:
    found: str | None = scene.get("deployment")["metadata"].get("annotations", {}).get(NOTE)
    return found


def owners(scene: Scene) -> set[str]:
    """Return the owners of the Deployment's replicas."""
    entries = scene.get("deployment")["metadata"]["managedFields"]
    return {entry["manager"] for entry in entries if "f:replicas" in entry["fieldsV1"].get("f:spec", {})}


def noted(scene: Scene, text: str | None) -> None:
    """Wait until the Deployment has this note, or none."""
    eventually(lambda: (note(scene) or "") == (text or "") or None, f"the note {text}")


def scaled(scene: Scene, count: int) -> None:
    """Wait until `count` pods are ready and the WebApp reports it."""
    eventually(lambda: replicas(scene) == count, f"the Deployment has {count} replicas")
    eventually(lambda: scene.get("webapp")["status"].get("readyReplicas") == count, f"{count} pods are ready")
    scene.ready()


class Counts:
    """The replicas of the Deployment in each of its versions, from a separate watch."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        first = scene.get("deployment")
        self._seen = [first["spec"]["replicas"]]
        self._version = int(first["metadata"]["resourceVersion"])
        cluster = scene.cluster
        self._session = direct_session(cluster.ca_file, cluster.token)
        self._answer = self._session.get(
            f"{cluster.url}/apis/apps/v1/namespaces/{scene.namespace}/deployments",
            params={"watch": "true", "resourceVersion": str(self._version), "timeoutSeconds": "240"},
            stream=True,
            timeout=60,
        )
        assert self._answer.status_code == 200
        self._lines = self._answer.iter_lines(chunk_size=1)

    def so_far(self) -> list[int]:
        """Return the counts in chronological order, up to the current Deployment."""
        now = int(self._scene.get("deployment")["metadata"]["resourceVersion"])
        while self._version < now:
            event = json.loads(next(self._lines))
            count = event["object"]["spec"]["replicas"] if event["type"] != "DELETED" else None
            if count != self._seen[-1]:
                self._seen.append(count)
            self._version = int(event["object"]["metadata"]["resourceVersion"])
        return list(self._seen)


@contextmanager
def refusing_the_note(scene: Scene) -> Iterator[None]:
    """Let the API server refuse the second write of the transfer, which adds the note."""
    group = "admissionregistration.k8s.io/v1"
    name = f"no-note-{scene.namespace}"
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["UPDATE"]}
    noted = f"has(object.metadata.annotations) && '{NOTE}' in object.metadata.annotations"
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"!({noted})", "message": "not yet"}],
        },
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}}
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector},
        },
    }
    scene.create({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})

    def refused() -> bool:
        answer = scene.cluster.kubectl(
            *("--namespace", scene.namespace, "annotate", "deployment/web", f"{NOTE}=x", "--dry-run=server"),
            check=False,
        )
        return "annotated" not in answer

    try:
        eventually(refused, "the policy is in force")
        yield
    finally:
        scene.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)
        eventually(lambda: not refused(), "the policy is no longer in force")
