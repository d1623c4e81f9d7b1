"""One child: compared, created or applied, and its health told. What was refused is remembered and not sent again."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from coxswain.control.store import Key, Store
from coxswain.kube.apply import Writer
from coxswain.kube.compare import Difference, differences, owner
from coxswain.kube.errors import Refused, Sort
from coxswain.kube.kinds import WEBAPP, Kind, kind_of
from coxswain.kube.observed import Observed, comparable
from coxswain.webapp.health import (
    MISSING,
    TERMINATING,
    Child,
    Health,
    differs,
    health,
    held,
    name_taken,
    not_written,
    rejected,
)
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.spec import Manifest, WebApp

log = logging.getLogger(__name__)

_NAMED_DIFFERENCES = 5


@dataclass(frozen=True)
class Correction:
    """A difference that was put right, and who had made it, as far as managedFields tell."""

    difference: Difference
    manager: str | None


@dataclass(frozen=True)
class Result:
    """What became of one child."""

    child: Child
    live: Observed | None = None
    """The child as it is now, if it is there and the WebApp's."""
    created: bool = False
    corrections: tuple[Correction, ...] = ()
    retry: bool = False
    """The write failed and may succeed later."""


@dataclass(frozen=True)
class _Tried:
    """A write that led nowhere: not to be sent again while manifest and live object are the same, its status apart.

    Both are kept as digests.
    """

    manifest: str
    live: str | None
    refused: Health | None
    """None if the server accepted the apply and stored something else: a mutating policy holds the value."""


class ChildWriter:
    """Brings single children about."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer
        self._tried: dict[Key, dict[tuple[Kind, Key], _Tried]] = {}

    def look_again(self) -> None:
        """Forget what was refused, so that it is tried once more; an apply without effect is not."""
        for key, children in self._tried.items():
            self._tried[key] = {place: tried for place, tried in children.items() if tried.refused is None}

    def forget(self, key: Key) -> None:
        """Forget all about the children of a WebApp that is gone."""
        self._tried.pop(key, None)

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
            return _paused(webapp, manifest, observed)
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
                self._remember(manifest, live, refused)
            log.warning("%s %s can't be written: %s", *_named(manifest), error)
            return Result(_child(manifest, refused), live, retry=not refused.stalled)

    async def _create(self, webapp: WebApp, manifest: Manifest) -> Result:
        known = self._known(manifest, None)
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
        return Result(_child(manifest, self._outcome(manifest, created, None)), created, created=True)

    async def _update(self, webapp: WebApp, manifest: Manifest, observed: Observed) -> Result:
        foreign = _foreign(webapp, observed)
        if foreign is not None:
            if foreign.stalled:
                self._remember(manifest, None, foreign)
            return Result(_child(manifest, foreign))
        if observed.going:
            return Result(_child(manifest, TERMINATING), observed)
        found = differences(comparable(manifest), observed.content, observed.owned)
        known = self._known(manifest, observed) if found else None
        if known is not None and known.refused is not None:
            return Result(_child(manifest, known.refused), observed)
        if not found or known is not None:
            return Result(_child(manifest, held(health(observed.content), _listed(found))), observed)
        try:
            answer = await self._writer.update(manifest, observed)
        except Refused as error:
            if error.status == 409:
                self._store.observe(await self._writer.look(manifest))
                await self._is_behind(webapp)
            raise
        self._store.answer(answer, observed)
        log.info("applied %s %s: %s", *_named(manifest), _listed(found))
        corrections = tuple(Correction(difference, owner(difference, observed.others)) for difference in found)
        return Result(_child(manifest, self._outcome(manifest, answer, observed)), answer, corrections=corrections)

    async def _is_behind(self, webapp: WebApp) -> bool:
        """Tell whether the WebApp has changed since; the store knows then.

        Where a child is not what the store says, the WebApp may not be either, and its manifests are of the past.
        """
        found = await self._writer.look_at_webapp(webapp)
        self._store.observe(found)
        return (found.uid, found.content["metadata"]["generation"]) != (webapp.uid, webapp.generation)

    def _outcome(self, manifest: Manifest, answer: Observed, before: Observed | None) -> Health:
        """Return the health of a child that was just applied."""
        left = differences(comparable(manifest), answer.content, answer.owned)
        if left or (before is not None and answer.version == before.version):
            # Between our request and what was stored something changed it: an admission policy, which would again.
            self._remember(manifest, answer, None)
        return held(health(answer.content), _listed(left))

    def _known(self, manifest: Manifest, observed: Observed | None) -> _Tried | None:
        tried = self._tried.get(_owner(manifest), {}).get(_place(manifest))
        same = tried is not None and (tried.manifest, tried.live) == (_digest(manifest), _state(observed))
        return tried if same else None

    def _remember(self, manifest: Manifest, observed: Observed | None, refused: Health | None) -> None:
        self._tried.setdefault(_owner(manifest), {})[_place(manifest)] = _Tried(
            _digest(manifest), _state(observed), refused
        )


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


def _paused(webapp: WebApp, manifest: Manifest, observed: Observed | None) -> Result:
    if observed is None:
        return Result(_child(manifest, MISSING))
    foreign = _foreign(webapp, observed)
    if foreign is not None:
        return Result(_child(manifest, foreign))
    found = differences(comparable(manifest), observed.content, observed.owned)
    return Result(_child(manifest, differs(_listed(found)) if found else health(observed.content)), observed)


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


def _owner(manifest: Manifest) -> Key:
    return Key(manifest["metadata"]["namespace"], manifest["metadata"]["labels"][WEBAPP_LABEL])


def _state(observed: Observed | None) -> str | None:
    """Return a digest of what decides how the server takes an apply: all but status and generation."""
    if observed is None:
        return None
    content = {key: value for key, value in observed.content.items() if key not in ("status", "metadata")}
    metadata = {key: value for key, value in observed.content["metadata"].items() if key != "generation"}
    return _digest({"uid": observed.uid, "metadata": metadata, "content": content, "owned": observed.owned})


def _digest(value: Manifest) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
