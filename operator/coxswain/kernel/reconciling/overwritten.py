"""Statuses that another process overwrites: written again a few times, then left alone for a while.

Two operators of different versions report different statuses for one WebApp. Each would overwrite the status of the
other forever, at the speed of the watches.
"""

from coxswain.kernel.api.events import EventRecord
from coxswain.kernel.objects.kinds import WEBAPP
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory import Memory
from coxswain.webapp.conditions import fingerprint
from coxswain.webapp.spec import Manifest

_STATUS = ("f:status",)

_TOLD = EventRecord(
    "Contested",
    "WriteStatus",
    "status is overwritten as often as coxswain writes it, so it is left alone for a while; the probable cause is a "
    "second coxswain operator that serves this namespace: leave only one of them running",
    "Warning",
)


def is_left_alone(memory: Memory, webapp: Projection, now: float) -> bool:
    """Tell whether the status of another process stays for now; a new generation ends that."""
    return _is_by_another(memory, webapp) and bool(memory.status_wars.resting(_manifest(webapp), now))


def status_written(memory: Memory, before: Projection, after: Projection | None, now: float) -> list[EventRecord]:
    """Count a written status; return the Event that reports if it is left alone from now on."""
    fought = _is_by_another(memory, before)
    if after is not None:
        memory.written_status = fingerprint(after.content.get("status", {}))
    memory.status_wars.forget_settled(_manifest(before))
    if not fought:
        return []
    memory.status_wars.enforced(_manifest(before), [_STATUS], now)
    return [_TOLD] if memory.status_wars.resting(_manifest(before), now) else []


def _is_by_another(memory: Memory, webapp: Projection) -> bool:
    return memory.written_status not in (None, fingerprint(webapp.content.get("status", {})))


def _manifest(webapp: Projection) -> Manifest:
    """Return the status as a contested field: a new generation is a new intent."""
    metadata = webapp.content["metadata"]
    return {"kind": WEBAPP.kind, "metadata": {"name": webapp.name}, "status": metadata.get("generation", 0)}
