"""Metrics, in Prometheus' form at /metrics."""

from prometheus_client import Counter

_DRIFT_CORRECTED = Counter(
    "coxswain_drift_corrected",
    "Fields of children that someone else had changed and that were put back.",
    ["kind"],
)


def drift_corrected(kind: str) -> None:
    """Count a field that was put back.

    No label names its field manager: any tenant can invent manager names, and each would be a time series. The
    WebApp's status and Events name the manager.
    """
    _DRIFT_CORRECTED.labels(kind=kind).inc()
