"""The writes from `kubectl apply` to Ready, with their clients and times, from the API server's audit log.

`make sequence` rewrites docs/sequence.md from one run on the throwaway Kubernetes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.audit import AuditEvent

COXSWAIN = "coxswain"
YOU = "you"
_CONTROLLER = "system:serviceaccount:kube-system:"


@dataclass(frozen=True)
class Actor:
    """A client of the API server: its name, and the resources whose changes trigger its work."""

    name: str
    acts_upon: frozenset[str] = frozenset()
    watches_as: str = ""
    """The user of its watches, if different: all controllers share informers."""


def _controller(name: str, *resources: str) -> Actor:
    return Actor(name, frozenset(resources), "system:kube-controller-manager")


ACTORS: Mapping[str, Actor] = {
    "admin": Actor(YOU),
    "system:serviceaccount:coxswain-system:coxswain": Actor(
        COXSWAIN,
        frozenset(("webapps", "serviceaccounts", "configmaps", "services", "deployments", "replicasets", "pods")),
    ),
    f"{_CONTROLLER}deployment-controller": _controller("deployment controller", "deployments", "replicasets"),
    f"{_CONTROLLER}replicaset-controller": _controller("replicaset controller", "replicasets", "pods"),
    "system:kube-scheduler": Actor("scheduler", frozenset(("pods",))),
    "kwok": Actor("kubelet (KWOK)", frozenset(("pods",))),
    f"{_CONTROLLER}endpointslice-controller": _controller("endpointslice controller", "services", "pods"),
    f"{_CONTROLLER}endpoint-controller": _controller("endpoint controller", "services", "pods"),
}
"""The participants by user; other clients appear by their user's name, without a trigger."""

_WRITES = ("create", "update", "patch", "delete")
_KINDS = {
    "webapps": "WebApp",
    "serviceaccounts": "ServiceAccount",
    "configmaps": "ConfigMap",
    "services": "Service",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "pods": "Pod",
    "endpointslices": "EndpointSlice",
    "endpoints": "Endpoints",
}
_SUFFIXES = {"configmaps": "-HASH", "replicasets": "-HASH", "pods": "-HASH-ID", "endpointslices": "-ID"}
"""Placeholders for generated parts of names."""


@dataclass(frozen=True)
class Step:
    """One write."""

    milliseconds: float
    """Since the first step, by the time when the API server received each."""
    actor: str
    verb: str
    resource: str
    subresource: str
    name: str
    code: int
    woken_by: "Step | None" = None
    """The newest write by another client to a relevant resource, since this actor's last write."""

    @property
    def thing(self) -> str:
        """The object in readable form."""
        return f"{_KINDS.get(self.resource, self.resource)} {self.name}"

    @property
    def request(self) -> str:
        """The request in readable form."""
        return f"{self.verb} {self.thing}" + (f", its {self.subresource}" if self.subresource else "")


def steps(events: Sequence[AuditEvent], namespace: str, webapp: str) -> list[Step]:
    """Return the writes in a namespace with one WebApp, from its creation to the last write of its status.

    Reads and Events are left out, because nothing waits for Events.
    """
    writes = [event for event in events if event.namespace == namespace and event.verb in _WRITES]
    writes = sorted((event for event in writes if event.resource != "events"), key=lambda event: event.time)
    first = next(at for at, event in enumerate(writes) if _is_about(event, "webapps", ""))
    last = max(at for at, event in enumerate(writes) if _is_about(event, "webapps", "status"))
    found: list[Step] = []
    for event in writes[first : last + 1]:
        actor = ACTORS.get(event.user) or Actor(event.user.rpartition(":")[2])
        found.append(
            Step(
                milliseconds=_milliseconds(writes[first].time, event.time),
                actor=actor.name,
                verb=event.verb,
                resource=event.resource,
                subresource=event.subresource,
                name=_normalised(event, webapp),
                code=event.code,
                woken_by=_news(actor, found),
            )
        )
    return found


def _is_about(event: AuditEvent, resource: str, subresource: str) -> bool:
    return (event.resource, event.subresource) == (resource, subresource) and event.code < 400


def _milliseconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000


def _normalised(event: AuditEvent, webapp: str) -> str:
    """Return a name with placeholders; without a name in the request, the server generated the whole name."""
    suffix = _SUFFIXES.get(event.resource, "")
    return webapp + suffix if suffix and (not event.name or event.name.startswith(f"{webapp}-")) else event.name


def _news(actor: Actor, before: Sequence[Step]) -> Step | None:
    for step in reversed(before):
        if step.actor == actor.name:
            return None
        if step.resource in actor.acts_upon and step.code < 400:
            return step
    return None


def table(found: Sequence[Step]) -> list[str]:
    """Return the steps as the lines of a table."""
    lines = ["| # | ms | client | request | answer | triggered by |", "|---|---|---|---|---|---|"]
    numbers = {id(step): number for number, step in enumerate(found, start=1)}
    for number, step in enumerate(found, start=1):
        news = f"{step.woken_by.thing} ({numbers[id(step.woken_by)]})" if step.woken_by else ""
        lines.append(f"| {number} | {step.milliseconds:.0f} | {step.actor} | {step.request} | {step.code} | {news} |")
    return lines


def diagram(found: Sequence[Step]) -> list[str]:
    """Return the steps as a Mermaid sequence diagram: solid arrows are requests, dotted arrows are watch events.

    etcd takes part in the first step only.
    """
    actors = list(dict.fromkeys(step.actor for step in found))
    names = {actor: f"a{number}" for number, actor in enumerate(actors)}
    lines = ["sequenceDiagram", "    participant etcd", "    participant api as API server"]
    lines += [f"    {'actor' if actor == YOU else 'participant'} {names[actor]} as {actor}" for actor in actors]
    for number, step in enumerate(found, start=1):
        if step.woken_by:
            lines.append(f"    api-->>{names[step.actor]}: {step.woken_by.thing}")
        refused = f" ({step.code})" if step.code >= 400 else ""
        lines.append(f"    {names[step.actor]}->>api: {number}. {step.request}{refused}")
        if number == 1:  # the same for each accepted write
            lines += [f"    api->>etcd: a transaction: {step.thing}", f"    etcd-->>api: {step.thing}"]
    return lines
