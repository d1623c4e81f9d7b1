"""The measurements and values derived from them: lost updates, percentiles, verdicts. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conflict_lab.subject import TEMPLATE, Subject, Thing
from conflict_lab.ways import Workload

BUSY = 0.9
"""From this share of a core on, the client may have been the limit instead of the API server."""


@dataclass(frozen=True)
class Cell:
    """The measurement of one write method, one workload and one number of writers."""

    way: str
    workload: Workload
    writers: int
    seconds: float
    acknowledged: int
    lost: int
    conflicts: int
    """409s, with and without causes."""
    with_causes: int
    """The 409s that name the field and its manager."""
    unprocessable: int
    """422s."""
    timeouts: int
    """504s: the server gave up after 34 seconds, and the result of the write is unknown."""
    retries: int
    """Attempts after a refusal."""
    reads: int
    writes: int
    p99: float
    """Seconds; of the acknowledged updates, including their reads and retries."""
    shut_out: int
    """Writers without an acknowledged update."""
    client: float
    """Cores used by the writers' process."""
    server: float
    """Cores used by the API server and etcd."""

    @property
    def rate(self) -> float:
        """Updates acknowledged per second."""
        return self.acknowledged / self.seconds

    @property
    def kept(self) -> int:
        """Acknowledged updates in the final object."""
        return self.acknowledged - self.lost

    @property
    def kept_rate(self) -> float:
        """Kept updates per second."""
        return self.kept / self.seconds

    @property
    def refused(self) -> int:
        """Writes that the server did not accept."""
        return self.conflicts + self.unprocessable + self.timeouts

    @property
    def lost_share(self) -> float:
        """Lost updates as a share of the acknowledged ones."""
        return self.lost / self.acknowledged if self.acknowledged else 0.0

    @property
    def cost(self) -> float:
        """Requests per acknowledged update."""
        return (self.reads + self.writes) / self.acknowledged if self.acknowledged else math.inf

    @property
    def limited_by_client(self) -> bool:
        """Whether the writers' process may have been the limit instead of the server."""
        return self.client >= BUSY


def lost(workload: Workload, acknowledged: Mapping[str, int], final: Thing, subject: Subject = TEMPLATE) -> int:
    """Return the number of acknowledged increments missing from the final object."""
    if workload is Workload.SHARED:
        return sum(acknowledged.values()) - subject.counter(final)
    found = subject.entries(final)
    return sum(count - found.get(writer, 0) for writer, count in acknowledged.items())


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value with at least `percent` per cent of the values at or below it; 0 for no values."""
    if not values:
        return 0.0
    return sorted(values)[max(math.ceil(len(values) * percent / 100), 1) - 1]


class Case(StrEnum):
    """The change of the object between a writer's read and its write."""

    SHARED = "another changed the same field"
    EQUAL = "another wrote the same value there"
    OWN = "another changed its own entry"
    MOVED = "another removed its entry before mine"


class Verdict(StrEnum):
    """The effect on the object."""

    KEPT = "both changes are there"
    REFUSED = "refused, and the other's change is there"
    LOST = "the other's change is lost"
    ASTRAY = "a third one's entry was written to"


@dataclass(frozen=True)
class Meeting:
    """Two writers that both read before either wrote: the response to the second, and the effect."""

    way: str
    case: Case
    status: int
    reason: str
    """From the Status object; empty for an accepted write."""
    causes: tuple[str, ...]
    """The reasons in the causes of the Status."""
    verdict: Verdict


def judge(
    *, accepted: bool, before: Mapping[str, int], wanted: Mapping[str, int], found: Mapping[str, int], third: str
) -> Verdict:
    """Return the effect of a second write, from the numbers before it, wanted by both writers, and found afterwards."""
    if not accepted and found == before:
        return Verdict.REFUSED
    if found == wanted:
        return Verdict.KEPT
    if found.get(third) != before.get(third):
        return Verdict.ASTRAY
    return Verdict.LOST


@dataclass(frozen=True)
class Machine:
    """The machine of a run."""

    kubernetes: str
    date: str
    cores: int
    load: float
    """Load average of the minute before the run."""
    cell_seconds: float
    load_after: float = 0.0
    """Load average of the last minute of the run, including the lab."""
    commit: str = ""


@dataclass(frozen=True)
class Results:
    """All results of a run."""

    machine: Machine
    cells: tuple[Cell, ...]
    meetings: tuple[Meeting, ...]

    def of(self, way: str, workload: Workload) -> tuple[Cell, ...]:
        """Return the cells of one write method, by number of writers, ascending."""
        found = [cell for cell in self.cells if (cell.way, cell.workload) == (way, workload)]
        return tuple(sorted(found, key=lambda cell: cell.writers))

    def cell(self, way: str, workload: Workload, writers: int) -> Cell:
        """Return one cell."""
        return next(cell for cell in self.of(way, workload) if cell.writers == writers)

    def row(self, workload: Workload, writers: int) -> tuple[Cell, ...]:
        """Return the cells of all ways that the subject accepts."""
        return tuple(cell for cell in self.cells if (cell.workload, cell.writers) == (workload, writers))

    def most(self, way: str, workload: Workload) -> Cell:
        """Return the cell of one write method with the most writers."""
        return self.of(way, workload)[-1]

    def meeting(self, way: str, case: Case) -> Meeting:
        """Return the result of one meeting."""
        return next(each for each in self.meetings if (each.way, each.case) == (way, case))

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of writers, ascending."""
        return tuple(sorted({cell.writers for cell in self.cells}))
