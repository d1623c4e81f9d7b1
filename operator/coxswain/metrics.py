"""Metrics, in Prometheus' form at /metrics."""

from prometheus_client import Counter

_MANAGERS_LIMIT = 50

_DRIFT_CORRECTED = Counter(
    "coxswain_drift_corrected",
    "Fields of children that someone else had changed and that were put back.",
    ["kind", "manager"],
)
_managers: set[str] = set()


def drift_corrected(kind: str, manager: str) -> None:
    """Count a field that was put back; managers beyond the first fifty count as one: names are free."""
    if manager not in _managers and len(_managers) >= _MANAGERS_LIMIT:
        manager = "others"
    _managers.add(manager)
    _DRIFT_CORRECTED.labels(kind=kind, manager=manager).inc()
