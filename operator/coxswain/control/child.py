"""One child: compared, created or applied, and its health told."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from coxswain.control.attempts import Attempts
from coxswain.control.contest import Contests
from coxswain.control.store import Key, Store
from coxswain.kube.apply import Writer
from coxswain.kube.compare import Difference, differences
from coxswain.kube.conflicts import Held, Plan, foreign_manager, plan
from coxswain.kube.errors import Refused, Sort
from coxswain.kube.fields import minus
from coxswain.kube.kinds import WEBAPP, Kind, kind_of
from coxswain.kube.managed import BEFORE_FIRST_APPLY
from coxswain.kube.observed import Observed, comparable
from coxswain.webapp.health import (
    MISSING,
    TERMINATING,
    Child,
    Health,
    contested,
    differs,
    halted,
    health,
    held,
    name_taken,
    not_written,
    rejected,
)
from coxswain.webapp.policy import policy_of
from coxswain.webapp.spec import Manifest, WebApp

log = logging.getLogger(__name__)

_NAMED_DIFFERENCES = 5


@dataclass(frozen=True)
class Correction:
    """A difference that was put right, and who had made it, as far as managedFields tell."""

    difference: Difference
    manager: str | None

    @property
    def is_foreign(self) -> bool:
        """Whether someone else had made it; a field of ours whose desired value is new is still ours."""
        wanted = self.difference.wanted is not None or bool(self.difference.rivals)
        return wanted and (self.manager is not None or self.difference.found is None)


@dataclass(frozen=True)
class Result:
    """What became of one child."""

    child: Child
    live: Observed | None = None
    """The child as it is now, if it is there and the WebApp's."""
    created: bool = False
    corrections: tuple[Correction, ...] = ()
    left: tuple[Held, ...] = ()
    """What others hold, and keep for now."""
    retry: bool = False
    """The write failed and may succeed later."""


class ChildWriter:
    """Brings single children about."""

    def __init__(self, store: Store, writer: Writer, contests: Contests) -> None:
        self._store = store
        self._writer = writer
        self._contests = contests
        self._attempts = Attempts()

    def look_again(self) -> None:
        """Forget what was refused, so that it is tried once more; an apply without effect is not."""
        self._attempts.look_again()

    def forget(self, key: Key) -> None:
        """Forget all about the children of a WebApp that is gone."""
        self._attempts.forget(key)

    async def ensure(self, webapp: WebApp, manifest: Manifest, *, patient: bool) -> Result:
        """Make one child as its manifest says, with the fewest requests.

        A `patient` one leaves an error of the server that may pass to the caller, rather than telling of it.

        Raises:
            RequestFailed: the API server can't be reached, what was known of the child is out of date, or the error may
                pass soon.
        """
        place = _place(manifest)
        observed = self._store.get(*place)
        if webapp.paused:
            return self._paused(webapp, manifest, observed)
        try:
            if observed is None:
                return await self._create(webapp, manifest)
            return await self._update(webapp, manifest, observed)
        except Refused as error:
            refused = _refusal(error, patient=patient)
            if refused is None:
                raise
            current = self._store.get(*place)
            live = current if current is not None and current.is_child_of(webapp) else None
            if refused.stalled:
                sent = manifest if live is None else self._plan(webapp, manifest, live).manifest
                self._attempts.remember(sent, live, refused)
            log.warning("%s %s can't be written: %s", *_named(manifest), error)
            return Result(_child(manifest, refused), live, retry=not refused.stalled)

    async def _create(self, webapp: WebApp, manifest: Manifest) -> Result:
        known = self._attempts.known(manifest, None)
        if known is not None and known.refused is not None:
            return Result(_child(manifest, known.refused))
        try:
            created = await self._writer.create(manifest)
        except Refused as error:
            if error.status != 409:
                raise
            # The store doesn't know of it, yet its name is taken: look whose it is.
            if await self._is_behind(webapp):
                raise
            found = await self._writer.look(manifest)
            if found.is_child_of(webapp):
                self._store.observe(found)
            return await self._update(webapp, manifest, found)
        self._store.answer(created, None)
        log.info("created %s %s", *_named(manifest))
        left = self._outcome(manifest, created, None)
        return Result(_child(manifest, held(health(created.content), _listed(left))), created, created=True)

    async def _update(self, webapp: WebApp, manifest: Manifest, observed: Observed) -> Result:
        foreign = _foreign(webapp, observed)
        if foreign is not None:
            if foreign.stalled:
                self._attempts.remember(manifest, None, foreign)
            return Result(_child(manifest, foreign))
        if observed.going:
            return Result(_child(manifest, TERMINATING), observed)
        planned = self._plan(webapp, manifest, observed)
        if planned.halted:
            return Result(_child(manifest, halted(_shown(planned.halted))), observed, left=planned.halted)
        known = self._attempts.known(planned.manifest, observed) if planned.differences else None
        if known is not None and known.refused is not None:
            return Result(_child(manifest, known.refused), observed, left=planned.left)
        if not planned.differences or known is not None:
            observed = await self._release(observed)
            state = _healthy(observed, planned, planned.differences)
            return Result(_child(manifest, state), observed, left=planned.left)
        return await self._apply(webapp, manifest, observed, planned)

    async def _apply(self, webapp: WebApp, manifest: Manifest, observed: Observed, planned: Plan) -> Result:
        found = planned.differences
        corrections = tuple(Correction(difference, foreign_manager(difference, observed)) for difference in found)
        try:
            if planned.rivals:
                taken = await self._writer.take_over(observed, planned.rivals)
                self._store.answer(taken, observed)
                observed = taken
            answer = await self._writer.update(planned.manifest, observed, force=planned.force)
        except Refused as error:
            if error.status == 409:
                if error.field_conflicts:
                    log.info("%s %s: a conflict just learned of: %s", *_named(manifest), error)
                self._store.observe(await self._writer.look(manifest))
                await self._is_behind(webapp)
            raise
        self._store.answer(answer, observed)
        log.info("applied %s %s: %s", *_named(manifest), _listed(found))
        self._contests.took_back(
            _key(webapp), _object(manifest), [found.difference.text for found in corrections if found.is_foreign]
        )
        after = self._outcome(planned.manifest, answer, observed)
        return Result(
            _child(manifest, _healthy(answer, planned, after)), answer, corrections=corrections, left=planned.left
        )

    def _plan(self, webapp: WebApp, manifest: Manifest, observed: Observed) -> Plan:
        return plan(
            manifest,
            observed,
            lambda field: policy_of(webapp, manifest["kind"], field),
            self._contests.held_off(_key(webapp), _object(manifest)),
        )

    async def _release(self, observed: Observed) -> Observed:
        """Take what is ours out of the entry that stands for the time before our first apply.

        It would keep a field that is no longer desired for ever.
        """
        shared = any(
            entry.manager == BEFORE_FIRST_APPLY and minus(entry.fields, observed.owned or {}) != entry.fields
            for entry in observed.others
        )
        if not shared:
            return observed
        answer = await self._writer.release(observed, lambda manager, _: manager == BEFORE_FIRST_APPLY)
        self._store.answer(answer, observed)
        return answer

    async def _is_behind(self, webapp: WebApp) -> bool:
        """Tell whether the WebApp has changed since; the store knows then.

        Where a child is not what the store says, the WebApp may not be either, and its manifests are of the past.
        """
        found = await self._writer.look_at_webapp(webapp)
        self._store.observe(found)
        return (found.uid, found.content["metadata"]["generation"]) != (webapp.uid, webapp.generation)

    def _outcome(self, manifest: Manifest, answer: Observed, before: Observed | None) -> list[Difference]:
        """Return what differs in a child that was just applied."""
        left = differences(comparable(manifest), answer.content, answer.owned, answer.others)
        if left or (before is not None and answer.version == before.version):
            # Between our request and what was stored something changed it: an admission policy, which would again.
            self._attempts.remember(manifest, answer, None)
        return left

    def _paused(self, webapp: WebApp, manifest: Manifest, observed: Observed | None) -> Result:
        if observed is None:
            return Result(_child(manifest, MISSING))
        foreign = _foreign(webapp, observed)
        if foreign is not None:
            return Result(_child(manifest, foreign))
        planned = self._plan(webapp, manifest, observed)
        found = planned.differences
        state = differs(_listed(found)) if found else _healthy(observed, planned, ())
        return Result(_child(manifest, state), observed, left=planned.left)


def _refusal(error: Refused, *, patient: bool) -> Health | None:
    """Return the health that tells of a refusal, or None if the reconcile should rather be tried again as a whole."""
    if error.sort is Sort.TERMINAL:
        return rejected(error.message)
    if error.sort is Sort.CONFLICT or error.namespace_terminating:
        return None
    if error.status == 403 or not patient:
        return not_written(error.reason or "WriteFailed", error.message)
    return None


def _foreign(webapp: WebApp, observed: Observed) -> Health | None:
    if observed.is_child_of(webapp):
        return None
    controller = observed.controller
    if controller is not None and (controller.kind, controller.name) == (WEBAPP.kind, webapp.name):
        # Of a namesake that is gone: the garbage collector takes it, and its DELETED brings us back.
        return TERMINATING
    return name_taken(None if controller is None else f"{controller.kind} {controller.name}")


def _healthy(live: Observed, planned: Plan, differing: Sequence[Difference]) -> Health:
    """Return the health of a child that was brought as near to what is desired as others and policies let it."""
    fought = [found for found in planned.left if found.contested]
    if fought:
        return contested(_shown(fought))
    return held(health(live.content), _listed(differing))


def _shown(found: Sequence[Held]) -> str:
    return ", ".join(f"{each.difference.text} ({each.manager})" for each in found[:_NAMED_DIFFERENCES])


def _listed(found: Sequence[Difference]) -> str:
    more = len(found) - _NAMED_DIFFERENCES
    names = ", ".join(difference.text for difference in found[:_NAMED_DIFFERENCES])
    return names + (f" and {more} more" if more > 0 else "")


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
