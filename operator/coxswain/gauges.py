"""Gauges for /metrics that are read at each scrape, so that nothing must keep them in step."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


@dataclass(frozen=True)
class Readings:
    """The values of the gauges at one moment."""

    controller: str = ""
    """Name of the controller and its workqueue."""
    workers: int = 0
    """Number of workers."""
    active_workers: int = 0
    """Number of in-flight reconciles."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """Number of keys that wait for a worker, by priority."""
    processing: Sequence[float] = ()
    """Seconds since each key in processing was taken."""
    event_ages: Mapping[str, float] = field(default_factory=dict)
    """Seconds since the last data of the quietest watch, by kind."""
    relists: Mapping[str, float] = field(default_factory=dict)
    """Unix time of the last successful LIST of the scope with the oldest one, by kind; 0 before the first."""
    objects: Mapping[str, int] = field(default_factory=dict)
    """Number of cached objects, by kind."""
    parent: str = ""
    """Kind of the parents."""
    conditions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Number of parents, by type and status of a condition."""
    contested: int = 0
    """Number of fields with suspended enforcement."""
    led_slots: int = 0
    """Number of slots that this process leads."""


@contextmanager
def collected(read: Callable[[], Readings]) -> Iterator[None]:
    """Serve the gauges within the context. `read` is called at each scrape, in the main loop."""
    collector = _Gauges(read)
    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)


class _Gauges(Collector):
    def __init__(self, read: Callable[[], Readings]) -> None:
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        return _families(self._read())

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Return the names for the registry, without reading."""
        return _families(Readings())


def _families(now: Readings) -> Iterator[GaugeMetricFamily]:
    yield from _of_the_workers(now)
    yield from _of_the_cache(now)
    yield from _of_the_parents(now)
    yield _gauge(
        "coxswain_led_slots",
        "Slots that this process leads: 1 or 0 with one slot.",
        [],
        {(): now.led_slots},
    )
    yield _gauge(
        "coxswain_build_info", "Versions of the operator; always 1.", ["version", "python", "kopf"], {_BUILD: 1}
    )


def _of_the_workers(now: Readings) -> Iterator[GaugeMetricFamily]:
    """Return the gauges of the workers and the workqueue, named as in controller-runtime."""
    controller, queue = (now.controller,), (now.controller, now.controller)
    yield _gauge(
        "controller_runtime_active_workers", "In-flight reconciles.", ["controller"], {controller: now.active_workers}
    )
    yield _gauge(
        "controller_runtime_max_concurrent_reconciles", "Number of workers.", ["controller"], {controller: now.workers}
    )
    yield _gauge(
        "workqueue_depth",
        "Keys that wait for a worker, by the reason why they are queued.",
        ["name", "controller", "priority"],
        {(*queue, priority): count for priority, count in now.depths.items()},
    )
    yield _gauge(
        "workqueue_unfinished_work_seconds",
        "Sum of the times of all keys in processing. It grows by one per second for each stuck reconcile.",
        ["name", "controller"],
        {queue: sum(now.processing)},
    )
    yield _gauge(
        "workqueue_longest_running_processor_seconds",
        "Time of the longest of the keys in processing.",
        ["name", "controller"],
        {queue: max(now.processing, default=0.0)},
    )


def _of_the_cache(now: Readings) -> Iterator[GaugeMetricFamily]:
    yield _gauge(
        "coxswain_watch_last_event_age_seconds",
        "Time since the last event or bookmark of the quietest watch of a kind.",
        ["kind"],
        {(kind,): age for kind, age in now.event_ages.items()},
    )
    yield _gauge(
        "coxswain_relist_last_success_timestamp_seconds",
        "Unix time of the last successful LIST of a kind, the oldest of all served namespaces; 0 before the first.",
        ["kind"],
        {(kind,): time for kind, time in now.relists.items()},
    )
    yield _gauge(
        "coxswain_objects", "Cached objects.", ["kind"], {(kind,): count for kind, count in now.objects.items()}
    )


def _of_the_parents(now: Readings) -> Iterator[GaugeMetricFamily]:
    yield _gauge(
        "coxswain_parents",
        "Parents by the status of each condition. A missing condition counts as Unknown.",
        ["kind", "condition", "status"],
        {(now.parent, *found): count for found, count in now.conditions.items()},
    )
    yield _gauge(
        "coxswain_contested_fields",
        "Fields and deleted children with suspended enforcement, because others overwrite them again and again.",
        [],
        {(): now.contested},
    )


_BUILD = (version("coxswain"), platform.python_version(), version("kopf"))


def _gauge(
    name: str, documentation: str, labels: Sequence[str], values: Mapping[tuple[str, ...], float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, documentation, labels=labels)
    for label_values, value in values.items():
        family.add_metric(label_values, value)
    return family
