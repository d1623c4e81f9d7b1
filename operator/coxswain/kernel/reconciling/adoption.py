"""Adoption: an object that bears a child's name becomes the WebApp's, if whoever owns it says so in an annotation.

It doesn't bear our label, so no watch tells of it: it is looked at again after a while.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.objects.field_paths import minus
from coxswain.kernel.objects.kinds import DEPLOYMENT, SERVICE, WEBAPP, Kind, kind_of
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.retention import retain
from coxswain.webapp.health import TERMINATING, Health, Level, condition, health, name_taken
from coxswain.webapp.identity import ADOPT_ANNOTATION
from coxswain.webapp.spec import Manifest, WebApp

_GOING_SECONDS = 1.0
"""After which an object that is being deleted is looked at again: no watch tells that it is gone."""


@dataclass(frozen=True)
class _Taken:
    observed: Projection
    generation: int
    """The WebApp's at that time: a change of it is a reason to look again."""
    until: float


class NameConflicts:
    """Objects without our label that bear the names of children."""

    def __init__(self, store: Store, writer: Writer, *, interval: float, clock: Callable[[], float]) -> None:
        """Look again after `interval` seconds; `clock` gives monotonic seconds."""
        self._store = store
        self._writer = writer
        self._interval = interval
        self._clock = clock
        self._of_webapp: dict[Key, dict[tuple[Kind, str], _Taken]] = {}

    def watched(self, webapp: WebApp, kind: Kind, place: Key) -> Projection | None:
        """Return the object of a child's name that the store has, if the watch covers it.

        An object that lost our label and is not this WebApp's child is removed from the store: no event tells of its
        end, so it is looked at like any name that is taken.
        """
        found = self._store.get(kind, place)
        if found is not None and not _is_watched(webapp, found):
            self._store.forget(kind, place, found.version + 1)
            return None
        if found is not None:
            self.drop(webapp, found)
        return found

    async def look(self, webapp: WebApp, manifest: Manifest) -> Projection | None:
        """Return the object that bears a child's name, as far as one is known: looked at anew if it is time.

        Raises:
            RequestFailed: it could not be looked at.
        """
        names = self._of_webapp.get(_key(webapp), {})
        place = kind_of(manifest), manifest["metadata"]["name"]
        known = names.get(place)
        if known is None:
            return None
        if known.generation == webapp.generation and self._clock() < known.until:
            return known.observed
        try:
            found = await self._writer.look(manifest)
        except Refused as error:
            if error.status != 404:
                raise
            del names[place]
            return None
        self.take_in(webapp, found)
        return found

    async def look_after_conflict(self, webapp: WebApp, manifest: Manifest, observed: Projection) -> Projection:
        """Return a child that has changed since it was observed, and take it in.

        Raises:
            RequestFailed: it could not be looked at. If it is gone the store forgets it: no event tells of the deletion
                of a child that had lost our label.
        """
        try:
            now = await self._writer.look(manifest)
        except Refused as error:
            if error.status == 404:
                self._store.forget(observed.kind, Key(observed.namespace, observed.name), observed.version + 1)
            raise
        self.take_in(webapp, now)
        return now

    def take_in(self, webapp: WebApp, found: Projection) -> None:
        """Take in what a look at a child's name brought: what bears our label the watch tells of too."""
        if _is_watched(webapp, found):
            self.drop(webapp, found)
            self._store.observe(found)
        else:
            self.note(webapp, found)

    def answered(self, webapp: WebApp, answer: Projection, sent_for: Projection) -> None:
        """Take in the answer of a write to an object that bears a child's name.

        Raises:
            HistoryReset: the answer is older than what it was sent for.
        """
        if _is_watched(webapp, answer):
            self.drop(webapp, answer)
            self._store.answer(answer, sent_for)
        else:
            self.note(webapp, answer)

    def note(self, webapp: WebApp, found: Projection) -> None:
        """Note an object that bears the name of a child of this WebApp."""
        until = self._clock() + (_GOING_SECONDS if found.going else self._interval)
        self._of_webapp.setdefault(_key(webapp), {})[found.kind, found.name] = _Taken(found, webapp.generation, until)

    def drop(self, webapp: WebApp, found: Projection) -> None:
        """Forget an object that the watch tells of from now on."""
        self._of_webapp.get(_key(webapp), {}).pop((found.kind, found.name), None)

    def again(self, key: Key, children: Iterable[tuple[str, str]]) -> float | None:
        """Return the seconds until one of a WebApp's names is due; None without one.

        0 if it is overdue and of one of these children, by kind and name, at whose names the reconcile has looked: an
        overdue name of another child would be 0 after each reconcile.
        """
        looked, now = set(children), self._clock()
        names = self._of_webapp.get(key, {}).items()
        remaining = ((kind.kind, name, known.until - now) for (kind, name), known in names)
        return min(
            (max(0.0, left) for kind, name, left in remaining if left > 0 or (kind, name) in looked), default=None
        )

    def clear(self) -> None:
        """Forget all WebApps."""
        self._of_webapp.clear()

    def forget(self, key: Key) -> None:
        """Forget all about a WebApp that is gone."""
        self._of_webapp.pop(key, None)

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        retain(self._of_webapp, key, lambda place: f"{place[0].kind}/{place[1]}" in children)

    def look_again(self) -> None:
        """Forget everything: what is still in the way is found again."""
        self._of_webapp.clear()


def foreign(webapp: WebApp, observed: Projection) -> Health | None:
    """Return the health of a child whose name a foreign object bears; None if it is the WebApp's, or may become so."""
    if observed.is_child_of(webapp) or observed.is_adoptable_by(webapp):
        return None
    controller = observed.controller
    if controller is None:
        place = f"{observed.kind.kind.lower()} {observed.name}"
        adopt = f"kubectl annotate {place} {ADOPT_ANNOTATION}={webapp.name} -n {observed.namespace}"
        return name_taken(None, adopt)
    if (controller.kind, controller.name) == (WEBAPP.kind, webapp.name):
        # Of a namesake that is gone: the garbage collector takes it, and its DELETED brings us back.
        return TERMINATING
    return name_taken(f"{controller.kind} {controller.name}", allowed=observed.names_adopter(webapp))


def waits_for(webapp: WebApp, observed: Projection, store: Store) -> str | None:
    """Return what an object that may be adopted has to wait for: a Service, for the pods that it will lead to."""
    if observed.kind is not SERVICE:
        return None
    deployment = store.get(DEPLOYMENT, Key(webapp.namespace, webapp.name))
    if deployment is None or not deployment.is_child_of(webapp):
        return f"Deployment {webapp.name} is the WebApp's"
    live = deployment.content
    if condition(live, "Available").get("status") != "True":
        return f"Deployment {webapp.name} is available"
    selector = observed.content.get("spec", {}).get("selector", {})
    labels = live.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    if selector and selector.items() <= labels.items() and health(live).level is not Level.HEALTHY:
        # It leads to the new pods either way, while those of before may lack the ports that it will name.
        return f"Deployment {webapp.name} is rolled out"
    return None


def is_released(webapp: WebApp, observed: Projection) -> Callable[[str, str], bool]:
    """Return which managers, by name and operation, shall hold no field of ours of a child.

    They would keep one that is no longer desired for ever: the entry that stands for the time before our first apply,
    and of an object that was adopted all those that have updated it. Who applies is a writer of today.
    """
    adopted = observed.names_adopter(webapp)
    return lambda manager, operation: manager == BEFORE_FIRST_APPLY or (adopted and operation == "Update")


def to_release(webapp: WebApp, observed: Projection) -> bool:
    """Tell whether such a manager holds a field of ours."""
    released, owned = is_released(webapp, observed), observed.owned or {}
    return any(
        released(entry.manager, entry.operation) and minus(entry.fields, owned) != entry.fields
        for entry in observed.others
    )


def _is_watched(webapp: WebApp, found: Projection) -> bool:
    return found.label is not None or found.is_child_of(webapp)


def _key(webapp: WebApp) -> Key:
    return Key(webapp.namespace, webapp.name)
