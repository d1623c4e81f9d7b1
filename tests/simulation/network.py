"""The network between the operator and the model API server: the operator's `Transport`, with faults."""

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model_cluster.active_faults import ActiveFaults, Fault
from model_cluster.chance import Chance
from model_cluster.cluster import Cluster, place_of, plural_of
from model_cluster.objects import Object
from model_cluster.virtual import GROUP
from simulation.subject import USER_AGENT, HttpResponse, Unreachable

_GARBAGE = b"<html><body>502 Bad Gateway</body></html>"
_MESSAGES = {
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "Internal error occurred: failed calling webhook"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    409: ("Conflict", "Operation cannot be fulfilled: the object has been modified; please apply your changes"),
    422: ("Invalid", "is invalid: spec: Invalid value: this version of the API server does not know it yet"),
    404: ("NotFound", "the server could not find the requested resource"),
}


LEASES = "leases"


@dataclass(frozen=True)
class Sent:
    """A request of the operator that reached the API server."""

    number: int
    time: float
    method: str
    plural: str
    collection: str
    """The resource, as `Kind.collection` tells a list of metadata apart."""
    namespace: str | None
    name: str | None
    subresource: str | None
    query: Mapping[str, str]
    body: Any
    before: Object | None
    """The object before the request, if it existed."""
    status: int
    answer: Any
    task: Any
    """The task that sent the request."""
    replica: Any
    """The replica that sent it."""
    begun: float
    """The time at which it was sent."""
    entitled: bool
    """Whether its process was entitled to write when it sent the request."""


@dataclass(frozen=True)
class _Sender:
    number: int
    begun: float
    task: Any
    entitled: bool


class ModelTransport:
    """Carries requests to the model, with delays and losses from the seed and the faults."""

    host = "http://model"

    def __init__(
        self,
        cluster: Cluster,
        faults: ActiveFaults,
        chance: Chance,
        *,
        slowest: float,
        replica: Any,
        entitled: Callable[[str], bool],
        detached: bool,
        reached: Callable[[Sent], None],
        answered: Callable[[Sent], None],
    ) -> None:
        """Carry the requests of one process of a replica.

        Args:
            cluster: the cluster.
            faults: the active faults.
            chance: the random numbers of the run.
            slowest: the maximum seconds of a response without faults.
            replica: the replica, for `Sent`.
            entitled: returns whether the process may write to a namespace now.
            detached: whether a request arrives even if the process has given it up, is paused, or has ended.
            reached: called with each request that arrives.
            answered: called with each request that is answered.
        """
        self._cluster = cluster
        self._faults = faults
        self._chance = chance
        self._slowest = slowest
        self._replica = replica
        self._entitled = entitled
        self._detached = detached
        self._reached = reached
        self._answered = answered
        self._shown = f"operator {replica.number}" if detached else "operator"
        self._numbers = itertools.count(1)
        self.turned_away: Callable[[str, str, tuple[str, str]], None] = lambda *_: None
        """Called for each request about an object that met a fault: the fault, the resource, namespace and name."""
        self.dead = False
        """Whether its process was killed: later requests do not arrive."""

    def die(self) -> None:
        """Stop the delivery of all requests."""
        self.dead = True

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,
        check: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        """Send one request.

        Raises:
            Unreachable: the seed or a fault prevents a response.
        """
        if self.dead:
            await asyncio.Future()
        check()
        entitled = self._entitled(place_of(path)[0] or "")
        sender = _Sender(next(self._numbers), self._cluster.clock(), asyncio.current_task(), entitled)
        carrying = self._carry(sender, method, path, query=query, headers=headers, body=body, seconds=seconds)
        return await (_beside(carrying) if self._detached else carrying)

    async def _carry(
        self,
        sender: "_Sender",
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,
    ) -> HttpResponse:
        number, plural = sender.number, plural_of(path)
        namespace, name, subresource = place_of(path)
        met = self._met(method, plural, namespace, name, subresource)
        if name and _creates(body) and self._cluster.get(plural, (namespace or "", name)) is not None:
            # An existing object conflicts before any field is validated.
            met = [each for each in met if each.kind != "invalid"]
        kinds = {each.kind for each in met}
        deadline = self._cluster.clock() + seconds
        if kinds & _HANGING and plural == LEASES:
            self._replica.disturbed = max(self._replica.disturbed, deadline)
        shown = f"{self._shown} #{number}: {method} {path}"
        delay = self._delay("request", long=plural != LEASES)
        await self._pass(delay + sum(each.seconds for each in met if each.kind == "slow"), deadline)
        if kinds & {"lost request", "time-out", "unreachable"}:
            self._cluster.trace.add(f"{shown} never arrived")
            await self._fail("time-out" in kinds, deadline, method, path)
        if refusal := next((each for each in met if each.kind in _STATUSES), None):
            return self._refused(shown, refusal)
        if "hidden" in kinds:
            return self._garbage(shown)
        before = (
            self._cluster.get(plural, (namespace or "", name)) if name and plural in self._cluster.objects else None
        )
        content_type = headers.get("Content-Type", "application/json")
        metadata_only = "PartialObjectMetadata" in headers.get("Accept", "")
        response = self._cluster.request(
            USER_AGENT, method, path, body, query=dict(query), content_type=content_type, metadata_only=metadata_only
        )
        if method == "GET" and plural != LEASES:
            self._cluster.trace.add(f"{shown} -> {response.status}")
        sent = Sent(
            number,
            self._cluster.clock(),
            method,
            plural,
            f"{plural} (metadata)" if metadata_only else plural,
            namespace,
            name,
            subresource,
            dict(query),
            body,
            before,
            response.status,
            response.body,
            sender.task,
            self._replica,
            sender.begun,
            sender.entitled,
        )
        self._reached(sent)
        late = sum(each.seconds for each in met if each.kind == "slow answer")
        await self._pass(self._delay("answer", long=plural != LEASES) + late, deadline)
        if kinds & {"lost answer"}:
            self._cluster.trace.add(f"{shown}: its answer is lost")
            await self._fail(self._chance.happens(0.3, "lost answer"), deadline, method, path)
        if "garbled" in kinds:
            return self._garbage(shown)
        self._answered(sent)
        return HttpResponse(response.status, json.dumps(response.body).encode(), response.headers.get("Retry-After"))

    def invalidate_credentials(self) -> None:
        """Do nothing: there are no credentials."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def _met(
        self, method: str, plural: str, namespace: str | None, name: str | None, subresource: str | None
    ) -> list[Fault]:
        now = self._cluster.clock()
        met = []
        found = self._faults.matching(
            now, method, plural, namespace, subresource=subresource, name=name, client=self._replica.number
        )
        for fault in found:
            if self._chance.happens(fault.probability, f"meets {fault.kind}"):
                self._faults.count(fault, now)
                met.append(fault)
                if name and plural != LEASES:
                    self.turned_away(fault.kind, plural, (namespace or "", name))
        return met

    def _delay(self, name: str, *, long: bool = True) -> float:
        if long and self._chance.happens(0.03, f"long {name}"):
            return self._chance.delay(0.05, 20 * self._slowest, f"{name} delay")
        return self._chance.delay(0.0005, self._slowest, f"{name} delay")

    async def _pass(self, delay: float, deadline: float) -> None:
        now = self._cluster.clock()
        if now + delay >= deadline:
            await asyncio.sleep(max(0.0, deadline - now))
            raise Unreachable("no answer in time")
        await asyncio.sleep(delay)
        if self.dead and not self._detached:
            await asyncio.Future()

    async def _fail(self, late: bool, deadline: float, method: str, path: str) -> None:
        if late:
            await asyncio.sleep(max(0.0, deadline - self._cluster.clock()))
            raise Unreachable(f"{method} {path}: TimeoutError")
        raise Unreachable(f"{method} {path}: connection reset by peer")

    def _refused(self, shown: str, fault: Fault) -> HttpResponse:
        status = _STATUSES[fault.kind]
        reason, message = _MESSAGES[status]
        self._cluster.trace.add(f"{shown} -> {status} {fault.kind}")
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status}
        body = {**told, "reason": reason, "message": message}
        retry_after = str(int(fault.seconds)) if status == 429 and fault.seconds else None
        return HttpResponse(status, json.dumps(body).encode(), retry_after)

    def _garbage(self, shown: str) -> HttpResponse:
        self._cluster.trace.add(f"{shown} -> 200, no JSON")
        return HttpResponse(200, _GARBAGE)


async def _beside(request: Coroutine[Any, Any, HttpResponse]) -> HttpResponse:
    """Wait for a request that proceeds without its process."""
    token = GROUP.set(0)
    try:
        task = asyncio.create_task(request, name="request")
    finally:
        GROUP.reset(token)
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return await asyncio.shield(task)


def _creates(body: Any) -> bool:
    """Return whether an apply creates the object or fails."""
    return isinstance(body, dict) and body.get("metadata", {}).get("resourceVersion") == "1"


_HANGING = {"slow", "slow answer", "time-out", "unreachable", "lost answer"}
"""Faults that can keep a client waiting until its timeout."""

_STATUSES = {
    "too many requests": 429,
    "reads paused": 429,
    "internal error": 500,
    "unavailable": 503,
    "invalid": 422,
    "always a conflict": 409,
    "always not found": 404,
}
OF_REQUESTS = {*_STATUSES, *_HANGING, "lost request", "hidden", "garbled"}
"""The faults that a request can meet."""
