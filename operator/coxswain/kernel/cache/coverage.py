"""Coverage: records the kinds that are listed and watched in each namespace, and the errors of the others.

The manager reconciles parents only in namespaces with sufficient coverage. Each namespace is independent: a deleted or
forbidden namespace does not block the others.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.cache.scope_state import UNWATCHED_SECONDS, Failure, Listing, ScopeState
from coxswain.kernel.objects.grants import step_after_refusal
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.metrics import unlisted as metric

Scope = tuple[Kind, str | None]
"""A kind in one namespace, or with None in the whole cluster."""


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
    unserved: tuple[Kind, ...]
    """The unavailable kinds that are not served. The status gives them another cause."""
    unwatched: tuple[Kind, ...]
    """Kinds of referenced objects, which can be listed but lastingly not watched."""


class Visibility(NamedTuple):
    """Whether the store has all objects of a kind in a namespace."""

    problem: str | None
    """Why it may lack some, as a sentence; None if it has all of them."""
    seconds: float
    """For how many seconds it has had all of them, without a gap. 0 while its watch may have missed events."""
    watched: bool = True
    """Whether the operator is set to watch the kind, and the API server serves it."""


class Coverage:
    """Tracks which scopes are listed and watched. Not thread-safe: the main loop owns it."""

    def __init__(self, kinds: Kinds, namespaces: Sequence[str | None], clock: Callable[[], float]) -> None:
        """Track `kinds` in `namespaces`, or with None in the cluster. `clock` returns monotonic seconds."""
        self._kinds = kinds
        self._optional = frozenset(kinds.optional)
        self._needed = tuple(kind for kind in kinds.children if kind not in self._optional)
        """The kinds of children without which no parent is reconciled."""
        self._referenced = tuple(kind for kind in kinds.watched if kind in kinds.referenced)
        self._namespaces = tuple(namespaces)
        self._clock = clock
        self._states = {(kind, namespace): ScopeState() for kind in kinds.watched for namespace in namespaces}

    def scope(self, kind: Kind, namespace: str | None) -> Scope:
        """Return the scope of a kind's objects in a namespace."""
        return kind, namespace if namespace in self._namespaces else None

    def begin_watches(self, kinds: Collection[Kind]) -> None:
        """Record a restart of all watches, for the served `kinds`."""
        for scope, state in self._states.items():
            state.watch_started, state.served = False, scope[0] in kinds
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
        state.watch_started = True
        state.add_gap()

    def watch_lost(self, scope: Scope) -> None:
        """Record a silent watch: it counts as not watched until it starts again."""
        state = self._states[scope]
        state.watch_started = False
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

    def state(self, scope: Scope) -> ScopeState:
        """Return the state of a scope, for the schedule of its relists."""
        return self._states[scope]

    def is_unwatched(self, scope: Scope) -> bool:
        """Return whether the attempts to open a watch have failed for long."""
        return self._states[scope].is_unwatched(self._clock())

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
        if state.in_doubt or self._listing(scope).is_unavailable:
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
        state.failure = Failure(sort, text, since, before.first if before is not None else now)
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
        now = self._clock()
        return all(state.listed or self._is_dispensable(scope, state, now) for scope, state in self._states.items())

    @property
    def answered(self) -> bool:
        """Whether a LIST of every scope has succeeded or failed since the last history reset."""
        return all(self._listing(scope) is not Listing.PENDING for scope in self._states)

    def missing(self) -> dict[Scope, str]:
        """Return each scope that is not listed or not watched, with the reason, for the readiness probe."""
        now = self._clock()
        found = {}
        for scope, state in self._states.items():
            problem = None if self._is_dispensable(scope, state, now) else _problem(state, now)
            if problem is not None:
                found[scope] = f"{describe(scope)} {problem}"
        return found

    def view(self, namespace: str | None) -> View:
        """Return the coverage of a namespace."""
        now = self._clock()
        states = {kind: self._of(kind, namespace) for kind in self._kinds.watched}
        listings = {kind: state.listing(now) for kind, state in states.items()}
        return View(
            settled=all(self._is_settled(kind, listing) for kind, listing in listings.items()),
            unlisted=tuple(kind.plural for kind in self._needed if listings[kind].is_unavailable),
            doubtful=tuple(kind for kind in self._kinds.decisive if states[kind].is_doubtful),
            unavailable=tuple(kind for kind in self._kinds.optional if listings[kind].is_unavailable),
            unserved=tuple(kind for kind in self._kinds.optional if not states[kind].served),
            unwatched=tuple(kind for kind in self._referenced if states[kind].lacks_only_watch(now)),
        )

    def is_doubtful(self, kind: Kind, namespace: str) -> bool:
        """Return whether the store may be incomplete for a kind in a namespace."""
        return self._of(kind, namespace).is_doubtful

    def unlisted(self, namespace: str) -> Mapping[str, str]:
        """Return the kinds of children that cannot be listed in a namespace, each with a message for the status."""
        scopes = [self.scope(kind, namespace) for kind in self._needed]
        failed = [scope for scope in scopes if self._listing(scope) in (Listing.UNLISTABLE, Listing.GONE)]
        return {scope[0].kind: _message(scope, self._states[scope].error) for scope in failed}

    def unavailable(self, namespace: str) -> Mapping[Kind, str | None]:
        """Return the unavailable optional kinds, each with a message for the status, or None if it is not served."""
        found: dict[Kind, str | None] = {}
        for kind in self._kinds.optional:
            scope = self.scope(kind, namespace)
            listing = self._listing(scope)
            if listing is Listing.UNSERVED:
                found[kind] = None
            elif listing.is_unavailable:
                found[kind] = _message(scope, self._states[scope].error, kind)
        return found

    def visibility(self, kind: Kind, namespace: str) -> Visibility:
        """Return whether the store has all objects of a kind in a namespace.

        While the scope is in doubt, `seconds` is 0: the watch may still deliver changes that were missed in a gap.
        """
        scope, now = self.scope(kind, namespace), self._clock()
        state, where = self._states.get(scope), describe(scope)
        if state is None or not state.served:
            return Visibility(f"The operator does not watch {kind.collection}", 0.0, watched=False)
        listing = state.listing(now)
        if listing in (Listing.FAILING, Listing.UNLISTABLE, Listing.GONE):
            return Visibility(f"The operator cannot list {where}: {state.error}", 0.0)
        if listing is Listing.PENDING:
            return Visibility(f"The operator has not listed {where} yet", 0.0)
        if state.lacks_only_watch(now):
            attempts = f"each attempt to watch them has failed for {UNWATCHED_SECONDS:.0f} s"
            hint = "Its log has the reason, for example a missing right to watch them"
            return Visibility(f"The operator can list {where}, but {attempts}. {hint}", 0.0)
        return Visibility(None, 0.0 if state.is_doubtful else now - state.complete_since)

    def _of(self, kind: Kind, namespace: str | None) -> ScopeState:
        return self._states[self.scope(kind, namespace)]

    def _listing(self, scope: Scope) -> Listing:
        return self._states[scope].listing(self._clock())

    def _is_settled(self, kind: Kind, listing: Listing) -> bool:
        """Return whether no worker waits for a kind: it is listed, or can be done without."""
        if listing is Listing.PENDING:
            return False
        if listing is Listing.FAILING:
            return kind not in (self._kinds.parent, *self._kinds.children, *self._kinds.referenced)
        return listing is not Listing.UNLISTABLE or kind is not self._kinds.parent

    def _is_dispensable(self, scope: Scope, state: ScopeState, now: float) -> bool:
        """Return whether a kind is optional and cannot be listed or watched, so that nothing waits for it."""
        return scope[0] in self._optional and (state.listing(now).is_unavailable or state.is_unwatched(now))


def _problem(state: ScopeState, now: float) -> str | None:
    """Return why a scope is not listed or not watched; None if it is both."""
    listing = state.listing(now)
    if listing in (Listing.FAILING, Listing.UNLISTABLE, Listing.OUTAGE, Listing.GONE):
        return f"cannot be listed: {state.error}"
    if listing is not Listing.LISTED:
        return "not listed yet"
    if not state.watch_started:
        return "not watched yet"
    if state.is_unwatched(now):
        return f"cannot be watched: each attempt has failed for {UNWATCHED_SECONDS:.0f} s. The log has the reason"
    return None


def _message(scope: Scope, error: str, unwritten: Kind | None = None) -> str:
    """Return a message for the status. `unwritten` is the only kind that is not written, or None if all are not."""
    kind, namespace = scope
    nothing = "No child is written" if unwritten is None else f"No {unwritten} is written"
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    where = f"in namespace {namespace}" if namespace else "in the cluster"
    scope_flag = f"-n {namespace}" if namespace else "--all-namespaces"
    problem = f"{resource} cannot be listed {where}: {error}"
    action = f"{nothing} until they can; the operator retries every few seconds"
    answers = f"Check that the API server answers: kubectl get {resource} {scope_flag}"
    return f"{problem}. {action}. {step_after_refusal(error, resource, namespace, kind.grant) or answers}"
