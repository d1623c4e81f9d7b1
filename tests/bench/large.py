"""B3, B4, B6 and B7: coxswain with many WebApps: idle, during drift, and after a restart."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import Signals

from bench.lives import line, missing
from bench.meter import cpu_seconds
from bench.results import COXSWAIN, Measured, percentile
from bench.rig import Rig, counted, writes
from cluster import AuditEvent, AuditLog
from cluster.progress import Progress

QUIET_AFTER_START = 5.0
"""Seconds without a request of the operator after which its start is complete."""


@dataclass(frozen=True)
class Lengths:
    """Durations of the measurements over time, in seconds; 0 skips one."""

    heal: float
    steady: float
    """Longer than the resync interval, so that it includes a resync."""


class Large:
    """One cluster with `size` converged WebApps, and its measurements."""

    def __init__(self, rig: Rig, size: int, progress: Progress) -> None:
        self.rig = rig
        self.size = size
        self.measured: list[Measured] = []
        self._progress = progress

    def add(
        self,
        benchmark: str,
        number: int,
        figures: Mapping[str, float],
        events: Sequence[AuditEvent] = (),
        void: Sequence[str] = (),
    ) -> None:
        """Add a run."""
        one = Measured(benchmark, COXSWAIN, self.size, number, "", figures, counted(events), tuple(void))
        self.measured.append(one)
        self._progress(line(one))

    def converge(self) -> None:
        """B7: create the WebApps; measure the memory before and after, and its peak."""
        mark = self.rig.mark()
        self.rig.operator.start()
        self._come_to_rest(mark)
        idle, meter, mark = self.rig.memory(), self.rig.meter(), self.rig.mark()
        answer = self.rig.load("create", self.size, timeout=120 + self.size)
        self.rig.quiet(mark)
        figures = {"MB without WebApps": idle, "MB": self.rig.memory()}
        self.add("B7", 1, figures | {"peak MB": meter.figures()["operator peak MB"]}, (), missing(answer))

    def restart(self, number: int) -> None:
        """B6: kill and restart the operator; measure the cost until it is idle."""
        self.rig.operator.stop(Signals.SIGKILL)
        mark, started = self.rig.mark(), time.monotonic()
        self.rig.operator.start()
        synced = time.monotonic() - started
        meter_of_all = self.rig.meter()
        found, at_rest = self._come_to_rest(mark)
        figures = {
            "seconds": synced,
            "at rest after": at_rest - started,
            "writes": writes(found),
            "LISTs of a kind": most_lists(found),
            "pages of LISTs": sum(event.verb == "list" for event in found),
            "operator CPU": cpu_seconds(self.rig.pid),
            "API server CPU since synced": meter_of_all.figures()["API server CPU"],
            "MB": self.rig.memory(),
        }
        void = [f"{writes(found)} writes"] if writes(found) else []
        self.add("B6", number, figures, found, void and self.rig.differences()[:3])

    def _come_to_rest(self, mark: AuditLog) -> tuple[list[AuditEvent], float]:
        """Wait until the operator has sent no request for some seconds; return its requests and the last one's time."""
        found: list[AuditEvent] = []
        last = time.monotonic()
        while time.monotonic() - last < QUIET_AFTER_START:
            time.sleep(0.2)
            news = self.rig.events(mark)
            if news:
                found += news
                last = time.monotonic()
        return found, last

    def steady(self, seconds: float) -> None:
        """B3: measure an idle time without changes."""
        mark, meter = self.rig.mark(), self.rig.meter()
        time.sleep(seconds)  # the length of the measurement
        found, hours = self.rig.events(mark), seconds / 3600
        figures = {
            "requests per hour": sum(counted(found).values()) / hours,
            "LISTs of a kind": most_lists(found),
            "writes per hour": writes(found) / hours,
            "operator CPU per hour": meter.figures()["operator CPU"] / hours,
            "seconds measured": seconds,
        }
        self.add("B3", 1, figures, found)

    def heal(self, number: int, seconds: float) -> None:
        """B4: cause a foreign edit or deletion each second."""
        mark = self.rig.mark()
        answer = self.rig.load("heal", self.size, first=0, seconds=seconds)
        before, within = self.rig.quiet(mark)
        latencies = answer["latencies"]
        figures = {
            "p50": percentile(latencies, 0.5),
            "p99": percentile(latencies, 0.99),
            "slowest": max(latencies),
            "edits": len(latencies) + answer["unhealed"],
            "unhealed": answer["unhealed"],
        }
        wrong = self.rig.differences()[:3] + ([f"in the quiet window: {counted(within)}"] if writes(within) else [])
        self.add("B4", number, figures, before, wrong)


def most_lists(events: Sequence[AuditEvent]) -> int:
    """Return the number of LISTs of the most listed kind, regardless of pages."""
    begun = Counter(event.resource for event in events if event.verb == "list" and "continue=" not in event.uri)
    return max(begun.values(), default=0)


def large(size: int, rounds: int, restarts: int, lengths: Lengths, progress: Progress) -> list[Measured]:
    """Measure with many WebApps: memory, restarts, and requests over time."""
    with Rig(COXSWAIN, size) as rig:
        found = Large(rig, size, progress)
        found.converge()
        for number in range(1, restarts + 1):
            found.restart(number)
        for number in range(1, rounds + 1 if lengths.heal else 0):
            found.heal(number, lengths.heal)
        if lengths.steady:
            found.steady(lengths.steady)
        return found.measured
