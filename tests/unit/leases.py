"""Candidates of one Lease in virtual time: a fake store with resourceVersions, faults, and processes that pause."""

import asyncio
import heapq
import itertools
from collections.abc import Callable, Mapping
from contextvars import Context
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.election.elector import Elector, LeadershipLost
from coxswain.kernel.election.leadership import Leadership
from coxswain.kernel.election.lease import Lease, parse
from coxswain.settings import ElectionSettings
from model_cluster.chance import Chance
from model_cluster.virtual import GROUP, VirtualLoop

SETTINGS = ElectionSettings()
NAME = "coxswain-system/coxswain"


def virtual_loop() -> VirtualLoop:
    """Return a loop in virtual time. Its order is the same in each run."""
    return VirtualLoop(Chance("1"))


def pause(group: int, seconds: float) -> None:
    """Stop a process, as by SIGSTOP, and continue it later."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.pause(group)
    loop.call_later(seconds, loop.resume, group, context=Context())


@dataclass
class Faults:
    """The present faults of the connection of one process."""

    refuses: int = 0
    """The status of each response; 0 for none."""
    hangs: bool = False
    """Requests do not reach the server, and are not answered."""
    loses_answers: bool = False
    """Requests are executed, but not answered."""
    late: float = 0.0
    """Seconds until a request is executed, also if the process has given it up."""


@dataclass
class LeaseServer:
    """The API server's part: one Lease with uid and resourceVersion."""

    stored: dict[str, Any] | None = None
    latency: float = 0.005
    requests: list[tuple[str, str]] = field(default_factory=list)
    """The process and the method of each executed request."""
    _versions: Any = field(default_factory=lambda: itertools.count(1))
    _uids: Any = field(default_factory=lambda: itertools.count(1))

    def delete(self) -> None:
        """Delete the Lease."""
        self.stored = None

    def edit(self, **spec: Any) -> None:
        """Change the spec of the Lease, as a person does."""
        if self.stored is not None:
            self._store({**self.stored, "spec": {**self.stored["spec"], **spec}})

    def execute(self, method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Execute a request."""
        if method == "POST":
            if self.stored is not None:
                raise Refused(409, {"reason": "AlreadyExists"})
            assert body is not None
            self._store({**body, "metadata": {**body["metadata"], "uid": f"uid-{next(self._uids)}"}})
        elif self.stored is None:
            raise Refused(409 if method == "PUT" else 404, {})
        elif method == "PUT":
            assert body is not None
            known = self.stored["metadata"]
            if any(body["metadata"][key] != known[key] for key in ("uid", "resourceVersion")):
                raise Refused(409, {"reason": "Conflict"})
            # The API server does not store a write without changes, and keeps the resourceVersion.
            if _content(body) != _content(self.stored):
                self._store(body)
        assert self.stored is not None
        return deepcopy(self.stored)

    def _store(self, thing: Mapping[str, Any]) -> None:
        self.stored = deepcopy(
            {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(next(self._versions))}}
        )


def _content(thing: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the parts of a Lease that a PUT changes."""
    return thing["spec"], thing["metadata"].get("annotations")


class Connection:
    """The requests of one process to the server. A request that the process gives up may still be executed."""

    def __init__(self, server: LeaseServer, process: str, faults: Faults, name: str = NAME) -> None:
        self.name = name
        self._server = server
        self._process = process
        self._faults = faults

    async def get(self) -> Lease | None:
        try:
            return parse(await self.send("GET", None))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    async def create(self, manifest: Mapping[str, Any]) -> Lease:
        return parse(await self.send("POST", manifest))

    async def update(self, manifest: Mapping[str, Any]) -> Lease:
        return parse(await self.send("PUT", manifest))

    async def send(self, method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send a request; return the answer."""
        loop, faults = asyncio.get_running_loop(), self._faults
        answer: asyncio.Future[dict[str, Any]] = loop.create_future()
        if faults.refuses:
            await asyncio.sleep(self._server.latency)
            raise Refused(faults.refuses, {})
        if faults.hangs:
            await asyncio.sleep(3600)
            raise Unreachable("no answer")

        def execute() -> None:
            # Not a task: the server works while the process is paused or after it has given the request up.
            self._server.requests.append((self._process, method))
            try:
                raw, error = self._server.execute(method, body), None
            except Refused as refused:
                raw, error = {}, refused
            if not faults.loses_answers and not answer.done():
                loop.call_later(self._server.latency, deliver, raw, error)

        def deliver(raw: dict[str, Any], error: Refused | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(raw)
            else:
                answer.set_exception(error)

        loop.call_later(self._server.latency + faults.late, execute, context=Context())
        return await answer


class RecordedLeadership(Leadership):
    """Records the times during which the process may write."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.now = clock
        self.periods: list[list[float]] = []

    def extend(self, until: float) -> None:
        super().extend(until)
        if self.held:
            if self.periods and self.periods[-1][1] >= self.now():
                self.periods[-1][1] = self.until
            else:
                self.periods.append([self.now(), self.until])

    def end(self) -> None:
        if self.periods:
            self.periods[-1][1] = min(self.periods[-1][1], self.now())
        super().end()


class Candidate:
    """One replica: its process starts again with a new identity when it ends, as the kubelet does."""

    def __init__(self, name: str, server: LeaseServer, chance: Callable[[], float]) -> None:
        self.name = name
        self.faults = Faults()
        self.clock_error = 0.0
        """Seconds by which its wall clock is wrong."""
        self.clock_stands = False
        self.lost: list[str] = []
        """The messages of its processes that lost the Lease."""
        self.leaderships: list[RecordedLeadership] = []
        self.acquired = 0
        self._server = server
        self._chance = chance
        self._numbers = itertools.count(1)
        self._task: asyncio.Task[None] | None = None
        self._group = 0

    @property
    def leads(self) -> bool:
        return bool(self.leaderships) and self.leaderships[-1].held

    def start(self) -> None:
        self._group = next(_groups)
        token = GROUP.set(self._group)
        self._task = asyncio.get_running_loop().create_task(self._live(), name=self.name)
        GROUP.reset(token)

    def pause(self, seconds: float) -> None:
        """Stop the process, as by SIGSTOP, and continue it later."""
        pause(self._group, seconds)

    def kill(self) -> None:
        """End the process as by SIGKILL."""
        self._cancel()
        self.leaderships[-1].end()

    async def terminate(self) -> None:
        """End the process as by SIGTERM, with a release."""
        self._cancel()
        await self.elector.release()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            leadership = RecordedLeadership(loop.time)
            self.leaderships.append(leadership)
            self.elector = Elector(
                Connection(self._server, self.name, self.faults),
                leadership,
                f"{self.name}_{next(self._numbers)}",
                SETTINGS,
                clock=loop.time,
                acquired=self._count,
                now=self._now,
                chance=self._chance,
            )
            try:
                await self.elector.run()
            except LeadershipLost as error:
                self.lost.append(str(error))
                await asyncio.sleep(1)

    def _count(self) -> None:
        self.acquired += 1

    def _now(self) -> datetime:
        seconds = 0.0 if self.clock_stands else asyncio.get_running_loop().time()
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds + self.clock_error)


_groups = itertools.count(1000)


def overlaps(candidates: list[Candidate]) -> list[tuple[str, str, float]]:
    """Return each pair of processes that led at the same time, with the begin of that time."""
    periods = [
        (begin, end, f"{each.name} process {number}")
        for each in candidates
        for number, leadership in enumerate(each.leaderships)
        for begin, end in leadership.periods
    ]
    found = []
    active: list[tuple[float, str]] = []
    for begin, end, who in sorted(periods):
        while active and active[0][0] <= begin:
            heapq.heappop(active)
        found += [(other, who, begin) for _, other in active if other != who]
        heapq.heappush(active, (end, who))
    return found
