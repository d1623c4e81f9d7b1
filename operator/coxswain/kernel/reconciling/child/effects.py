"""Record the writes that took effect: for the report of this reconcile, and as rounds of write wars."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from coxswain.kernel.objects.manifests import kind_and_name
from coxswain.kernel.reconciling.child.corrections import contested_paths
from coxswain.kernel.reconciling.child.decide import Target, plan_for
from coxswain.kernel.reconciling.memory.replacement import Deletion
from coxswain.kernel.reconciling.memory.writes import Correction
from coxswain.kernel.workload import P

log = logging.getLogger(__name__)


def confirm(target: Target[P], now: float) -> None:
    """Record the writes whose answer was lost, if the live object shows them. `now` is in monotonic seconds."""
    memory, live = target.memory, target.live
    if memory.deletion is not None and memory.deletion.is_seen(live):
        record_deletion(target, memory.deletion, now)
    if memory.create_unanswered and live is not None:
        memory.create_unanswered = False
        # A created object has our label.
        if target.is_ours and live.owned is not None and live.is_watched:
            record_creation(target, now)
    planned = memory.planned
    if planned is None or live is None or not planned.is_decided(live):
        return
    after = plan_for(target, live)
    held = (each.difference for each in (*after.left, *after.halted))
    open_paths = {each.path for each in (*after.differences, *held)}
    record_corrections(target, [each for each in planned.corrections if each.difference.path not in open_paths], now)
    adopted = memory.writes.adopted or (planned.adopting and target.is_ours)
    memory.writes = replace(memory.writes, adopted=adopted)
    still_open = tuple(each for each in planned.corrections if each.difference.path in open_paths)
    memory.planned = replace(planned, corrections=still_open, sent_for=None)


def record_corrections(target: Target[P], corrections: Sequence[Correction], now: float) -> None:
    """Record the differences that an apply has corrected."""
    memory = target.memory
    memory.wars.enforced(target.manifest, contested_paths(corrections), now)
    memory.writes = replace(memory.writes, corrections=(*memory.writes.corrections, *corrections))


def record_creation(target: Target[P], now: float) -> None:
    """Record a creation. It completes a replacement, and is a round of a war if others had deleted the child."""
    memory = target.memory
    if memory.deletion is not None and not memory.deletion.answered:
        record_deletion(target, memory.deletion, now)
    log.info("created %s %s", *kind_and_name(target.manifest))
    memory.writes = replace(memory.writes, created=True, replaced=memory.deletion is not None)
    if memory.deleted_by_others:
        memory.deletions.recreated(target.intent, now)
    memory.deletion, memory.create_unanswered = None, False


def record_deletion(target: Target[P], deletion: Deletion, now: float) -> None:
    """Record the first half of a replacement."""
    memory = target.memory
    memory.deletion = replace(deletion, answered=True)
    log.info("deleted %s %s, to create it again: %s is immutable", *kind_and_name(target.manifest), deletion.field)
    memory.wars.enforced(deletion.manifest, deletion.paths, now)
    memory.writes = replace(memory.writes, deleted_for=deletion.field)
