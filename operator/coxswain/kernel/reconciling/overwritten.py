"""Statuses overwritten by another process: written again a few times, then suspended for a while.

Two operators of different versions report different statuses for one parent. Each would overwrite the status of the
other forever, at the speed of the watches.
"""

from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory import Memory
from coxswain.kernel.status.urgency import StatusRules

_STATUS = ("f:status",)

_TOLD = EventRecord(
    "Contested",
    "WriteStatus",
    "status is overwritten as often as coxswain writes it, so it is left alone for a while; the probable cause is a "
    "second coxswain operator that serves this namespace: leave only one of them running",
    "Warning",
)


def is_left_alone(memory: Memory, rules: StatusRules, parent: Projection, now: float) -> bool:
    """Tell whether the status of another process stays for now. A new generation ends that."""
    return _is_by_another(memory, rules, parent) and bool(memory.status_wars.resting(_manifest(parent), now))


def status_written(
    memory: Memory, rules: StatusRules, before: Projection, after: Projection | None, now: float
) -> list[EventRecord]:
    """Count a written status. Return an Event if writes are suspended from now on."""
    fought = _is_by_another(memory, rules, before)
    if after is not None:
        memory.written_status = rules.fingerprint(after.content.get("status", {}))
    memory.status_wars.forget_settled(_manifest(before))
    if not fought:
        return []
    memory.status_wars.enforced(_manifest(before), [_STATUS], now)
    return [_TOLD] if memory.status_wars.resting(_manifest(before), now) else []


def _is_by_another(memory: Memory, rules: StatusRules, parent: Projection) -> bool:
    return memory.written_status not in (None, rules.fingerprint(parent.content.get("status", {})))


def _manifest(parent: Projection) -> Manifest:
    """Return the status as a contested field: a new generation is a new intent."""
    metadata = parent.content["metadata"]
    return {"kind": parent.kind.kind, "metadata": {"name": parent.name}, "status": metadata.get("generation", 0)}
