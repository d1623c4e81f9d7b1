"""What was measured, and what it means: lost updates, percentiles, judgements. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conflict_lab import template
from conflict_lab.template import Thing
from conflict_lab.ways import Workload

BUSY = 0.9
"""A client that used so much of a core may have been the limit, and not the API server."""


@dataclass(frozen=True)
class Cell:
    """One way, one workload, so many writers."""

    way: str
    workload: Workload
    writers: int
    seconds: float
    acknowledged: int
    lost: int
    conflicts: int
    """409s, with and without causes."""
    with_causes: int
    """Those of the 409s that name the field and its manager."""
    unprocessable: int
    """422s."""
    timeouts: int
    """504s: the server had tried for 34 seconds; whether it was written is not known."""
    retries: int
    """Attempts after a refusal."""
    reads: int
    writes: int
    p99: float
    """Seconds; of the acknowledged updates, each with its reads and retries."""
    shut_out: int
    """Writers of which no update was acknowledged."""
    client: float
    """Cores that the writers' process used."""
    server: float
    """Cores that the API server and etcd used."""

    @property
    def rate(self) -> float:
        """Updates acknowledged per second."""
        return self.acknowledged / self.seconds

    @property
    def kept(self) -> int:
        """Acknowledged updates that are in the object at the end."""
        return self.acknowledged - self.lost

    @property
    def kept_rate(self) -> float:
        """Those per second."""
        return self.kept / self.seconds

    @property
    def refused(self) -> int:
        """Writes that were not accepted."""
        return self.conflicts + self.unprocessable + self.timeouts

    @property
    def lost_share(self) -> float:
        """Lost updates in parts of the acknowledged ones."""
        return self.lost / self.acknowledged if self.acknowledged else 0.0

    @property
    def cost(self) -> float:
        """Requests for each acknowledged update."""
        return (self.reads + self.writes) / self.acknowledged if self.acknowledged else math.inf

    @property
    def limited_by_client(self) -> bool:
        """Whether the figure may be of the writers' process and not of the server."""
        return self.client >= BUSY


def lost(workload: Workload, acknowledged: Mapping[str, int], final: Thing) -> int:
    """Return how many acknowledged increments are not in the final object."""
    if workload is Workload.SHARED:
        return sum(acknowledged.values()) - template.counter(final)
    found = template.entries(final)
    return sum(count - found.get(writer, 0) for writer, count in acknowledged.items())


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that so many per cent of the values do not exceed; 0 without any."""
    if not values:
        return 0.0
    return sorted(values)[max(math.ceil(len(values) * percent / 100), 1) - 1]


class Case(StrEnum):
    """What happens between a writer's look at the object and its write."""

    SHARED = "another changed the same field"
    EQUAL = "another wrote the same value there"
    OWN = "another changed its own entry"
    MOVED = "another removed its entry before mine"


class Verdict(StrEnum):
    """What became of the object."""

    KEPT = "both changes are there"
    REFUSED = "refused, and the other's change is there"
    LOST = "the other's change is lost"
    ASTRAY = "a third one's entry was written to"


@dataclass(frozen=True)
class Meeting:
    """Two writers of which both had looked before either wrote: the answer to the second, and the outcome."""

    way: str
    case: Case
    status: int
    reason: str
    """As the Status object says it; empty where the write was accepted."""
    causes: tuple[str, ...]
    """The reasons of the causes in it."""
    verdict: Verdict


def judge(
    *, accepted: bool, before: Mapping[str, int], wanted: Mapping[str, int], found: Mapping[str, int], third: str
) -> Verdict:
    """Tell what a second write did: numbers by name before it, as both writers want them, and as they were found."""
    if not accepted and found == before:
        return Verdict.REFUSED
    if found == wanted:
        return Verdict.KEPT
    if found.get(third) != before.get(third):
        return Verdict.ASTRAY
    return Verdict.LOST


@dataclass(frozen=True)
class Machine:
    """Where it ran."""

    kubernetes: str
    date: str
    cores: int
    load: float
    """Of the minute before."""
    cell_seconds: float
    load_after: float = 0.0
    """Of the last minute of the run, the lab itself in it."""


@dataclass(frozen=True)
class Results:
    """All of a run."""

    machine: Machine
    cells: tuple[Cell, ...]
    meetings: tuple[Meeting, ...]

    def of(self, way: str, workload: Workload) -> tuple[Cell, ...]:
        """Return the cells of one way, the fewest writers first."""
        found = [cell for cell in self.cells if (cell.way, cell.workload) == (way, workload)]
        return tuple(sorted(found, key=lambda cell: cell.writers))

    def cell(self, way: str, workload: Workload, writers: int) -> Cell:
        """Return one cell."""
        return next(cell for cell in self.of(way, workload) if cell.writers == writers)

    def most(self, way: str, workload: Workload) -> Cell:
        """Return the cell of one way with the most writers."""
        return self.of(way, workload)[-1]

    def meeting(self, way: str, case: Case) -> Meeting:
        """Return one meeting."""
        return next(each for each in self.meetings if (each.way, each.case) == (way, case))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many writers there were."""
        return tuple(sorted({cell.writers for cell in self.cells}))
