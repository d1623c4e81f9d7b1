"""A small made-up run of the fault suite: one WebApp created and changed once, and faults to add to it."""

import copy
import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from cluster.audit import AuditEvent
from fault_engine.evidence import Evidence
from fault_engine.history import History, Line, Mark, Request
from fault_engine.witness import Change
from faults.workloads.webapp import WEBAPP

OPERATOR = WEBAPP.user
Thing = dict[str, Any]
_MANAGER = {"manager": "coxswain", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z"}


class Run:
    """Collects the history of a run, with one second between two entries."""

    def __init__(self, namespace: str = "run-1", number: int = 1) -> None:
        self.namespace = namespace
        self.number = number
        self.now = 1000.0 * number
        self.version = 100 * number
        self.history = History()
        self.changes: list[Change] = []
        self.audit: list[AuditEvent] = []
        self.there: dict[tuple[str, str], Thing] = {}

    def thing(self, resource: str, name: str, **parts: Any) -> Thing:
        """Return a new object. Any object except a WebApp is a child of WebApp web."""
        metadata: Thing = {
            "name": name,
            "namespace": self.namespace,
            "uid": f"{resource}-{name}-of-{self.number}",
            "creationTimestamp": f"2026-01-0{self.number}T00:00:00Z",
            "generation": 1,
        }
        if resource != "webapps":
            owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "controller": True}
            metadata["labels"] = {"coxswain.dev/webapp": "web"}
            metadata["ownerReferences"] = [{**owner, "uid": f"webapps-web-of-{self.number}"}]
            metadata["managedFields"] = [{**_MANAGER, "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
        return {"metadata": metadata, **copy.deepcopy(parts)}

    def store(self, resource: str, thing: Thing, kind: str = "") -> Thing:
        """Store a version, as seen by the witness and by the operator's watch. Return that version."""
        self.now += 1
        self.version += 1
        thing = copy.deepcopy(thing)
        metadata = thing["metadata"]
        metadata["resourceVersion"] = str(self.version)
        key = (resource, metadata["name"])
        kind = kind or ("MODIFIED" if key in self.there else "ADDED")
        change = Change(self.now, resource, kind, metadata["name"], metadata["uid"], self.version, thing)
        self.changes.append(change)
        self.send(resource, kind, thing)
        self.there[key] = thing
        if kind == "DELETED":
            del self.there[key]
        return copy.deepcopy(thing)

    def send(self, resource: str, kind: str, thing: Thing) -> None:
        """Send the operator a line of a watch."""
        watches = [
            found.number for found in self.history.requests if (found.verb, found.resource) == ("watch", resource)
        ]
        number = watches[0] if watches else self.ask("watch", resource, "", answer=None).number
        self.history.lines.append(Line(self.now, number, kind, copy.deepcopy(thing)))

    def ask(self, verb: str, resource: str, name: str = "web", *, status: int | None = 200, **more: Any) -> Request:
        """Send a request of the operator, answered at once."""
        number = len(self.history.requests) + 1
        values = {"namespace": self.namespace, "query": {}, "agent": "coxswain", "path": "", **more}
        request = Request(number, self.now, verb, resource, name=name, status=status, ended=self.now + 0.001, **values)
        self.history.requests.append(request)
        return request

    def write(self, verb: str, resource: str, name: str = "web", *, status: int = 200, **more: Any) -> Request:
        """Send a write that reaches the server and enters the audit log."""
        plural, _, subresource = resource.partition("/")
        time = datetime.fromtimestamp(self.now, tz=UTC).isoformat()
        where = (plural, subresource, more.get("namespace", self.namespace), name)
        self.audit.append(AuditEvent(OPERATOR, "coxswain", verb, *where, status, "ResponseComplete", "", time))
        return self.ask(verb, resource, name, status=status, forwarded=True, **more)

    def mark(self, what: str) -> None:
        """Mark a step of the test."""
        self.history.marks.append(Mark(self.now, what))

    def tell(self, ready: str, generation: int = 1, reason: str = "Ready") -> Thing:
        """Have the operator write the status of WebApp web."""
        webapp = copy.deepcopy(self.there["webapps", "web"])
        found = {"type": "Ready", "status": ready, "observedGeneration": generation, "reason": reason}
        status = {"observedGeneration": generation, "conditions": [found]}
        metadata = {key: webapp["metadata"][key] for key in ("name", "namespace", "uid")}
        self.now += 1
        self.write("patch", "webapps/status", body={"metadata": metadata, "status": status})
        return self.store("webapps", {**webapp, "status": status})

    def evidence(self, **more: Any) -> Evidence:
        """Return the evidence of the run."""
        end: dict[str, list[Thing]] = {}
        for (resource, _name), thing in self.there.items():
            end.setdefault(resource, []).append(copy.deepcopy(thing))
        values: Thing = {
            "end": end,
            "logs": "",
            "quiet_since": self.now + 1,
            "offset": 0.0,
            "secrets": ("hush",),
            **more,
        }
        return Evidence(WEBAPP, self.namespace, self.history, self.changes, self.audit, **values)


def complete(deployment: Thing) -> Thing:
    """Return a Deployment whose rollout is complete."""
    replicas = deployment["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), replicas)
    return {**deployment, "status": {"observedGeneration": deployment["metadata"]["generation"], **counts}}


def good(namespace: str = "run-1", number: int = 1) -> Run:
    """Return a run without faults: WebApp web with two pods was created and became Ready."""
    run = Run(namespace, number)
    run.mark("operator started")
    spec = {"image": "web:1", "replicas": 2, "ports": [{"name": "http", "containerPort": 80}], "config": {"A": "a"}}
    run.store("webapps", run.thing("webapps", "web", spec=spec))
    for resource, name, parts in (
        ("serviceaccounts", "web", {}),
        ("configmaps", "web-1", {"data": {"A": "a"}}),
        ("services", "web", {"spec": {"clusterIP": f"10.0.0.{number}"}}),
        ("deployments", "web", {"spec": pods(run)}),
    ):
        run.write("patch", resource, name, status=201, body=run.thing(resource, name, **parts))
        run.store(resource, run.thing(resource, name, **parts))
    owner = {"kind": "ReplicaSet", "name": "web-5d4", "uid": "any", "apiVersion": "apps/v1", "controller": True}
    for suffix in ("a", "b"):
        pod = run.thing("pods", f"web-5d4-{suffix}{number}", status={"phase": "Running"})
        run.store("pods", {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}})
    run.store("deployments", complete(run.there["deployments", "web"]))
    run.tell("True")
    return run


def pods(run: Run) -> Thing:
    """Return the spec of a Deployment."""
    container = {"name": "app", "image": "web:1"}
    selector = {"matchLabels": {"coxswain.dev/webapp": "web"}}
    return {"replicas": 2, "selector": selector, "template": {"spec": {"containers": [container]}}, "of": run.namespace}


def changed(run: Run, resource: str, name: str, change: Callable[[Thing], object]) -> Thing:
    """Store a changed version of an object."""
    thing = copy.deepcopy(run.there[resource, name])
    change(thing)
    return run.store(resource, thing)


def removed(run: Run, resource: str, name: str) -> None:
    """Delete an object."""
    run.store(resource, run.there[resource, name], kind="DELETED")


def with_end(evidence: Evidence, resource: str, name: str, change: Callable[[Thing], object]) -> Evidence:
    """Return evidence with an object changed at the end."""
    end: dict[str, list[Thing]] = copy.deepcopy({key: list(map(dict, things)) for key, things in evidence.end.items()})
    change(next(thing for thing in end[resource] if thing["metadata"]["name"] == name))
    return dataclasses.replace(evidence, end=end)
