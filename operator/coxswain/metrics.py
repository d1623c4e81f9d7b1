"""Prometheus metrics, served at /metrics."""

from prometheus_client import Counter, Gauge

_DRIFT_CORRECTED = Counter(
    "coxswain_drift_corrected",
    "Fields of children that someone else had changed and that were put back.",
    ["kind"],
)


def drift_corrected(kind: str) -> None:
    """Count a corrected field.

    The metric has no label for the field manager: tenants can choose manager names freely, and each would create a time
    series. The status and the Events of the WebApp name the manager.
    """
    _DRIFT_CORRECTED.labels(kind=kind).inc()


_UNLISTED = Gauge(
    "coxswain_unlisted",
    "Kinds that can't be listed; the namespace is empty where the whole cluster is served.",
    ["kind", "namespace"],
)
_UNREADABLE = Counter(
    "coxswain_unreadable_objects", "Objects of a LIST or a watch that could not be read and were skipped.", ["kind"]
)


def unlisted(kind: str, namespace: str | None, failing: bool) -> None:
    """Set whether listing a kind fails in a namespace, or with None in the cluster."""
    _UNLISTED.labels(kind=kind, namespace=namespace or "").set(failing)


def unreadable(kind: str) -> None:
    """Count an object that could not be decoded."""
    _UNREADABLE.labels(kind=kind).inc()
