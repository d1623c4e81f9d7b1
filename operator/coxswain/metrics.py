"""Counters and histograms for /metrics. `gauges` has the values that are read at each scrape.

The metrics `controller_runtime_*`, `workqueue_*` and `rest_client_requests_total` have the names, labels and buckets of
controller-runtime, so that its dashboards and alerts work: its files pkg/internal/controller/metrics/metrics.go,
pkg/internal/metrics/workqueue.go and pkg/metrics/client_go_adapter.go. The other metrics `rest_client_*` are those of
component-base: metrics/prometheus/restclient/metrics.go.

No label has a value that a tenant can choose, such as a name or a field manager: each value would add a time series.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Literal, get_args
from urllib.parse import urlsplit

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

# They double the number of series, and controller-runtime has none.
disable_created_metrics()  # type: ignore[no-untyped-call]

Result = Literal["success", "requeue", "requeue_after"]
"""The result of a reconcile without an error: `requeue` is at once, `requeue_after` at a later time."""

_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5),
    *(1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE_BUCKETS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_RELIST_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)

_NO_RESPONSE = "<error>"
"""The code of a request without a response, as in client-go."""

_RECONCILES = Counter(
    "controller_runtime_reconcile",
    "Reconciles by result: success, requeue, requeue_after, error.",
    ["controller", "result"],
)
_ERRORS = Counter("controller_runtime_reconcile_errors", "Reconciles with an error.", ["controller"])
_TERMINAL_ERRORS = Counter(
    "controller_runtime_terminal_reconcile_errors",
    "Reconciles with an error that is not retried until something changes.",
    ["controller"],
)
_PANICS = Counter(
    "controller_runtime_reconcile_panics",
    "Reconciles with an internal error: a defect of the operator.",
    ["controller"],
)
_RECONCILE_TIME = Histogram(
    "controller_runtime_reconcile_time_seconds", "Duration of reconciles.", ["controller"], buckets=_RECONCILE_BUCKETS
)

_ADDS = Counter("workqueue_adds", "Keys added to the workqueue.", ["name", "controller"])
_RETRIES = Counter("workqueue_retries", "Keys added to the workqueue with a delay.", ["name", "controller"])
_QUEUE_TIME = Histogram(
    "workqueue_queue_duration_seconds",
    "Time of a key in the workqueue until a worker takes it.",
    ["name", "controller"],
    buckets=_QUEUE_BUCKETS,
)
_WORK_TIME = Histogram(
    "workqueue_work_duration_seconds",
    "Time that a worker processes a key.",
    ["name", "controller"],
    buckets=_QUEUE_BUCKETS,
)

_REQUESTS = Counter("rest_client_requests", "Requests to the API server.", ["code", "method", "host"])
_REQUEST_TIME = Histogram(
    "rest_client_request_duration_seconds",
    "Time from sending a request to the end of its response.",
    ["verb", "host"],
    buckets=_REQUEST_BUCKETS,
)
_THROTTLE_TIME = Histogram(
    "rest_client_rate_limiter_duration_seconds",
    "Time that a request waits in the operator before it is sent.",
    ["verb", "host"],
    buckets=_REQUEST_BUCKETS,
)

_WATCH_RESTARTS = Counter("coxswain_watch_restarts", "Restarts of all watches.")
_RELIST_TIME = Histogram(
    "coxswain_relist_duration_seconds", "Duration of successful LISTs of a kind.", ["kind"], buckets=_RELIST_BUCKETS
)
_HISTORY_RESETS = Counter(
    "coxswain_history_resets", "Detected losses of the API server's history, such as a restore of etcd."
)
_EVENTS_DROPPED = Counter("coxswain_events_dropped", "Kubernetes Events that could not be posted.")
_DRIFT_CORRECTED = Counter(
    "coxswain_drift_corrected",
    "Fields of children that someone else had changed and that were put back.",
    ["kind"],
)
_UNLISTED = Gauge(
    "coxswain_unlisted",
    "Kinds that cannot be listed; the namespace is empty where the whole cluster is served.",
    ["kind", "namespace"],
)
_UNREADABLE = Counter(
    "coxswain_unreadable_objects", "Objects of a LIST or a watch that could not be read and were skipped.", ["kind"]
)


class ControllerMetrics:
    """The metrics of the reconciles of one controller."""

    def __init__(self, controller: str) -> None:
        """Create all series with the value 0."""
        self._results = {result: _RECONCILES.labels(controller, result) for result in get_args(Result)}
        self._errors = (_RECONCILES.labels(controller, "error"), _ERRORS.labels(controller))
        self._terminal = _TERMINAL_ERRORS.labels(controller)
        self._panics = _PANICS.labels(controller)
        self._time = _RECONCILE_TIME.labels(controller)

    def reconciled(self, result: Result, seconds: float) -> None:
        """Count a reconcile without an error."""
        self._results[result].inc()
        self._time.observe(seconds)

    def failed(self, seconds: float, *, terminal: bool = False, panic: bool = False) -> None:
        """Count a reconcile with an error: `terminal` if it is not retried, `panic` for an internal error."""
        for counter in self._errors:
            counter.inc()
        self._terminal.inc(terminal)
        self._panics.inc(panic)
        self._time.observe(seconds)


class QueueMetrics:
    """The metrics of one workqueue."""

    def __init__(self, name: str) -> None:
        """Create all series with the value 0."""
        self._adds = _ADDS.labels(name, name)
        self._retries = _RETRIES.labels(name, name)
        self._queue_time = _QUEUE_TIME.labels(name, name)
        self._work_time = _WORK_TIME.labels(name, name)

    def added(self) -> None:
        """Count a key that is due now."""
        self._adds.inc()

    def delayed(self) -> None:
        """Count a key that is due after a delay."""
        self._retries.inc()

    def taken(self, seconds: float) -> None:
        """Record the time of a key in the queue."""
        self._queue_time.observe(seconds)

    def done(self, seconds: float) -> None:
        """Record the time of a key in a worker."""
        self._work_time.observe(seconds)


# Looking a series up takes longer than recording the value.
_requests = lru_cache(_REQUESTS.labels)


@lru_cache
def _duration(histogram: Histogram, method: str, host: str) -> Histogram:
    return histogram.labels(method, host)


class RequestMetrics:
    """The metrics of the requests to one API server."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Use host and port of the URL of the API server as label, without credentials."""
        self._host = urlsplit(url).netloc.rpartition("@")[2]
        self._clock = clock

    def waited(self, method: str, seconds: float) -> None:
        """Record the time that a request waited in the operator."""
        _duration(_THROTTLE_TIME, method, self._host).observe(seconds)

    @contextmanager
    def request(self, method: str, *, timed: bool = True) -> Iterator[Callable[[int], None]]:
        """Count the request within the context and, if `timed`, record its duration.

        Call the yielded function with the status of the response. Without a call, there was no response.
        """
        code, begun = _NO_RESPONSE, self._clock()

        def answered(status: int) -> None:
            nonlocal code
            code = str(status)

        try:
            yield answered
        finally:
            _requests(code, method, self._host).inc()
            if timed:
                _duration(_REQUEST_TIME, method, self._host).observe(self._clock() - begun)


def create_series(watched: Iterable[str], children: Iterable[str]) -> None:
    """Create the series of the counters by kind with the value 0.

    PromQL's `increase` does not see the first count of a series that begins with it.

    Args:
        watched: the plurals of the watched kinds.
        children: the names of the kinds of children, such as Deployment.
    """
    for kind in watched:
        _UNREADABLE.labels(kind=kind)
    for kind in children:
        _DRIFT_CORRECTED.labels(kind=kind)


def watches_restarted() -> None:
    """Count a restart of all watches."""
    _WATCH_RESTARTS.inc()


def relisted(kind: str, seconds: float) -> None:
    """Record the duration of a successful LIST of a kind."""
    _RELIST_TIME.labels(kind).observe(seconds)


def history_reset() -> None:
    """Count a detected loss of the API server's history."""
    _HISTORY_RESETS.inc()


def event_dropped() -> None:
    """Count an Event that could not be posted."""
    _EVENTS_DROPPED.inc()


def drift_corrected(kind: str) -> None:
    """Count a corrected field.

    The metric has no label for the field manager: tenants can choose manager names freely, and each would create a time
    series. The status and the Events of the WebApp name the manager.
    """
    _DRIFT_CORRECTED.labels(kind=kind).inc()


def unlisted(kind: str, namespace: str | None, failing: bool) -> None:
    """Set whether listing a kind fails in a namespace, or with None in the cluster."""
    _UNLISTED.labels(kind=kind, namespace=namespace or "").set(failing)


def unreadable(kind: str) -> None:
    """Count an object that could not be decoded."""
    _UNREADABLE.labels(kind=kind).inc()


_LEADING = Gauge("leader_election_master_status", "Whether this process holds the Lease of that name.", ["name"])


def leading(name: str, *, is_leader: bool) -> None:
    """Set whether this process holds a Lease. Any thread may call this."""
    _LEADING.labels(name=name).set(is_leader)
