"""Write wars over a status: after a few rounds the operator suspends its status writes.

Two operators of different versions compute different statuses for one parent. Without a brake each would overwrite the
status of the other forever, at the speed of the watches.
"""

from collections.abc import Sequence

from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.status.conflict_report import Repair
from coxswain.kernel.status.urgency import StatusRules

_STATUS = ("f:status",)


def is_suspended(memory: Memory, rules: StatusRules, parent: Projection, now: float) -> bool:
    """Tell whether status writes are suspended. A new generation of the parent ends the suspension."""
    return _is_by_another(memory, rules, parent) and bool(memory.status_wars.suspended(_manifest(parent), now))


def status_written(
    memory: Memory, rules: StatusRules, before: Projection, after: Projection | None, *, manager: str, now: float
) -> list[EventRecord]:
    """Count a status write of the field manager `manager`.

    Return an Event if status writes are suspended from now on.
    """
    overwrites_another = _is_by_another(memory, rules, before)
    if after is not None:
        memory.written_status = rules.fingerprint(after.content.get("status", {}))
    memory.status_wars.forget_settled(_manifest(before))
    if not overwrites_another:
        return []
    memory.status_wars.enforced(_manifest(before), [_STATUS], now)
    if not memory.status_wars.suspended(_manifest(before), now):
        return []
    return [_contested(Commands.of(before, before.kind, manager))]


def status_confirmed(memory: Memory, rules: StatusRules, parent: Projection, repairs: Sequence[Repair]) -> None:
    """Record that the status of a parent is ours, with these repairs in it: its write took effect without an answer."""
    memory.written_status = rules.fingerprint(parent.content.get("status", {}))
    memory.drift.written(repairs)


def _contested(commands: Commands) -> EventRecord:
    problem = "another process overwrites the status each time the operator writes it"
    note = f"{problem}. The operator writes it again later. Probable cause: {commands.two_operators}"
    return EventRecord("Contested", "WriteStatus", note, "Warning")


def _is_by_another(memory: Memory, rules: StatusRules, parent: Projection) -> bool:
    return memory.written_status not in (None, rules.fingerprint(parent.content.get("status", {})))


def _manifest(parent: Projection) -> Manifest:
    """Return a manifest with the status as a contested field. A new generation counts as a new desired value."""
    metadata = parent.content["metadata"]
    return {"kind": parent.kind.kind, "metadata": {"name": parent.name}, "status": metadata.get("generation", 0)}
