"""Execute the actions of `decide`: one write each."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from coxswain.kernel.api.errors import ErrorClass, NotSent, OutOfDate, Refused, RequestFailed
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.conflicts.immutable import Remedy
from coxswain.kernel.conflicts.policy import within
from coxswain.kernel.objects.manifests import kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.actions import Apply, Create, Keep, Read, Release, Replace, TakeOwnership
from coxswain.kernel.reconciling.child.adoption import former_managers
from coxswain.kernel.reconciling.child.answers import Answers
from coxswain.kernel.reconciling.child.corrections import contested_paths, corrected, effective, with_authors
from coxswain.kernel.reconciling.child.decide import Target
from coxswain.kernel.reconciling.child.effects import record_corrections, record_creation, record_deletion
from coxswain.kernel.reconciling.child.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.child.name_reader import NameReader
from coxswain.kernel.reconciling.child.ownership import is_note
from coxswain.kernel.reconciling.child.plan_health import field_paths
from coxswain.kernel.reconciling.memory.attempts import Attempt
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.reconciling.memory.replacement import Deletion
from coxswain.kernel.reconciling.memory.unwatched import NOTHING_UNWATCHED
from coxswain.kernel.reconciling.memory.writes import Correction, PlannedApply
from coxswain.kernel.status.health import rejected
from coxswain.kernel.workload import P

log = logging.getLogger(__name__)


class Executor:
    """Writes one child."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        guard: GenerationGuard,
        answers: Answers,
        reader: NameReader,
        *,
        clock: Callable[[], float],
    ) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._store = store
        self._writer = writer
        self._guard = guard
        self._answers = answers
        self._reader = reader

    async def execute(
        self,
        action: Read | Create | Release | Keep | TakeOwnership | Apply | Replace,
        target: Target[P],
        memory: Memory,
    ) -> None:
        """Execute an action.

        Raises:
            RequestFailed: it failed; the cache has learned from the answer.
            HistoryReset: the answer was older than the object of the request.
        """
        if isinstance(action, Read):
            await self._reader.read(target)
            return
        if isinstance(action, Create):
            await self._create(action, target, memory)
            return
        writer = await self._guard.before_a_write(target.parent, memory)
        try:
            if isinstance(action, Replace):
                await self._replace(action, target, writer)
            elif isinstance(action, Release):
                answer = await writer.release(action.live, former_managers(target.parent, action.live))
                self._answers.take_write(target, answer, action.live)
            else:
                await self._apply(action, target, writer)
        except Refused as error:
            if error.error_class is ErrorClass.TERMINAL:
                health, notes = rejected(error.message, target.commands, there=True), target.child_type.notes
                target.memory.attempt = Attempt.of(
                    action.plan.manifest, action.live, health, notes, deleting=isinstance(action, Replace)
                )
            if error.status == 409 and not error.by_admission and not isinstance(action, Release):
                await self._learn_from_conflict(target, action.live, error)
                if not isinstance(action, Replace):
                    await self._guard.check(target.parent, memory)
            raise

    async def _create(self, action: Create, target: Target[P], memory: Memory) -> None:
        if action.vanished:
            # The garbage collector may be faster than the watch of the parents.
            await self._guard.check(target.parent, memory)
        writer = await self._guard.before_a_write(target.parent, memory)
        unanswered, target.memory.create_unanswered = target.memory.create_unanswered, True
        try:
            created = await writer.create(action.manifest)
        except RequestFailed as error:
            if _had_no_effect(error):
                target.memory.create_unanswered = unanswered
            if not isinstance(error, Refused):
                raise
            if error.error_class is ErrorClass.TERMINAL:
                health = rejected(error.message, target.commands, there=False)
                target.memory.attempt = Attempt.of(action.manifest, None, health, target.child_type.notes)
            if error.status != 409 or error.by_admission:
                raise
            # The name is taken. The cache knows neither by whom nor whether its parent is the present one.
            await self._guard.check(target.parent, memory)
            await self._reader.read_existing(target)
            return
        self._answers.take_write(target, created, None)
        record_creation(target, self._clock())
        self._answers.learn(target, created, None)

    async def _apply(self, action: Keep | TakeOwnership | Apply, target: Target[P], writer: Writer) -> None:
        live, memory = action.live, target.memory
        planned = memory.planned = _planned(target, action)
        if isinstance(action, Keep):
            self._answers.take_write(target, await writer.keep(live, action.path, action.value), live)
            return
        if isinstance(action, TakeOwnership):
            self._answers.take_write(target, await writer.take_ownership(live, action.plan.rivals), live)
            return
        memory.planned = replace(planned, sent_for=live.version)
        try:
            answer = await writer.update(action.plan.manifest, live, force=action.plan.force)
        except RequestFailed as error:
            if _had_no_effect(error):
                memory.planned = planned
            raise
        self._answers.take_write(target, answer, live)
        done, differences = "adopted" if planned.adopting else "applied", field_paths(action.plan.differences)
        log.info("%s %s %s: %s", done, *kind_and_name(target.manifest), differences)
        after = self._answers.learn(target, answer, live)
        memory.planned = None
        record_corrections(target, effective(planned.corrections, after.differences), self._clock())
        memory.writes = replace(memory.writes, adopted=memory.writes.adopted or planned.adopting)

    async def _replace(self, action: Replace, target: Target[P], writer: Writer) -> None:
        """Delete an object exactly as it was observed.

        The deletion is remembered before the request, since the answer may be lost although the object is deleted. An
        unanswered DELETE is sent again: its preconditions protect any newer object.
        """
        memory, live, earlier, field = target.memory, action.live, target.memory.deletion, action.obstacle.field
        # A manifest without the immutable field has no difference in it.
        paths = [each.path for each in action.plan.differences if within(each.text, field)] or [action.obstacle.path]
        deletion = memory.deletion = Deletion(live, target.manifest, field, tuple(paths))
        try:
            await writer.remove(live, orphan=action.obstacle.remedy is Remedy.REPLACE_AROUND_PODS)
        except RequestFailed as error:
            gone = isinstance(error, Refused) and error.status == 404 and not error.by_admission
            if _had_no_effect(error) and not gone:
                # An earlier DELETE without an answer may be why the object has changed: then it is terminating.
                memory.deletion = earlier if earlier is not None and earlier.observed.uid == live.uid else None
            if not gone:
                raise
        if not live.is_watched:
            self._answers.take_unwatched(target, replace(live, terminating=True))
        record_deletion(target, deletion, self._clock())

    async def _learn_from_conflict(self, target: Target[P], live: Projection, error: Refused) -> None:
        """Read a child after a conflict.

        Raises:
            RequestFailed: it could not be read. If it is gone, it is forgotten: no event reports the deletion of
                a child that had lost our label.
        """
        if error.field_conflicts:
            log.info("%s %s: new field conflict: %s", *kind_and_name(target.manifest), error)
        try:
            present = await self._reader.read_existing(target)
        except Refused as missing:
            if missing.status == 404:
                self._store.forget(live.kind, Key(live.namespace, live.name), live.version + 1)
                target.memory.unwatched = NOTHING_UNWATCHED
            raise
        planned = target.memory.planned
        if planned is not None and (present.generation != live.generation or not present.generation):
            target.memory.wars.refused(target.manifest, contested_paths(planned.corrections), self._clock())


def _had_no_effect(error: RequestFailed) -> bool:
    """Tell whether a write was certainly not carried out. With a 5xx, or without an answer, it may have been."""
    return isinstance(error, NotSent | OutOfDate) or (isinstance(error, Refused) and error.status < 500)


def _planned(target: Target[P], action: Keep | TakeOwnership | Apply) -> PlannedApply:
    """Return the apply in preparation. Its preparations change neither its corrections nor their authors."""
    live, before = action.live, target.memory.planned
    if before is not None and before.uid != live.uid:
        before = None
    if before is not None and target.prepared & {Keep, TakeOwnership}:
        return before
    corrections = _corrections(target, action) if target.is_ours else ()
    if before is None:
        return PlannedApply(live.uid, corrections, adopting=not target.is_ours)
    return replace(before, corrections=with_authors(corrections, before.corrections), adopting=not target.is_ours)


def _corrections(target: Target[P], action: Keep | TakeOwnership | Apply) -> tuple[Correction, ...]:
    projector = target.workload.projector
    return corrected(
        action.plan.differences,
        action.live,
        target.last_applied,
        ours=(projector.manager, projector.keeper),
        is_note=partial(is_note, target.child_type.notes),
    )
