"""The writers: HTTP to one object, and a loop that reads, writes, and retries immediately after a refusal."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from cluster import ControlPlane
from conflict_lab import ways
from conflict_lab.subject import TEMPLATE, Subject, Thing
from conflict_lab.ways import JSON, Change, Request, Way, Workload

REQUEST_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """The response to one write: the object, or a Status with the error."""

    status: int
    body: Mapping[str, Any]

    @property
    def accepted(self) -> bool:
        """Whether the server accepted the write."""
        return self.status in (200, 201)

    @property
    def reason(self) -> str:
        """The reason in the Status object."""
        return "" if self.accepted else str(self.body.get("reason", ""))

    @property
    def causes(self) -> tuple[str, ...]:
        """The reasons in the causes of the Status."""
        if self.accepted:
            return ()
        return tuple(cause.get("reason", "") for cause in (self.body.get("details") or {}).get("causes") or ())


class Target:
    """One object in the API server."""

    def __init__(self, session: aiohttp.ClientSession, collection: str, name: str, subject: Subject) -> None:
        self._session = session
        self._collection = collection
        self.name = name
        self.subject = subject

    async def create(self, owner: str) -> None:
        """Create it, with a counter owned by `owner`."""
        created = await self._ask("POST", self._collection, self.subject.manifest(self.name), JSON, {})
        if not created.accepted:
            raise RuntimeError(f"{self.name} is not created: {created.status} {created.body}")
        if self.subject.subresource:  # a new object has no status
            await self.send_accepted(ways.first_entry(self.subject, self.name), "conflict-lab")
        await self.send_accepted(ways.first_count(self.subject, self.name), owner)

    async def get(self) -> Thing:
        """Return its current state."""
        async with self._session.get(f"{self._collection}/{self.name}") as response:
            response.raise_for_status()
            found: Thing = json.loads(await response.read())
            return found

    async def send(self, request: Request, writer: str) -> Answer:
        """Write to it; raises RuntimeError for a response other than success, refusal and timeout."""
        query = {"fieldManager": writer, **request.query}
        url = f"{self._collection}/{self.name}{self.subject.subresource}"
        answer = await self._ask(request.method, url, request.body, request.content_type, query)
        if not answer.accepted and answer.status not in (409, 415, 422, 504):
            raise RuntimeError(f"{request.method} {request.content_type}: {answer.status} {answer.body}")
        return answer

    async def send_accepted(self, request: Request, writer: str) -> None:
        """Write to it; raises RuntimeError if it is refused."""
        answer = await self.send(request, writer)
        if not answer.accepted:
            raise RuntimeError(f"{writer} was refused: {answer.status} {answer.body}")

    async def _ask(self, method: str, url: str, body: Any, content_type: str, query: Mapping[str, str]) -> Answer:
        data = json.dumps(body).encode()
        headers = {"Content-Type": content_type}
        async with self._session.request(method, url, data=data, headers=headers, params=query) as response:
            return Answer(response.status, json.loads(await response.read()))


@asynccontextmanager
async def targets(cluster: ControlPlane, namespace: str, subject: Subject = TEMPLATE) -> AsyncIterator["Targets"]:
    """Connect to the API server with an unlimited number of connections."""
    trust = ssl.create_default_context(cafile=str(cluster.ca_file))
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=trust, keepalive_timeout=300),
        headers={"Authorization": f"Bearer {cluster.token}"},
        timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS),
    ) as session:
        yield Targets(session, f"{cluster.url}{subject.collection.format(namespace=namespace)}", subject)


class Targets:
    """The objects of one namespace, one for each trial."""

    def __init__(self, session: aiohttp.ClientSession, collection: str, subject: Subject) -> None:
        self._session = session
        self._collection = collection
        self.subject = subject
        self._made = 0

    async def make(self, owner: str) -> Target:
        """Create one more object."""
        self._made += 1
        target = Target(self._session, self._collection, f"target-{self._made}", self.subject)
        await target.create(owner)
        return target


@dataclass
class Tally:
    """The counts of one writer."""

    latencies: list[float] = field(default_factory=list)
    """Of the acknowledged updates, including their reads and retries."""
    retries: int = 0
    reads: int = 0
    writes: int = 0
    conflicts: int = 0
    with_causes: int = 0
    unprocessable: int = 0
    timeouts: int = 0

    def count(self, answer: Answer) -> None:
        """Count the response to a write."""
        self.writes += 1
        self.conflicts += answer.status == 409
        self.with_causes += bool(answer.status == 409 and answer.causes)
        self.unprocessable += answer.status == 422
        self.timeouts += answer.status == 504


async def write(
    target: Target,
    way: Way,
    workload: Workload,
    writer: str,
    *,
    until: float,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Update until a time of the clock; an update in progress is completed."""
    tally = Tally()
    change = Change(workload, writer, subject=target.subject)
    seen: Thing | None = None
    refused = False
    began = clock()
    while clock() < until:
        if seen is None or way.reads(workload):
            seen = await target.get()
            tally.reads += 1
        answer = await target.send(way.request(seen, change), writer)
        tally.count(answer)
        tally.retries += refused
        refused = not answer.accepted
        if answer.accepted:
            now = clock()
            tally.latencies.append(now - began)
            began = now
        seen = answer.body if answer.accepted else None
    return tally


async def connect(target: Target, count: int) -> None:
    """Open `count` connections and keep them open."""
    await asyncio.gather(*(target.get() for _ in range(count)))


async def write_together(
    target: Target, way: Way, workload: Workload, names: tuple[str, ...], seconds: float
) -> dict[str, Tally]:
    """Let all writers update concurrently."""
    until = time.monotonic() + seconds
    tallies = await asyncio.gather(*(write(target, way, workload, name, until=until) for name in names))
    return dict(zip(names, tallies, strict=True))
