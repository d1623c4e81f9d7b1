"""Coverage: which kinds are listed and watched in each namespace, and why not; it decides where WebApps are reconciled.

Each namespace counts for itself: one that is gone or forbidden holds up no other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.metrics import unlisted as metric

Scope = tuple[Kind, str | None]
"""A kind in one namespace, or in the whole cluster."""

LASTING_SECONDS = 15.0
"""A failure of this duration is told in the status of WebApps: an API server that starts answers 403 for some seconds
before it has read the roles."""


def shown(scope: Scope) -> str:
    """Return a scope as a person reads it."""
    kind, namespace = scope
    return kind.plural + (f" of {namespace}" if namespace else "")


class View(NamedTuple):
    """What the coverage of a namespace means for its WebApps."""

    settled: bool
    """Its WebApps may be reconciled, or told why they are not."""
    unlisted: tuple[str, ...]
    """Kinds without which its WebApps are only told so."""
    doubtful: tuple[Kind, ...]
    """Decisive kinds of which the store may lack objects."""


@dataclass(frozen=True)
class _Failure:
    sort: object
    """Failures of another sort begin a new time."""
    text: str
    since: float


@dataclass
class _State:
    listed: bool = False
    """A sweep has ended since the last start of history."""
    watched: bool = False
    """Its watch has started in this run of the watches."""
    refused: bool = False
    """The last attempt to open its watch failed."""
    in_doubt: bool = True
    """No sweep has ended since its watch may have missed something."""
    failure: _Failure | None = field(default=None)
    """Why it can't be listed, if the last attempt failed."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the store may lack an object of it."""
        return not self.watched or self.refused or self.in_doubt


class Coverage:
    """What is listed and watched. Not thread-safe: the main loop owns it."""

    def __init__(self, kinds: Kinds, namespaces: Sequence[str | None], clock: Callable[[], float]) -> None:
        """Cover these kinds and namespaces, or with None the cluster; `clock` gives monotonic seconds."""
        self._kinds = kinds
        self._namespaces = tuple(namespaces)
        self._clock = clock
        self._states = {(kind, namespace): _State() for kind in kinds.watched for namespace in namespaces}

    def scope(self, kind: Kind, namespace: str | None) -> Scope:
        """Return the scope that holds a kind's objects of a namespace."""
        return kind, namespace if namespace in self._namespaces else None

    def begin_watches(self) -> None:
        """Note that all watches are started anew."""
        for state in self._states.values():
            state.watched, state.in_doubt = False, True

    def start_over(self) -> None:
        """Note that history starts over: nothing counts as listed."""
        for state in self._states.values():
            state.listed, state.in_doubt = False, True

    def watch_started(self, scope: Scope) -> None:
        """Note that a watch runs from a new LIST."""
        self._states[scope].watched = True

    def watch_refused(self, scope: Scope) -> None:
        """Note that a watch could not be opened."""
        state = self._states[scope]
        state.refused = state.in_doubt = True

    def watch_opened(self, scope: Scope) -> bool:
        """Note that a watch was opened; tell whether the attempt before that one had failed."""
        state = self._states[scope]
        before, state.refused = state.refused, False
        return before

    def listed(self, scope: Scope) -> None:
        """Note that a sweep has ended."""
        state = self._states[scope]
        state.listed, state.in_doubt, state.failure = True, False, None
        metric(scope[0].plural, scope[1], False)

    def failed(self, scope: Scope, error: Exception | None) -> None:
        """Note why a scope can't be listed; None if a LIST is answered but its watch is refused."""
        state = self._states[scope]
        sort = error.status if isinstance(error, Refused) else type(error)
        text = (
            (str(error) or repr(error))
            if error is not None
            else "the API server answers the LIST and refuses the watch"
        )
        same = state.failure is not None and state.failure.sort == sort
        state.failure = _Failure(sort, text, state.failure.since if state.failure and same else self._clock())
        metric(scope[0].plural, scope[1], True)

    def is_listed(self, scope: Scope) -> bool:
        """Tell whether a scope was swept since the last start of history."""
        return self._states[scope].listed

    @property
    def complete(self) -> bool:
        """Whether every scope was swept since the last start of history."""
        return all(state.listed for state in self._states.values())

    def missing(self) -> dict[Scope, str]:
        """Return what is not listed or not watched, and why, for readiness."""
        found: dict[Scope, str] = {}
        for scope, state in self._states.items():
            if state.failure is not None and (not state.listed or self._is_lasting(state)):
                found[scope] = f"{shown(scope)} can't be listed: {state.failure.text}"
            elif not state.listed:
                found[scope] = f"{shown(scope)} not listed yet"
            elif not state.watched:
                found[scope] = f"{shown(scope)} not watched yet"
        return found

    def view(self, namespace: str | None) -> View:
        """Return what follows for the WebApps of a namespace."""
        return View(
            settled=all(self._is_settled(kind, self._of(kind, namespace)) for kind in self._kinds.watched),
            unlisted=tuple(
                kind.plural for kind in self._kinds.children if self._is_out_of_sight(self._of(kind, namespace))
            ),
            doubtful=tuple(kind for kind in self._kinds.decisive if self._of(kind, namespace).is_doubtful),
        )

    def unlisted(self, namespace: str) -> Mapping[str, str]:
        """Return the kinds of children that a namespace's WebApps can't be reconciled without, and why."""
        found = {}
        for kind in self._kinds.children:
            state = self._of(kind, namespace)
            if state.failure is not None and self._is_out_of_sight(state):
                found[kind.kind] = _told(self.scope(kind, namespace), state.failure)
        return found

    def _of(self, kind: Kind, namespace: str | None) -> _State:
        return self._states[self.scope(kind, namespace)]

    def _is_settled(self, kind: Kind, state: _State) -> bool:
        if state.listed:
            return True
        if kind in self._kinds.children:
            return self._is_lasting(state)
        return kind is not self._kinds.parent and state.failure is not None

    def _is_out_of_sight(self, state: _State) -> bool:
        """Tell whether a scope was never listed for long, or the API server refuses it for long."""
        gone = state.failure is not None and state.failure.sort in (403, 404)
        return self._is_lasting(state) and (gone or not state.listed)

    def _is_lasting(self, state: _State) -> bool:
        return state.failure is not None and self._clock() - state.failure.since >= LASTING_SECONDS


def _told(scope: Scope, failure: _Failure) -> str:
    kind, namespace = scope
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    where = f"in namespace {namespace}" if namespace else "in the cluster"
    return (
        f"{resource} can't be listed {where}: {failure.text}. Nothing is written for this WebApp until they can; the "
        f"operator tries again every few seconds. Check that its role is bound {where} and allows list and watch."
    )
