"""Replicas that share slots in virtual time: the Leases of all slots, and processes with faults."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coxswain.kernel.election.changes import Acquired, Change, Dropped, Surplus
from coxswain.kernel.election.elector import LeadershipLost
from coxswain.kernel.election.leadership import Leadership, SlotLeadership
from coxswain.kernel.election.lease import Lease, parse
from coxswain.kernel.election.slot_elector import SlotElector
from coxswain.kernel.election.slots import Slot, slots
from model_cluster.virtual import GROUP
from unit.leases import SETTINGS, Connection, Faults, LeaseServer, RecordedLeadership, pause

NAMESPACE = "coxswain-system"
SHARED = "coxswain"


class Listed(LeaseServer):
    """The LIST of the Leases of slots."""

    def __init__(self, servers: "Servers") -> None:
        super().__init__(requests=servers.requests)
        self._servers = servers

    def execute(self, method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:  # noqa: ARG002
        found = [each.stored for name, each in self._servers.all.items() if name != SHARED]
        return {"items": [raw for raw in found if raw is not None]}


@dataclass
class Servers:
    """The API server's part: all Leases."""

    all: dict[str, LeaseServer] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """The process and the method of each executed request, without the LISTs."""

    def lease(self, name: str) -> LeaseServer:
        if name not in self.all:
            self.all[name] = LeaseServer(requests=self.requests)
        return self.all[name]

    def holders(self, count: int) -> dict[int, str]:
        """Return the holder of each slot."""
        stored = [self.lease(slot.lease_name(SHARED)).stored for slot in slots(count)]
        return {number: raw["spec"]["holderIdentity"] if raw else "" for number, raw in enumerate(stored)}

    def transitions(self, count: int) -> int:
        """Return how often slots have changed their holder."""
        stored = [self.lease(slot.lease_name(SHARED)).stored for slot in slots(count)]
        return sum(raw["spec"].get("leaseTransitions", 0) for raw in stored if raw)


class Requests:
    """The requests of one process for the Leases of slots."""

    def __init__(self, servers: Servers, process: str, faults: Faults) -> None:
        self._servers = servers
        self._process = process
        self._faults = faults

    def lease(self, name: str) -> Connection:
        return Connection(self._servers.lease(name), self._process, self._faults, f"{NAMESPACE}/{name}")

    async def leases(self) -> dict[str, Lease]:
        found = await Connection(Listed(self._servers), self._process, self._faults).send("LIST", None)
        return {raw["metadata"]["name"]: parse(raw) for raw in found["items"]}


class RecordedSlots(SlotLeadership):
    """Records the times during which the process may write to each slot."""

    def __init__(self, count: int, clock: Callable[[], float]) -> None:
        super().__init__(count, clock)
        self.terms: list[tuple[Slot, RecordedLeadership]] = []
        self.memberships: list[RecordedLeadership] = []

    def begin(self, slot: Slot) -> Leadership:
        super().begin(slot)
        leadership = self._slots[slot.number] = RecordedLeadership(self._clock)
        self.terms.append((slot, leadership))
        return leadership

    def join(self) -> Leadership:
        super().join()
        self.shared = RecordedLeadership(self._clock)
        self.memberships.append(self.shared)
        return self.shared


class Replica:
    """One replica: its process starts again with a new identity when it ends, as the kubelet does."""

    def __init__(self, name: str, servers: Servers, chance: Callable[[], float], count: int, drain: float) -> None:
        self.name = name
        self.count = count
        self.drain = drain
        """Seconds from the begin to the end of a drain."""
        self.faults = Faults()
        self.lost: list[str] = []
        self.rights: list[RecordedSlots] = []
        self.slots: set[Slot] = set()
        self.acquired_slots = 0
        self.surplus_slots = 0
        self.lost_slots = 0
        self._servers = servers
        self._chance = chance
        self._numbers = itertools.count(1)
        self._task: asyncio.Task[None] | None = None
        self._group = 0
        self.running = False

    @property
    def identity(self) -> str:
        return self.elector._identity

    def start(self) -> None:
        self._group = next(_groups)
        token = GROUP.set(self._group)
        self._task = asyncio.get_running_loop().create_task(self._live(), name=self.name)
        self.running = True
        GROUP.reset(token)

    def pause(self, seconds: float) -> None:
        """Stop the process, as by SIGSTOP, and continue it later."""
        pause(self._group, seconds)

    async def kill(self) -> None:
        """End the process as by SIGKILL."""
        self.rights[-1].end()
        await self._cancel()

    async def terminate(self) -> None:
        """End the process as by SIGTERM, with a release."""
        await self._cancel()
        await self.elector.end()

    async def _cancel(self) -> None:
        self.running = False
        self.slots.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            rights = RecordedSlots(self.count, loop.time)
            self.rights.append(rights)
            requests = Requests(self._servers, self.name, self.faults)
            self.elector = SlotElector(
                requests.lease(SHARED),
                requests,
                rights,
                f"{self.name}_{next(self._numbers)}",
                SETTINGS,
                count=self.count,
                report=self.report,
                clock=loop.time,
                chance=self._chance,
            )
            self.elector.synced = True
            try:
                await self.elector.run()
            except LeadershipLost as error:
                rights.end()
                self.lost.append(str(error))
                self.slots.clear()
                await asyncio.sleep(1)

    def report(self, change: Change) -> None:
        {Acquired: self.acquired, Surplus: self.surplus, Dropped: self.dropped}[type(change)](change.slot)

    def acquired(self, slot: Slot) -> None:
        self.slots.add(slot)
        self.acquired_slots += 1

    def surplus(self, slot: Slot) -> None:
        self.surplus_slots += 1
        asyncio.get_running_loop().call_later(self.drain, self._drained, slot, self.elector)

    def _drained(self, slot: Slot, elector: SlotElector) -> None:
        if self.running and elector is self.elector:
            self.slots.discard(slot)
            elector.drained(slot)

    def dropped(self, slot: Slot) -> None:
        self.slots.discard(slot)
        self.lost_slots += 1


def overlaps(replicas: list[Replica]) -> list[str]:
    """Return each time during which two processes might write to the same namespace."""
    periods = [
        (begin, end, slot, f"{replica.name} process {number}")
        for replica in replicas
        for number, rights in enumerate(replica.rights)
        for slot, leadership in rights.terms
        for begin, end in _within(leadership.periods, rights.memberships)
    ]
    return [
        f"{who} and {other} from {max(begin, its_begin):.3f}: {slot} and {its}"
        for (begin, end, slot, who), (its_begin, its_end, its, other) in itertools.combinations(periods, 2)
        if who != other and begin < its_end and its_begin < end and (slot == its or slot.count != its.count)
    ]


def _within(periods: list[list[float]], memberships: list[RecordedLeadership]) -> list[tuple[float, float]]:
    """Return the parts of the periods within the memberships."""
    shared = [period for membership in memberships for period in membership.periods]
    found = [(max(begin, since), min(end, until)) for begin, end in periods for since, until in shared]
    return [(begin, end) for begin, end in found if begin < end]


_groups = itertools.count(5000)
