"""The network between the operator and the model API server: the operator's `Transport`, and what goes wrong in it."""

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.api.transport import USER_AGENT, Answer
from simulation.chance import Chance
from simulation.cluster import Cluster, Object, place_of, plural_of
from simulation.weather import Trouble, Weather

_GARBAGE = b"<html><body>502 Bad Gateway</body></html>"
_MESSAGES = {
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "Internal error occurred: failed calling webhook"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    409: ("Conflict", "Operation cannot be fulfilled: the object has been modified; please apply your changes"),
    422: ("Invalid", "is invalid: spec: Invalid value: this version of the API server does not know it yet"),
    404: ("NotFound", "the server could not find the requested resource"),
}


@dataclass(frozen=True)
class Sent:
    """A request of the operator that reached the API server."""

    number: int
    time: float
    method: str
    plural: str
    namespace: str | None
    name: str | None
    subresource: str | None
    query: Mapping[str, str]
    body: Any
    before: Object | None
    """The object as it was, if the request is about one that was there."""
    status: int
    answer: Any
    task: Any
    """The task that sent it."""


class ModelTransport:
    """Carries requests to the model, with the delays and losses that the seed and the weather make."""

    def __init__(
        self,
        cluster: Cluster,
        weather: Weather,
        chance: Chance,
        *,
        slowest: float,
        reached: Callable[[Sent], None],
        answered: Callable[[Sent], None],
    ) -> None:
        """Delay each answer up to `slowest` seconds; tell of each request that was reached, then answered."""
        self._cluster = cluster
        self._weather = weather
        self._chance = chance
        self._slowest = slowest
        self._reached = reached
        self._answered = answered
        self._numbers = itertools.count(1)
        self.turned_away: Callable[[str, str, tuple[str, str]], None] = lambda *_: None
        """Told of each request about an object that met a trouble: the trouble, the resource, namespace and name."""
        self.dead = False
        """Whether the process that it belongs to was killed: nothing that it sends arrives any more."""

    def die(self) -> None:
        """Let nothing arrive any more."""
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
    ) -> Answer:
        """Send one request.

        Raises:
            Unreachable: the seed or the weather lets no answer come.
        """
        number, plural = next(self._numbers), plural_of(path)
        namespace, name, subresource = place_of(path)
        met = self._met(method, plural, namespace, name, subresource)
        if name and _creates(body) and self._cluster.get(plural, (namespace or "", name)) is not None:
            # An object that is there is in the way before any field is looked at.
            met = [each for each in met if each.kind != "invalid"]
        kinds = {each.kind for each in met}
        deadline = self._cluster.clock() + seconds
        shown = f"operator #{number}: {method} {path}"
        await self._pass(self._delay("request") + sum(each.seconds for each in met if each.kind == "slow"), deadline)
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
        response = self._cluster.request(USER_AGENT, method, path, body, query=dict(query), content_type=content_type)
        if method == "GET":
            self._cluster.trace.add(f"{shown} -> {response.status}")
        sent = Sent(
            number,
            self._cluster.clock(),
            method,
            plural,
            namespace,
            name,
            subresource,
            dict(query),
            body,
            before,
            response.status,
            response.body,
            asyncio.current_task(),
        )
        self._reached(sent)
        await self._pass(self._delay("answer"), deadline)
        if kinds & {"lost answer"}:
            self._cluster.trace.add(f"{shown}: its answer is lost")
            await self._fail(self._chance.happens(0.3, "lost answer"), deadline, method, path)
        if "garbled" in kinds:
            return self._garbage(shown)
        self._answered(sent)
        return Answer(response.status, json.dumps(response.body).encode(), response.headers.get("Retry-After"))

    def invalidate_credentials(self) -> None:
        """There are none."""

    async def close(self) -> None:
        """There is no connection."""

    def _met(
        self, method: str, plural: str, namespace: str | None, name: str | None, subresource: str | None
    ) -> list[Trouble]:
        now = self._cluster.clock()
        met = []
        for trouble in self._weather.meeting(now, method, plural, namespace, subresource=subresource, name=name):
            if self._chance.happens(trouble.probability, f"meets {trouble.kind}"):
                self._weather.meet(trouble, now)
                met.append(trouble)
                if name:
                    self.turned_away(trouble.kind, plural, (namespace or "", name))
        return met

    def _delay(self, name: str) -> float:
        if self._chance.happens(0.03, f"long {name}"):
            return self._chance.delay(0.05, 20 * self._slowest, f"{name} delay")
        return self._chance.delay(0.0005, self._slowest, f"{name} delay")

    async def _pass(self, delay: float, deadline: float) -> None:
        now = self._cluster.clock()
        if now + delay >= deadline:
            await asyncio.sleep(max(0.0, deadline - now))
            raise Unreachable("no answer in time")
        await asyncio.sleep(delay)
        if self.dead:
            await asyncio.Future()

    async def _fail(self, late: bool, deadline: float, method: str, path: str) -> None:
        if late:
            await asyncio.sleep(max(0.0, deadline - self._cluster.clock()))
            raise Unreachable(f"{method} {path}: TimeoutError")
        raise Unreachable(f"{method} {path}: connection reset by peer")

    def _refused(self, shown: str, trouble: Trouble) -> Answer:
        status = _STATUSES[trouble.kind]
        reason, message = _MESSAGES[status]
        self._cluster.trace.add(f"{shown} -> {status} {trouble.kind}")
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": status}
        body = {**told, "reason": reason, "message": message}
        retry_after = str(int(trouble.seconds)) if status == 429 and trouble.seconds else None
        return Answer(status, json.dumps(body).encode(), retry_after)

    def _garbage(self, shown: str) -> Answer:
        self._cluster.trace.add(f"{shown} -> 200, no JSON")
        return Answer(200, _GARBAGE)


def _creates(body: Any) -> bool:
    """Tell whether an apply would create or fail."""
    return isinstance(body, dict) and body.get("metadata", {}).get("resourceVersion") == "1"


_STATUSES = {
    "too many requests": 429,
    "reads paused": 429,
    "internal error": 500,
    "unavailable": 503,
    "invalid": 422,
    "always a conflict": 409,
    "always not found": 404,
}
