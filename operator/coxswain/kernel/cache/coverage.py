"""Coverage: records the kinds that are listed and watched in each namespace, and the errors of the others.

The manager reconciles parents only in namespaces with sufficient coverage. Each namespace is independent: a deleted or
forbidden namespace does not block the others.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.objects.grants import step_after_refusal
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.metrics import unlisted as metric

Scope = tuple[Kind, str | None]
"""A kind in one namespace, or with None in the whole cluster."""

LASTING_SECONDS = 15.0
"""Seconds before a failure is reported in the status of parents: a starting API server answers 403 until it has loaded
the roles."""
MIXED_LASTING_SECONDS = 60.0
"""Seconds before failures of changing sorts are reported, for a kind without a successful LIST."""
UNWATCHED_SECONDS = 60.0
"""Seconds of failed attempts to open a watch before they are reported. Its kind is relisted at this interval then."""


def describe(scope: Scope) -> str:
    """Return a scope for messages, such as "services of shop"."""
    kind, namespace = scope
    return kind.collection + (f" of {namespace}" if namespace else "")


class View(NamedTuple):
    """Summary of the coverage of one namespace, for the decisions about its parents."""

    settled: bool
    """Whether a worker may process its parents: reconcile them or report the failure in their status."""
    unlisted: tuple[str, ...]
    """Kinds that cannot be listed. Parents are not reconciled without them; their status reports it."""
    doubtful: tuple[Kind, ...]
    """Decisive kinds for which the store may be incomplete."""
    unavailable: tuple[Kind, ...]
    """Optional kinds that are not served or cannot be listed. Parents are reconciled without them."""
    unwatched: tuple[Kind, ...]
    """Kinds of objects that parents name, which can be listed but lastingly not watched."""


class Visibility(NamedTuple):
    """Whether the store has all objects of a kind in a namespace."""

    problem: str | None
    """Why it may lack some, as a sentence; None if it has all of them."""
    seconds: float
    """For how many seconds it has had all of them, without a gap. 0 while its watch may have missed events."""
    watched: bool = True
    """Whether the operator is set to watch the kind, and the API server serves it."""


@dataclass(frozen=True)
class _Failure:
    sort: object
    """HTTP status or exception type. A failure of another sort resets `since`."""
    text: str
    since: float
    """Monotonic time of the first failure of this sort in a row."""
    first: float
    """Monotonic time of the first failure since the last success."""


@dataclass
class _State:
    served: bool = True
    """Whether the API server serves the kind. Only an optional kind is watched no longer if it does not."""
    listed: bool = False
    """Whether a relist has succeeded since the last history reset."""
    listed_at: float = 0.0
    """Unix time of the last successful relist, or 0."""
    complete_since: float = 0.0
    """Monotonic time of the first relist after the last gap."""
    watched: bool = False
    """Whether its watch has started in the current run of Kopf."""
    refused_since: float | None = None
    """Monotonic time of the first failed attempt to list or to open its watch; None if the last one succeeded."""
    in_doubt: bool = True
    """Whether its watch may have missed events since the last relist."""
    gaps: int = 0
    """Number of times when its watch may have missed events."""
    failure: _Failure | None = field(default=None)
    """The failure of the last LIST, if it failed."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the store may be incomplete for this scope."""
        return self.served and (not self.watched or self.refused_since is not None or self.in_doubt)

    def add_gap(self) -> None:
        """Record that the watch may have missed events."""
        self.in_doubt = True
        self.gaps += 1


class Coverage:
    """Tracks which scopes are listed and watched. Not thread-safe: the main loop owns it."""

    def __init__(self, kinds: Kinds, namespaces: Sequence[str | None], clock: Callable[[], float]) -> None:
        """Track `kinds` in `namespaces`, or with None in the cluster. `clock` returns monotonic seconds."""
        self._kinds = kinds
        self._namespaces = tuple(namespaces)
        self._clock = clock
        self._states = {(kind, namespace): _State() for kind in kinds.watched for namespace in namespaces}

    def scope(self, kind: Kind, namespace: str | None) -> Scope:
        """Return the scope of a kind's objects in a namespace."""
        return kind, namespace if namespace in self._namespaces else None

    def begin_watches(self, kinds: Collection[Kind]) -> None:
        """Record a restart of all watches, for the served `kinds`."""
        for scope, state in self._states.items():
            state.watched, state.served = False, scope[0] in kinds
            state.add_gap()
            if not state.served:
                state.listed, state.refused_since, state.failure = False, None, None
                metric(scope[0].collection, scope[1], False)

    def start_over(self) -> None:
        """Record a history reset: no scope counts as listed."""
        for state in self._states.values():
            state.listed = False
            state.add_gap()

    def watch_started(self, scope: Scope) -> None:
        """Record the start of a watch after a new LIST. The watch reports nothing from before that LIST."""
        state = self._states[scope]
        state.watched = True
        state.add_gap()

    def watch_lost(self, scope: Scope) -> None:
        """Record a silent watch: it counts as not watched until it starts again."""
        state = self._states[scope]
        state.watched = False
        state.add_gap()

    def watch_refused(self, scope: Scope) -> None:
        """Record a failed attempt to open a watch."""
        state = self._states[scope]
        if state.refused_since is None:
            state.refused_since = self._clock()
        state.add_gap()

    def watch_opened(self, scope: Scope) -> bool:
        """Record an opened watch. Return whether the previous attempt failed: its events then come late."""
        state = self._states[scope]
        before, state.refused_since = state.refused_since, None
        if before is not None:
            state.add_gap()
        return before is not None

    def is_unwatched(self, scope: Scope) -> bool:
        """Return whether the attempts to open a watch have failed for long."""
        since = self._states[scope].refused_since
        return since is not None and self._clock() - since >= UNWATCHED_SECONDS

    def gaps(self, scope: Scope) -> int:
        """Return the number of gaps of a watch so far, for `listed`."""
        return self._states[scope].gaps

    def listed(self, scope: Scope, gaps: int) -> None:
        """Record a successful relist.

        Args:
            scope: the relisted scope.
            gaps: the gaps at the start of the relist. A later gap leaves the scope in doubt.
        """
        state = self._states[scope]
        if not state.served:
            return
        if not state.listed or state.in_doubt or self._is_unavailable(state):
            state.complete_since = self._clock()
        state.listed, state.failure, state.listed_at = True, None, time.time()
        state.in_doubt = gaps != state.gaps
        metric(scope[0].collection, scope[1], False)

    def failed(self, scope: Scope, error: Exception) -> None:
        """Record why a scope cannot be listed or watched."""
        state = self._states[scope]
        if not state.served:
            return
        sort = error.status if isinstance(error, Refused) else type(error)
        text = str(error) or repr(error)
        now, before = self._clock(), state.failure
        since = before.since if before is not None and before.sort == sort else now
        state.failure = _Failure(sort, text, since, before.first if before is not None else now)
        metric(scope[0].collection, scope[1], True)

    def is_listed(self, scope: Scope) -> bool:
        """Return whether a scope was relisted since the last history reset."""
        return self._states[scope].listed

    def last_relists(self) -> dict[Scope, float]:
        """Return the Unix time of the last successful relist of each served scope, or 0 before the first."""
        return {scope: state.listed_at for scope, state in self._states.items() if state.served}

    def is_served(self, scope: Scope) -> bool:
        """Return whether the API server serves a kind, as of the last start of the watches."""
        return self._states[scope].served

    @property
    def complete(self) -> bool:
        """Whether every scope was relisted since the last history reset, apart from unavailable optional kinds."""
        return all(state.listed or self._is_dispensable(scope) for scope, state in self._states.items())

    def missing(self) -> dict[Scope, str]:
        """Return each scope that is not listed or not watched, with the reason, for the readiness probe."""
        found: dict[Scope, str] = {}
        for scope, state in self._states.items():
            if self._is_dispensable(scope):
                continue
            if state.failure is not None and (not state.listed or self._is_lasting(state)):
                found[scope] = f"{describe(scope)} cannot be listed: {state.failure.text}"
            elif not state.listed:
                found[scope] = f"{describe(scope)} not listed yet"
            elif not state.watched:
                found[scope] = f"{describe(scope)} not watched yet"
            elif self.is_unwatched(scope):
                attempts = f"each attempt has failed for {UNWATCHED_SECONDS:.0f} s. The log has the reason"
                found[scope] = f"{describe(scope)} cannot be watched: {attempts}"
        return found

    def view(self, namespace: str | None) -> View:
        """Return the coverage of a namespace."""
        return View(
            settled=all(self._is_settled(kind, self._of(kind, namespace)) for kind in self._kinds.watched),
            unlisted=tuple(kind.plural for kind in self._needed if self._is_unavailable(self._of(kind, namespace))),
            doubtful=tuple(kind for kind in self._kinds.decisive if self._of(kind, namespace).is_doubtful),
            unavailable=tuple(kind for kind in self._kinds.optional if self._is_unavailable(self._of(kind, namespace))),
            unwatched=tuple(
                kind
                for kind in self._kinds.watched
                if kind in self._kinds.named and self._lacks_only_watch(self.scope(kind, namespace))
            ),
        )

    def unlisted(self, namespace: str) -> Mapping[str, str]:
        """Return the kinds of children that cannot be listed in a namespace, each with a message for the status."""
        found = {}
        for kind in self._needed:
            state = self._of(kind, namespace)
            if state.failure is not None and self._is_unavailable(state):
                found[kind.kind] = _message(self.scope(kind, namespace), state.failure)
        return found

    def unavailable(self, namespace: str) -> Mapping[Kind, str | None]:
        """Return the unavailable optional kinds, each with a message for the status, or None if it is not served."""
        found: dict[Kind, str | None] = {}
        for kind in self._kinds.optional:
            state = self._of(kind, namespace)
            if self._is_unavailable(state):
                found[kind] = _message(self.scope(kind, namespace), state.failure, kind) if state.failure else None
        return found

    def visibility(self, kind: Kind, namespace: str) -> Visibility:
        """Return whether the store has all objects of a kind in a namespace.

        While the scope is in doubt, `seconds` is 0: the watch may still deliver changes that were missed in a gap.
        """
        state = self._states.get(self.scope(kind, namespace))
        if state is None or not state.served:
            return Visibility(f"The operator does not watch {kind.collection}", 0.0, watched=False)
        where = describe(self.scope(kind, namespace))
        if state.failure is not None and (not state.listed or self._is_unavailable(state)):
            return Visibility(f"The operator cannot list {where}: {state.failure.text}", 0.0)
        if not state.listed:
            return Visibility(f"The operator has not listed {where} yet", 0.0)
        if self._lacks_only_watch(self.scope(kind, namespace)):
            attempts = f"each attempt to watch them has failed for {UNWATCHED_SECONDS:.0f} s"
            hint = "Its log has the reason, for example a missing right to watch them"
            return Visibility(f"The operator can list {where}, but {attempts}. {hint}", 0.0)
        return Visibility(None, 0.0 if state.is_doubtful else self._clock() - state.complete_since)

    @property
    def _needed(self) -> list[Kind]:
        """The kinds of children without which no parent is reconciled."""
        return [kind for kind in self._kinds.children if kind not in self._kinds.optional]

    def _of(self, kind: Kind, namespace: str | None) -> _State:
        return self._states[self.scope(kind, namespace)]

    def _is_settled(self, kind: Kind, state: _State) -> bool:
        if state.listed or not state.served:
            return True
        if kind in (*self._kinds.children, *self._kinds.named):
            return self._is_lasting(state)
        return kind is not self._kinds.parent and state.failure is not None

    def _is_unavailable(self, state: _State) -> bool:
        """Return whether a lasting failure prevents the first LIST, or the API server lastingly answers 403 or 404.

        So is a kind that is not served.
        """
        if not state.served:
            return True
        gone = state.failure is not None and state.failure.sort in (403, 404)
        return self._is_lasting(state) and (gone or not state.listed)

    def _is_dispensable(self, scope: Scope) -> bool:
        """Return whether a kind is optional and cannot be listed or watched, so that nothing waits for it."""
        is_lacking = self._is_unavailable(self._states[scope]) or self.is_unwatched(scope)
        return scope[0] in self._kinds.optional and is_lacking

    def _lacks_only_watch(self, scope: Scope) -> bool:
        """Return whether the watch of a scope has been refused for long, and a relist has succeeded meanwhile.

        Without that relist the API server may be down. No status needs to report that.
        """
        state = self._states[scope]
        return self.is_unwatched(scope) and state.complete_since > (state.refused_since or 0.0)

    def _is_lasting(self, state: _State) -> bool:
        if state.failure is None:
            return False
        # Only for an unlisted kind, because it holds up the parents. For a listed one, the 403 of an API server that
        # has not loaded the roles must not count as lasting right after an outage of a minute.
        mixed = not state.listed and self._clock() - state.failure.first >= MIXED_LASTING_SECONDS
        return mixed or self._clock() - state.failure.since >= LASTING_SECONDS


def _message(scope: Scope, failure: _Failure, unwritten: Kind | None = None) -> str:
    """Return a message for the status. `unwritten` is the only kind that is not written, or None if all are not."""
    kind, namespace = scope
    nothing = "No child is written" if unwritten is None else f"No {unwritten} is written"
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    where = f"in namespace {namespace}" if namespace else "in the cluster"
    scope_flag = f"-n {namespace}" if namespace else "--all-namespaces"
    problem = f"{resource} cannot be listed {where}: {failure.text}"
    action = f"{nothing} until they can; the operator retries every few seconds"
    answers = f"Check that the API server answers: kubectl get {resource} {scope_flag}"
    return f"{problem}. {action}. {step_after_refusal(failure.text, resource, namespace, kind.grant) or answers}"
