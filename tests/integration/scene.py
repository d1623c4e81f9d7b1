"""A namespace with WebApps, accessed like a user does: with kubectl and pykube, never through the operator's code."""

import builtins
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from cluster import AuditLog, ControlPlane
from cluster.audit import AuditEvent
from cluster.operator_process import OperatorProcess

T = TypeVar("T")

OPERATOR = "system:serviceaccount:coxswain-system:coxswain"
DEADLINE_SECONDS = 40.0
"""Longer than a delay of the operator, or else shorter (`tests/unit/test_deadlines.py`): most waits take a second."""

SPEC: dict[str, Any] = {
    "image": "registry.example/web:1",
    "runAsUser": 1000,
    "ports": [{"name": "http", "containerPort": 8080}],
    "config": {"GREETING": "hello"},
}
"""A WebApp with one replica and four children."""

CHILDREN = ("serviceaccount", "configmap", "service", "deployment")
GUARDS = ("networkpolicy", "poddisruptionbudget", "horizontalpodautoscaler")
"""Kinds of children that exist on demand, or with more than one replica."""

_ADDRESSES = {
    "webapp": ("coxswain.dev/v1", "webapps"),
    "serviceaccount": ("v1", "serviceaccounts"),
    "configmap": ("v1", "configmaps"),
    "service": ("v1", "services"),
    "pod": ("v1", "pods"),
    "deployment": ("apps/v1", "deployments"),
    "replicaset": ("apps/v1", "replicasets"),
    "controllerrevision": ("apps/v1", "controllerrevisions"),
    "networkpolicy": ("networking.k8s.io/v1", "networkpolicies"),
    "poddisruptionbudget": ("policy/v1", "poddisruptionbudgets"),
    "horizontalpodautoscaler": ("autoscaling/v2", "horizontalpodautoscalers"),
    "httproute": ("gateway.networking.k8s.io/v1", "httproutes"),
    "ingress": ("networking.k8s.io/v1", "ingresses"),
    "event": ("events.k8s.io/v1", "events"),
}
"""Kinds read with pykube, which is faster than starting kubectl: apiVersion and plural by kind."""


def manifest(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a WebApp."""
    return {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": {"name": name}, "spec": dict(spec)}


_VOLATILE = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


def masked(child: Mapping[str, Any]) -> dict[str, Any]:
    """Return a child without the fields that differ between objects and between writes."""
    metadata = {key: value for key, value in child["metadata"].items() if key not in _VOLATILE}
    metadata["ownerReferences"] = [
        {key: value for key, value in reference.items() if key != "uid"}
        for reference in metadata.get("ownerReferences", [])
    ]
    revision = "deployment.kubernetes.io/revision"
    metadata["annotations"] = {key: value for key, value in metadata.get("annotations", {}).items() if key != revision}
    rest = {key: value for key, value in child.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    if "spec" in rest:
        rest["spec"] = {key: value for key, value in rest["spec"].items() if key not in ("clusterIP", "clusterIPs")}
    return {**rest, "metadata": metadata}


def eventually(check: Callable[[], T | None], what: str, timeout: float = DEADLINE_SECONDS, pause: float = 0.05) -> T:
    """Return the first true result of a check; fail with its last result after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout:.0f} s; the last result was {value!r}")
        time.sleep(pause)


def _is_ready(webapp: Mapping[str, Any]) -> bool:
    status = webapp.get("status", {})
    conditions = {found["type"]: found["status"] for found in status.get("conditions", [])}
    return status.get("observedGeneration") == webapp["metadata"]["generation"] and conditions.get("Ready") == "True"


CONFLICTS_LIMIT = 10
"""The writes of one object that the writes of others may refuse: a rollout has up to three, a write war more."""


def _named(event: AuditEvent) -> str:
    return f"{event.verb} {event.resource}" + (f"/{event.subresource}" if event.subresource else "")


def _without_conflicts(sent: Sequence[AuditEvent]) -> Counter[str]:
    """Return the requests, without writes answered by 409 and without as many reads of the object and of the WebApp."""
    refused = Counter((event.resource, event.name) for event in sent if event.code == 409)
    assert all(count <= CONFLICTS_LIMIT for count in refused.values()), f"too many conflicts: {refused}"
    requests = Counter(_named(event) for event in sent if event.code != 409)
    for (resource, _), count in refused.items():
        requests -= Counter({f"get {resource}": count, "get webapps": count})
    return requests


class Scene:
    """The namespace of one test."""

    def __init__(self, cluster: ControlPlane, namespace: str, operator: OperatorProcess) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.operator = operator
        self._api = cluster.pykube()

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - as subprocess.run calls it
        """Run kubectl in the namespace."""
        return self.cluster.kubectl("--namespace", self.namespace, *arguments, input=input)

    def apply(self, name: str = "web", spec: Mapping[str, Any] = SPEC) -> None:
        """Apply a WebApp with kubectl."""
        self.create(manifest(name, spec))

    def apply_all(self, specs: Mapping[str, Mapping[str, Any]]) -> None:
        """Server-side apply many WebApps with pykube: kubectl sends at most ten requests a second."""
        for name, spec in specs.items():
            self._api.patch(
                version="coxswain.dev/v1",
                namespace=self.namespace,
                url=f"webapps/{name}",
                params={"fieldManager": "scene", "force": "true"},
                headers={"Content-Type": "application/apply-patch+yaml"},
                data=json.dumps(manifest(name, spec)),
            ).raise_for_status()

    def create(self, thing: Mapping[str, Any]) -> None:
        """Apply any object with kubectl."""
        self.kubectl("apply", "-f", "-", input=json.dumps(thing))

    def send(self, method: str, kind: str, path: str = "", thing: Any = None, content_type: str = "json") -> Any:
        """Send a request without kubectl, which takes 0.1 s to start: for tests with hundreds of changes."""
        version, plural = _ADDRESSES[kind]
        return self._api.request(
            method=method,
            version=version,
            namespace=self.namespace,
            url=plural + path,
            headers={"Content-Type": f"application/{content_type}"},
            data=None if thing is None else json.dumps(thing),
        )

    def json_patch(self, kind: str, *operations: Mapping[str, Any], name: str = "web") -> None:
        """Change an object by a JSON Patch with kubectl."""
        self.kubectl("patch", kind, name, "--type=json", "--patch", json.dumps(operations))

    def patch(self, kind: str, patch: Mapping[str, Any], name: str = "web") -> None:
        """Merge a patch into an object with kubectl."""
        self.kubectl("patch", kind, name, "--type=merge", "--patch", json.dumps(patch))

    def patch_status(self, kind: str, status: Mapping[str, Any], name: str) -> None:
        """Merge a patch into an object's status with kubectl, like a kubelet or a controller."""
        patch = json.dumps({"status": status})
        self.kubectl("patch", kind, name, "--subresource=status", "--type=merge", "--patch", patch)

    def apply_ready(self, name: str = "web", spec: Mapping[str, Any] = SPEC) -> dict[str, Any]:
        """Apply a WebApp with kubectl, and wait until it is Ready at its generation."""
        self.apply(name, spec)
        return self.ready(name)

    def find(self, kind: str, name: str = "web") -> dict[str, Any] | None:
        """Return an object, or None."""
        answer = self._ask(kind, f"/{name}")
        if answer.status_code == 404:
            return None
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def list(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        """Return the objects of a kind that match a label selector."""
        answer = self._ask(kind, f"?labelSelector={quote(selector)}")
        answer.raise_for_status()
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def _ask(self, kind: str, rest: str) -> Any:
        version, plural = _ADDRESSES[kind]
        return self._api.get(version=version, namespace=self.namespace, url=plural + rest)

    def get(self, kind: str, name: str = "web") -> dict[str, Any]:
        """Return an existing object."""
        found = self.find(kind, name)
        assert found is not None, f"{kind} {name} does not exist"
        return found

    def names(self, kind: str, webapp: str = "web") -> builtins.list[str]:
        """Return the names of a WebApp's children of a kind."""
        return sorted(item["metadata"]["name"] for item in self.list(kind, f"coxswain.dev/webapp={webapp}"))

    def child(self, kind: str, webapp: str = "web") -> dict[str, Any]:
        """Return the only child of a kind."""
        items = self.list(kind, f"coxswain.dev/webapp={webapp}")
        assert len(items) == 1, f"{webapp} has {[item['metadata']['name'] for item in items]} instead of one {kind}"
        return items[0]

    def children(self, webapp: str = "web") -> dict[str, dict[str, Any]]:
        """Return all four children by kind."""
        return {kind: self.child(kind, webapp) for kind in CHILDREN}

    def condition(self, kind: str, name: str = "web") -> dict[str, Any]:
        """Return a condition of a WebApp, or an empty one."""
        conditions = (self.find("webapp", name) or {}).get("status", {}).get("conditions", [])
        return next((found for found in conditions if found["type"] == kind), {})

    def ready(self, name: str = "web") -> dict[str, Any]:
        """Wait until a WebApp is Ready at its generation; return it."""

        def check() -> dict[str, Any] | None:
            webapp = self.get("webapp", name)
            return webapp if _is_ready(webapp) else None

        return eventually(check, f"WebApp {name} is Ready at its generation")

    def all_ready(self, count: int) -> None:
        """Wait until there are `count` WebApps, each Ready at its generation."""

        def check() -> bool:
            webapps = self.list("webapp")
            return len(webapps) == count and all(_is_ready(webapp) for webapp in webapps)

        eventually(check, f"{count} WebApps are Ready", timeout=120, pause=0.2)

    def not_ready(self, reason: str, name: str = "web") -> dict[str, Any]:
        """Wait until a WebApp is not Ready with this reason; return the condition."""

        def check() -> dict[str, Any] | None:
            found = self.condition("Ready", name)
            return found if (found.get("status"), found.get("reason")) == ("False", reason) else None

        return eventually(check, f"WebApp {name} is not Ready, with reason {reason}")

    def requests(self, mark: AuditLog) -> Counter[str]:
        """Return the operator's requests in the namespace since the mark, as 'verb resource[/subresource]'."""
        return Counter(_named(event) for event in self._sent(mark))

    def _sent(self, mark: AuditLog) -> builtins.list[AuditEvent]:
        return [event for event in mark.events() if event.user == OPERATOR and event.namespace == self.namespace]

    def settled(self, mark: AuditLog, seconds: float = 1.5) -> Counter[str]:
        """Wait until the operator has sent no request for `seconds`; return its requests since the mark.

        Conflicts, and the reads after them, are left out: their number depends on the speed of the controllers.
        """
        sent: builtins.list[AuditEvent] = []
        quiet_since = time.monotonic()
        deadline = quiet_since + DEADLINE_SECONDS
        while time.monotonic() - quiet_since < seconds:
            news = self._sent(mark)
            if news:
                sent += news
                quiet_since = time.monotonic()
            assert time.monotonic() < deadline, (
                f"the operator does not stop sending requests: {Counter(map(_named, sent))}"
            )
            time.sleep(0.1)
        return _without_conflicts(sent)

    def events(self, name: str = "web") -> builtins.list[dict[str, Any]]:
        """Return the Events of a WebApp."""
        found = [item for item in self.list("event") if item["regarding"]["kind"] == "WebApp"]
        return [item for item in found if item["regarding"]["name"] == name]

    def awaited_events(self, reason: str) -> builtins.list[dict[str, Any]]:
        """Wait for an Event with this reason, which is posted after the status. Return all of them."""

        def found() -> builtins.list[dict[str, Any]]:
            return [event for event in self.events() if event["reason"] == reason]

        return eventually(found, f"an Event {reason}")


def show(what: str, requests: Counter[str]) -> None:
    """Print the requests of an operation as a table, for `make figures`."""
    print(f"\n{what}\n\n| verb | resource | requests |\n|---|---|---|")
    for request, count in sorted(requests.items()):
        print(f"| {request.replace(' ', ' | ')} | {count} |")
    print(f"| | all | {requests.total()} |")


@dataclass(frozen=True)
class Quiet:
    """A scene with an unchanged converged WebApp, and the mark in the audit log from its start."""

    scene: Scene
    mark: AuditLog
    since: float
    """Start time on the monotonic clock."""
