"""One child: compared, created or applied, and its health told."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from coxswain.kernel.api.errors import Refused, RequestFailed, Sort
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.conflicts.write_plan import Plan, plan
from coxswain.kernel.objects.kinds import Kind, kind_of
from coxswain.kernel.objects.projection import Projection, comparable
from coxswain.kernel.reconciling.adoption import NameConflicts, foreign, is_released, to_release, waits_for
from coxswain.kernel.reconciling.attempts import Attempts
from coxswain.kernel.reconciling.conflict_backoff import ConflictBackoff
from coxswain.kernel.reconciling.finding import (
    PATIENCE,
    absence,
    concerns_all,
    failure,
    healthy,
    listed,
    shown,
    stuck,
    unlike,
)
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.last_applied import LastApplied
from coxswain.kernel.reconciling.replacement import Replacements
from coxswain.kernel.reconciling.result import Result, corrected, effective, foreign_places
from coxswain.kernel.reconciling.scaling import comes_back, count_to_keep, scaled
from coxswain.kernel.reconciling.write_wars import WriteWars
from coxswain.webapp.health import (
    MISSING,
    TERMINATING,
    Child,
    Health,
    adopted_later,
    differs,
    halted,
    health,
    held,
    left_absent,
    rejected,
    replaced,
    retried,
)
from coxswain.webapp.immutable import Obstacle, Remedy, in_place, obstacle
from coxswain.webapp.policy import Policy, enforces_all, policy_of, unknown_policies, within
from coxswain.webapp.spec import Manifest, WebApp

log = logging.getLogger(__name__)


class ChildWriter:
    """Brings single children about."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        contests: WriteWars,
        taken: NameConflicts,
        freshness: GenerationGuard,
        *,
        backoff: ConflictBackoff,
        replicas_unknown: Callable[[str], bool],
    ) -> None:
        self._backoff = backoff
        self._replicas_unknown = replicas_unknown
        self._store = store
        self._writer = writer
        self._contests = contests
        self._taken = taken
        self._freshness = freshness
        self._replacements = Replacements(writer)
        self._attempts = Attempts()
        self._reached = LastApplied()

    @property
    def _memories(self) -> tuple[Attempts, NameConflicts, Replacements, LastApplied, ConflictBackoff]:
        return self._attempts, self._taken, self._replacements, self._reached, self._backoff

    def look_again(self) -> None:
        """Forget what was refused, so that it is tried once more; an apply without effect is not."""
        self._attempts.look_again()
        self._taken.look_again()

    def forget(self, key: Key) -> None:
        """Forget all about the children of a WebApp that is gone."""
        for memory in self._memories:
            memory.forget(key)

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        for memory in self._memories:
            memory.retain(key, children)

    def clear(self) -> None:
        """Forget all about the children of all WebApps."""
        for memory in self._memories:
            memory.clear()

    async def ensure(self, webapp: WebApp, manifest: Manifest, *, patient: bool) -> Result:
        """Make one child as its manifest says, with the fewest requests.

        A request that fails is the trouble of this child alone: the result reports it. If `patient`, a failure that
        often passes is not reported yet; neither are the first three in a row of this child.

        Raises:
            OutOfDate: the WebApp is no longer as it was.
            Ending: the operator is about to end.
            Refused: the namespace is being deleted.
            HistoryReset: an answer was older than the object that the request was sent for.
        """
        if webapp.paused:
            return self.compare(webapp, manifest)
        observed = self._taken.watched(webapp, *_place(manifest))
        manifest = self._scaled(webapp, manifest, observed)
        waiting = self._backoff.waiting(_key(webapp), _object(manifest))
        if waiting is not None:
            live = _ours(webapp, observed)
            return Result(_child(manifest, waiting.state), live, after=waiting.seconds, looked=False)
        try:
            if observed is None:
                result = await self._create(webapp, manifest)
            else:
                result = await self._update(webapp, manifest, observed)
        except RequestFailed as error:
            if concerns_all(error):
                if error.sort is Sort.CONFLICT:  # a storm of writers keeps the WebApp out of date as well
                    self._backoff.conflicted(_key(webapp), _object(manifest), retried(there=observed is not None))
                raise
            return self._failed(webapp, manifest, error, patient=patient)
        for memory in (self._attempts, self._backoff):
            memory.succeeded(_key(webapp), _object(manifest))
        return result

    def _failed(self, webapp: WebApp, manifest: Manifest, error: RequestFailed, *, patient: bool) -> Result:
        failures = self._attempts.failed(_key(webapp), _object(manifest))
        live = _ours(webapp, self._store.get(*_place(manifest)))
        state = failure(error, there=live is not None, patient=patient or failures <= PATIENCE)
        if error.sort is Sort.CONFLICT:
            self._backoff.conflicted(_key(webapp), _object(manifest), state)
        expected = state.retried and error.sort is Sort.CONFLICT
        log.log(logging.DEBUG if expected else logging.WARNING, "%s %s can't be written: %s", *_named(manifest), error)
        return Result(_child(manifest, state), live, failed=error, looked=False)

    def _refused(self, webapp: WebApp, sent: Manifest, live: Projection | None, error: Refused) -> None:
        """Remember a refusal for good of a manifest that was sent for this very object."""
        if error.sort is Sort.TERMINAL:
            self._attempts.remember(_key(webapp), sent, live, rejected(error.message))

    def _scaled(self, webapp: WebApp, manifest: Manifest, observed: Projection | None) -> Manifest:
        unknown = self._replicas_unknown(webapp.namespace)
        return scaled(manifest, webapp, observed, self._store, unknown=unknown)

    async def _create(self, webapp: WebApp, manifest: Manifest) -> Result:
        found = await self._taken.look(webapp, manifest)
        if found is None:
            if (known := self._attempts.known(_key(webapp), manifest, None)) is not None and known.refused is not None:
                return Result(_child(manifest, known.refused))
            if self._contests.is_left_absent(_key(webapp), manifest):
                return Result(_child(manifest, left_absent()), left=(absence(manifest),))
            was_there = self._reached.was_there(webapp, manifest)
            if was_there and not self._replacements.deleted(webapp, manifest):
                await self._freshness.check(webapp)  # the garbage collector may be faster than the watch of WebApps
            try:
                made = await self._made(webapp, self._replacements.successor(webapp, manifest))
                if was_there and not made.replaced:
                    self._contests.created_again(_key(webapp), manifest)
                return made
            except Refused as error:
                self._refused(webapp, manifest, None, error)
                if error.status != 409 or error.by_admission:
                    raise
                # The store doesn't know whose the name is; nor may its WebApp be the present one.
                await self._freshness.check(webapp)
                found = await self._writer.look(manifest)
                self._taken.take_in(webapp, found)
        return await self._update(webapp, self._scaled(webapp, manifest, found), found)

    async def _made(self, webapp: WebApp, manifest: Manifest) -> Result:
        await self._freshness.before_a_write(webapp)
        created = await self._writer.create(manifest)
        self._store.answer(created, None)
        log.info("created %s %s", *_named(manifest))
        after = self._outcome(webapp, manifest, created, None)
        self._reached.note(webapp, manifest, unlike(after))
        child = _child(manifest, held(health(created.content), listed(after.differences)))
        return Result(child, created, created=True, replaced=self._replacements.end(webapp, created))

    async def _update(self, webapp: WebApp, manifest: Manifest, observed: Projection) -> Result:
        live, state = _ours(webapp, observed), self._at_rest(webapp, observed)
        if state is not None:
            return Result(_child(manifest, state), live)
        planned = self._plan(webapp, manifest, observed)
        if planned.halted:
            state = halted(shown(planned.halted), unknown_policies(webapp))
            return Result(_child(manifest, state), live, left=(*planned.halted, *planned.left))
        found = obstacle(comparable(manifest), observed.content, adopting=live is None)
        if found is None or found.is_left_alone([each.difference.text for each in planned.left if each.contested]):
            return await self._bring(webapp, manifest, observed, planned)
        if not found.alone:
            return await self._replace(webapp, manifest, observed, planned, found)
        result = await self._bring(webapp, manifest, observed, planned)
        if result.child.health.stalled:
            return result
        return replace(result, child=_child(manifest, stuck(manifest, found)))

    def _at_rest(self, webapp: WebApp, observed: Projection) -> Health | None:
        """Return the health of a child that isn't written now, whatever it is like."""
        state, field = foreign(webapp, observed), self._replacements.under_way(webapp, observed)
        if state is None and (observed.going or field is not None):
            state = replaced(field) if field is not None else TERMINATING
        if state is None and not observed.is_child_of(webapp):
            needed = waits_for(webapp, observed, self._store)
            state = adopted_later(needed) if needed else None
        return state

    async def _replace(
        self, webapp: WebApp, manifest: Manifest, observed: Projection, planned: Plan, found: Obstacle
    ) -> Result:
        live = _ours(webapp, observed)
        if found.remedy is Remedy.BY_HAND or any(each.differs for each in planned.left):
            return Result(_child(manifest, stuck(manifest, found)), live, left=planned.left)
        await self._freshness.before_a_write(webapp)
        try:
            await self._replacements.delete(webapp, manifest, observed, found)
        except Refused as error:
            if error.status == 409:
                await self._taken.look_after_conflict(webapp, manifest, observed)
            raise
        if live is None:
            self._taken.note(webapp, replace(observed, going=True))
        log.info("deleted %s %s, to make it anew: %s can't be changed", *_named(manifest), found.field)
        fields = [difference.path for difference in planned.differences if within(difference.text, found.field)]
        self._contests.took_back(_key(webapp), manifest, fields)
        return Result(_child(manifest, replaced(found.field)), live, replaced=True)

    async def _bring(self, webapp: WebApp, manifest: Manifest, observed: Projection, planned: Plan) -> Result:
        self._replacements.not_needed(webapp, observed)
        known = self._attempts.known(_key(webapp), planned.manifest, observed) if planned.differences else None
        if known is not None and known.refused is not None:
            return Result(_child(manifest, known.refused), _ours(webapp, observed), left=planned.left)
        before = observed
        try:
            observed = await self._release(webapp, observed)
            if planned.differences and known is None:
                return await self._apply(webapp, manifest, observed, planned)
        except Refused as error:
            self._refused(webapp, planned.manifest, before, error)
            raise
        self._reached.note(webapp, manifest, unlike(planned))
        state = healthy(observed, planned, planned.differences)
        return Result(_child(manifest, state), observed, left=planned.left)

    async def _apply(self, webapp: WebApp, manifest: Manifest, observed: Projection, planned: Plan) -> Result:
        found, adopting = planned.differences, not observed.is_child_of(webapp)
        corrections = () if adopting else corrected(found, observed, partial(self._reached.had, webapp, manifest))
        await self._freshness.before_a_write(webapp)
        try:
            count = count_to_keep(planned.manifest, observed)
            if count is not None:
                kept = await self._writer.keep_replicas(observed, count)
                self._taken.answered(webapp, kept, observed)
                observed, planned = kept, self._plan(webapp, manifest, kept)
            if planned.rivals:
                taken = await self._writer.take_over(observed, planned.rivals)
                self._taken.answered(webapp, taken, observed)
                observed = taken
            answer = await self._writer.update(planned.manifest, observed, force=planned.force)
        except Refused as error:
            if error.status == 409 and not error.by_admission:
                if error.field_conflicts:
                    log.info("%s %s: a conflict just learned of: %s", *_named(manifest), error)
                now = await self._taken.look_after_conflict(webapp, manifest, observed)
                if now.generation != observed.generation or not now.generation:
                    self._contests.refused(_key(webapp), manifest, foreign_places(corrections))
                await self._freshness.check(webapp)
            raise
        self._taken.answered(webapp, answer, observed)
        log.info("%s %s %s: %s", "adopted" if adopting else "applied", *_named(manifest), listed(found))
        after = self._outcome(webapp, manifest, answer, observed)
        corrections = effective(corrections, after.differences)
        self._contests.took_back(_key(webapp), manifest, foreign_places(corrections))
        self._reached.note(webapp, manifest, unlike(after))
        child = _child(manifest, healthy(answer, planned, after.differences))
        return Result(child, answer, adopted=adopting, corrections=corrections, left=planned.left)

    def _plan(self, webapp: WebApp, manifest: Manifest, observed: Projection) -> Plan:
        def policy(field: str) -> Policy:
            ours = comes_back(field, manifest, observed)
            return Policy.ENFORCE if ours else policy_of(webapp, manifest["kind"], field)

        return plan(
            in_place(manifest, observed.content),
            observed,
            None if enforces_all(webapp) else policy,
            self._contests.held_off(_key(webapp), manifest),
            adopting=not observed.is_child_of(webapp),
        )

    async def _release(self, webapp: WebApp, observed: Projection) -> Projection:
        if not to_release(webapp, observed):
            return observed
        await self._freshness.before_a_write(webapp)
        answer = await self._writer.release(observed, is_released(webapp, observed))
        self._store.answer(answer, observed)
        return answer

    def _outcome(self, webapp: WebApp, manifest: Manifest, answer: Projection, before: Projection | None) -> Plan:
        """Return what would be done next about a child that was just applied."""
        after = self._plan(webapp, manifest, answer)
        if after.differences or (before is not None and answer.version == before.version):
            # Between our request and what was stored something changed it: an admission policy, which would again.
            self._attempts.remember(_key(webapp), after.manifest, answer, None)
        return after

    def compare(self, webapp: WebApp, manifest: Manifest) -> Result:
        """Compare a child with its manifest, and write nothing: the WebApp is paused, or not all can be listed."""
        observed = self._taken.watched(webapp, *_place(manifest))
        manifest = self._scaled(webapp, manifest, observed)
        if observed is None:
            return Result(_child(manifest, MISSING), looked=False)
        state = foreign(webapp, observed)
        if state is None and not observed.is_child_of(webapp):
            state = adopted_later("spec.paused is no longer true")
        if state is not None:
            return Result(_child(manifest, state), looked=False)
        planned = self._plan(webapp, manifest, observed)
        blocked = obstacle(comparable(manifest), observed.content)
        fields = listed(planned.differences) or (blocked.field if blocked else "")
        state = differs(fields) if fields else healthy(observed, planned, ())
        return Result(_child(manifest, state), observed, left=planned.left, looked=False)


def _ours(webapp: WebApp, observed: Projection | None) -> Projection | None:
    return observed if observed is not None and observed.is_child_of(webapp) else None


def _child(manifest: Manifest, state: Health) -> Child:
    return Child(*_named(manifest), state)


def _named(manifest: Manifest) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]


def _place(manifest: Manifest) -> tuple[Kind, Key]:
    return kind_of(manifest), Key(manifest["metadata"]["namespace"], manifest["metadata"]["name"])


def _object(manifest: Manifest) -> str:
    return "/".join(_named(manifest))


def _key(webapp: WebApp) -> Key:
    return Key(webapp.namespace, webapp.name)
