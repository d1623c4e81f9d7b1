"""Children created by other tools, and a check that a Service always has ready endpoints."""

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from integration.scene import CHILDREN, Scene, eventually

ADOPT = {"coxswain.dev/adopt": "web"}
OUR_LABEL = "coxswain.dev/webapp"


TOOLS: dict[str, tuple[str, ...]] = {
    "kubectl create": ("create",),
    "kubectl apply": ("apply",),
    "kubectl apply --server-side": ("apply", "--server-side"),
    "helm": ("create", "--field-manager=helm"),
}
"""The command of each tool to create an object; all but the third leave managedFields entries of operation Update."""


def learned(scene: Scene, spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the children of a WebApp with this spec by kind, as another tool might have created them."""
    scene.apply_ready(spec=spec)
    children = {kind: _bare(whole(scene, kind)) for kind in CHILDREN}
    scene.kubectl("delete", "webapp", "web")
    gone = (*CHILDREN, "replicaset", "pod")
    eventually(lambda: not any(scene.names(kind) for kind in gone), "the children are gone")
    return children


def whole(scene: Scene, kind: str) -> dict[str, Any]:
    """Return a child of the WebApp `web` with apiVersion and kind, which items of a list lack."""
    return scene.get(kind, scene.child(kind)["metadata"]["name"])


def _bare(child: Mapping[str, Any]) -> dict[str, Any]:
    bare = copy.deepcopy({key: value for key, value in child.items() if key != "status"})
    bare["metadata"] = {"name": child["metadata"]["name"]}
    for name in ("clusterIP", "clusterIPs"):
        bare.get("spec", {}).pop(name, None)
    return bare


def put(scene: Scene, thing: Mapping[str, Any], tool: str, annotations: Mapping[str, str] = ADOPT) -> dict[str, Any]:
    """Create an object with a tool and annotations; return it once a Deployment's pods are available."""
    made = copy.deepcopy(dict(thing))
    made["metadata"]["annotations"] = dict(annotations)
    scene.kubectl(*TOOLS[tool], "-f", "-", input=json.dumps(made))
    kind, name = made["kind"].lower(), made["metadata"]["name"]
    if kind == "deployment":

        def rolled_out() -> bool:
            found = scene.get(kind, name)
            status, wanted = found.get("status", {}), found["spec"]["replicas"]
            observed = status.get("observedGeneration") == found["metadata"]["generation"]
            return bool(observed and status.get("availableReplicas", 0) == wanted == status.get("updatedReplicas", 0))

        eventually(rolled_out, f"{name} is rolled out")
    return scene.get(kind, name)


def pod_uids(scene: Scene, selector: str) -> set[str]:
    """Return the uids of the existing pods that are not terminating."""
    pods = scene.list("pod", selector)
    return {pod["metadata"]["uid"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def command_in(message: str) -> list[str]:
    """Return the arguments of the kubectl command in a message."""
    found = re.search(r"kubectl ((?:annotate|delete) .*)", message)
    assert found is not None, message
    return found[1].split()


class Endpoints:
    """The endpoints of the Service `web`."""

    def __init__(self, scene: Scene, expected: int) -> None:
        """Wait until there are `expected` ready endpoints."""
        self._api = scene.cluster.pykube()
        self._namespace = scene.namespace
        eventually(lambda: self.now() == expected, f"the Service has {expected} endpoints")

    def now(self) -> int:
        """Return the number of ready endpoints; `fewest` counts from now on."""
        listed = self._get("").json()
        self._version = listed["metadata"]["resourceVersion"]
        self._slices = {item["metadata"]["name"]: item for item in listed["items"]}
        return self._ready()

    def _get(self, more: str) -> Any:
        answer = self._api.get(
            version="discovery.k8s.io/v1",
            namespace=self._namespace,
            url=f"endpointslices?labelSelector=kubernetes.io/service-name=web{more}",
        )
        answer.raise_for_status()
        return answer

    def fewest(self) -> int:
        """Return the minimum number of ready endpoints so far."""
        answer = self._get(f"&watch=true&timeoutSeconds=1&resourceVersion={self._version}")
        counts = [self._ready()]
        for line in answer.text.splitlines():
            event = json.loads(line)
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
            if event["type"] == "DELETED":
                self._slices.pop(event["object"]["metadata"]["name"], None)
            else:
                self._slices[event["object"]["metadata"]["name"]] = event["object"]
            counts.append(self._ready())
        return min(counts)

    def _ready(self) -> int:
        return sum(
            endpoint["conditions"].get("ready", False)
            for found in self._slices.values()
            for endpoint in found.get("endpoints") or []
        )


def relabelled(
    deployment: Mapping[str, Any], selector: Mapping[str, str], change: Callable[[dict[str, str]], dict[str, str]]
) -> dict[str, Any]:
    """Return a Deployment with another selector and other pod labels."""
    found = copy.deepcopy(dict(deployment))
    found["spec"]["selector"] = {"matchLabels": dict(selector)}
    metadata = found["spec"]["template"]["metadata"]
    metadata["labels"] = change(metadata["labels"])
    return found
