"""Faults that excuse a delay."""

from simulation.workloads import Workload

_ALWAYS_SPECIFIC = ("reads paused", "refusing policy", "changing policy", "garbled", "hidden")
_SPECIFIC = ("always a conflict", "always not found", "invalid", "lost answer")
_OF_WATCHES = ("watch refused", "silent watch", "hanging watch", "late watch")
_BLOCKING = ("refusing policy", "changing policy", "garbled", "hidden", "time-out", "internal error", "invalid")


def is_general(kind: str, plural: str | None, workload: Workload) -> bool:
    """Return whether a fault excuses every gap. Paused reads do not excuse missing writes."""
    if kind in _ALWAYS_SPECIFIC or plural == "leases":
        return False
    if kind in _SPECIFIC and plural is not None:
        return False
    if plural in (*workload.optional, *workload.named) and (kind in _OF_WATCHES or kind.startswith("no right to")):
        return False
    if kind.startswith("no right to"):
        return kind.endswith((" get", " list", " watch")) or plural == workload.parent
    return not (kind in ("time-out", "internal error") and plural in workload.children)


def blocks(kind: str) -> bool:
    """Return whether a fault prevents successful writes to its resource."""
    return kind in _BLOCKING or kind.startswith(("always", "no right to"))
