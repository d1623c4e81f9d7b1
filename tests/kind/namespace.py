"""A namespace with WebApps, accessed like people do: with kubectl."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cluster.kind.kind_cluster import KindCluster
from integration.scene import manifest
from kind.images import V1

READY_SECONDS = 120

PORTS: dict[str, Any] = {
    "ports": [{"name": "http", "containerPort": 8080}],
    "service": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
}


def spec(image: str = V1, **fields: Any) -> dict[str, Any]:
    """Return the smallest spec of a WebApp with a Service, plus the given fields."""
    return {"image": image, **PORTS, **fields}


@dataclass(frozen=True)
class Namespace:
    """One namespace of a cluster."""

    cluster: KindCluster
    name: str

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout_seconds: float = READY_SECONDS) -> str:
        """Run kubectl in the namespace. Raises KubectlError."""
        return self.cluster.kubectl("-n", self.name, *arguments, stdin=stdin, timeout_seconds=timeout_seconds)

    def create(self, *things: Mapping[str, Any]) -> None:
        """Apply any objects."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(things)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(listed))

    def apply(self, spec: Mapping[str, Any], name: str = "web") -> None:
        """Apply a WebApp."""
        self.create(manifest(name, spec))

    def apply_ready(self, spec: Mapping[str, Any], name: str = "web") -> None:
        """Apply a WebApp and wait until it is Ready."""
        self.apply(spec, name)
        self.ready(name)

    def wait(self, condition: str, *things: str, seconds: float = READY_SECONDS) -> None:
        """Wait with kubectl for a condition of the current generation. Raises KubectlError."""
        arguments = ("wait", *things, f"--for={condition}", f"--timeout={seconds:.0f}s")
        self.kubectl(*arguments, timeout_seconds=seconds + 30)

    def ready(self, name: str = "web") -> None:
        """Wait until a WebApp is Ready at its generation."""
        self.wait("condition=Ready", f"webapp/{name}")

    def not_ready(self, reason: str, name: str = "web") -> str:
        """Wait until a WebApp is not Ready with this reason; return the message."""
        path = '{.status.conditions[?(@.type=="Ready")].reason}'
        self.wait(f"jsonpath={path}={reason}", f"webapp/{name}")
        ready = self.condition("Ready", name)
        assert (ready["status"], ready["reason"]) == ("False", reason)
        return str(ready["message"])

    def gone(self, *names: str) -> None:
        """Wait until these pods are deleted."""
        self.wait("delete", *(f"pod/{name}" for name in names))

    def condition(self, kind: str, name: str = "web") -> dict[str, Any]:
        """Return a condition of a WebApp."""
        conditions = self.get("webapp", name)["status"]["conditions"]
        return next(found for found in conditions if found["type"] == kind)

    def get(self, kind: str, name: str = "web") -> dict[str, Any]:
        """Return an object. Raises KubectlError if it does not exist."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def list(self, kinds: str, selector: str = "") -> Sequence[dict[str, Any]]:
        """Return the objects of these kinds that match a label selector."""
        items: list[dict[str, Any]] = json.loads(self.kubectl("get", kinds, "-l", selector, "-o", "json"))["items"]
        return items

    def pods(self, name: str = "web") -> dict[str, dict[str, Any]]:
        """Return a WebApp's pods by name, including terminating ones."""
        return {pod["metadata"]["name"]: pod for pod in self.list("pods", f"coxswain.dev/webapp={name}")}

    def events(self, name: str = "web") -> Sequence[dict[str, Any]]:
        """Return the Events of a WebApp."""
        found = [item for item in self.list("events.v1.events.k8s.io") if item["regarding"]["kind"] == "WebApp"]
        return [item for item in found if item["regarding"]["name"] == name]

    def address(self, name: str = "web") -> str:
        """Return the URL of a WebApp with its Service's full DNS name."""
        return f"http://{name}.{self.name}.svc.cluster.local/"


@contextmanager
def temporary(cluster: KindCluster) -> Iterator[Namespace]:
    """Create a namespace, and delete it at the end of the context without waiting."""
    name = f"test-{uuid.uuid4().hex[:6]}"
    cluster.kubectl("create", "namespace", name)
    try:
        yield Namespace(cluster, name)
    finally:
        cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
