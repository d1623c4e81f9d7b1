"""Prints the share of the metrics in the operator's CPU time for a new WebApp: `python -m bench.metrics_share`.

It multiplies the number of recorded values by the time of each. A comparison of two whole runs (`bench.creation_cost`)
shows differences of some percent only on an idle machine.
"""

import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import REGISTRY

from bench.creation_cost import wave
from coxswain.kernel.cache.condition_counts import ConditionCounts
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.conditions import READY
from coxswain.metrics import ControllerMetrics, QueueMetrics, RequestMetrics
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.status import RULES

SIZE = 200
CALLS = 5_000
REPEATS = 7


@dataclass(frozen=True)
class Part:
    """One place that records values."""

    name: str
    series: str
    """The series that counts its calls."""
    record: Callable[[], object]


def main() -> int:
    """Measure, print, and return the exit code."""
    share(print)
    return 0


def share(say: Callable[[str], None]) -> float:
    """Return the percentage of the metrics in the CPU time of the operator, without HTTP and TLS."""
    controller, queue, requests = ControllerMetrics("share"), QueueMetrics("share"), RequestMetrics("http://share")
    counts = ConditionCounts(RULES.types)
    webapp, changed = (_webapp(status) for status in ("True", "False"))

    def request() -> None:
        requests.waited("PATCH", 0.0001)
        with requests.request("PATCH") as answered:
            answered(201)

    def key() -> None:
        queue.added()
        queue.taken(0.001)
        queue.done(0.02)
        # The watch delivers the WebApp and its status: each changes the counts, and enqueues it.
        counts.replace(webapp, changed)

    parts = (
        Part("requests", "rest_client_request_duration_seconds_count", request),
        Part(
            "reconciles", "controller_runtime_reconcile_time_seconds_count", lambda: controller.reconciled("success", 1)
        ),
        Part("keys", "workqueue_adds_total", key),
        Part("delays", "workqueue_retries_total", queue.delayed),
    )
    before = [_total(part.series) for part in parts]
    milliseconds = 1000 * wave(SIZE) / SIZE
    calls = [(_total(part.series) - count) / SIZE for part, count in zip(parts, before, strict=True)]
    microseconds = 0.0
    for part, count in zip(parts, calls, strict=True):
        each = min(timeit.repeat(part.record, number=CALLS, repeat=REPEATS)) / CALLS * 1e6
        microseconds += count * each
        say(f"{part.name}: {count:.1f} for each WebApp, {each:.1f} microseconds each")
    percentage = microseconds / milliseconds / 10
    say(
        f"metrics: {microseconds:.0f} microseconds of {milliseconds:.1f} ms for each WebApp, {percentage:.1f} %"
        " (without the CPU time of HTTP and TLS)"
    )
    return percentage


def _webapp(ready: str) -> Projection:
    conditions = [{"type": each, "status": ready if each == READY else "True"} for each in RULES.types]
    return Projection(WEBAPP, "shop", "web", "uid", 1, False, {"status": {"conditions": conditions}})


def _total(series: str) -> float:
    return sum(each.value for family in REGISTRY.collect() for each in family.samples if each.name == series)


if __name__ == "__main__":
    sys.exit(main())
