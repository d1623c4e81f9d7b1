"""Liveness of the watches: each must be active within `silence_timeout` (docs/decisions/0015).

Kopf is restarted if a watch is silent for longer. If the watch is still silent after the restart, it is dead, and the
liveness probe fails.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from coxswain.kernel.cache.coverage import Scope
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity


@dataclass
class _Watch:
    runs: bool = True
    """Whether Kopf watches it: not while the API server does not serve the kind."""
    started: float | None = None
    """Time since which Kopf watches it, also across restarts of Kopf. None while it does not."""
    proved: float = 0.0
    """Time of the last activity that proves liveness."""
    excused: float = 0.0
    """Start of a new timeout: Kopf was started, or the LIST before the watch succeeded."""
    restarted: bool = False
    """Whether Kopf was restarted because of this watch, without proof of liveness since."""
    received: float = 0.0
    """Time of the last received data."""
    marked: float = 0.0
    """Time of the last bookmark or opening."""
    prompt: bool = False
    """Whether bookmarks arrive at intervals shorter than `inactivity_timeout`."""


class WatchLiveness:
    """Tracks the last activity of each watch. Not thread-safe: the main loop owns it."""

    def __init__(
        self, scopes: Iterable[Scope], *, silence_timeout: float, inactivity_timeout: float, clock: Callable[[], float]
    ) -> None:
        """Track the watches of `scopes`.

        Args:
            scopes: Kinds and namespaces of the watches.
            silence_timeout: Seconds without activity before a watch is silent.
            inactivity_timeout: Seconds without data before Kopf reopens a watch by itself.
            clock: Returns monotonic seconds.
        """
        self._watches = {scope: _Watch() for scope in scopes}
        self._silence_timeout = silence_timeout
        self._inactivity_timeout = inactivity_timeout
        self._clock = clock

    def begin(self, kinds: Collection[Kind] | None = None) -> None:
        """Restart the timeout of every watch, because Kopf was started.

        Args:
            kinds: the watched kinds; None if they are the same as before.
        """
        for (kind, _), watch in self._watches.items():
            watch.excused = self._clock()
            watch.runs = watch.runs if kinds is None else kind in kinds
            since = watch.excused if watch.started is None else watch.started
            watch.started = since if watch.runs else None

    def record(self, scope: Scope, activity: Activity) -> None:
        """Record the activity of a watch."""
        watch, now = self._watches[scope], self._clock()
        if activity is Activity.LISTED:
            # A LIST proves nothing: the watch after it may hang.
            watch.excused = now
            return
        if activity is Activity.OPENED:
            opened_for_silence = now - watch.received >= self._inactivity_timeout
            watch.marked = now
            if watch.prompt and opened_for_silence:
                # The previous connection delivered not even its usual bookmarks, so this one may hang too.
                return
        elif activity is not Activity.FAILED:
            watch.received = now
        if activity is Activity.BOOKMARK:
            watch.prompt = now - watch.marked < self._inactivity_timeout
            watch.marked = now
        watch.proved, watch.restarted = now, False

    def data_ages(self) -> dict[Scope, float]:
        """Return the seconds since the last event or bookmark of each watch of Kopf, or since the start of Kopf."""
        now = self._clock()
        return {
            scope: now - max(watch.received, watch.started)
            for scope, watch in self._watches.items()
            if watch.started is not None
        }

    def silent(self) -> dict[Scope, float]:
        """Return the silent watches with the seconds since their last activity."""
        now = self._clock()
        ages = {scope: now - max(watch.proved, watch.excused) for scope, watch in self._watches.items() if watch.runs}
        return {scope: age for scope, age in ages.items() if age > self._silence_timeout}

    def mark_restarts(self) -> dict[Scope, float]:
        """Return the silent watches without a restart since their last activity, and mark them as restarted."""
        due = {scope: seconds for scope, seconds in self.silent().items() if not self._watches[scope].restarted}
        for scope in due:
            self._watches[scope].restarted = True
            # The shutdown of Kopf may hang too, so it gets the same timeout.
            self._watches[scope].excused = self._clock()
        return due

    def dead(self) -> dict[Scope, float]:
        """Return the watches that are still silent after a restart of Kopf."""
        return {scope: seconds for scope, seconds in self.silent().items() if self._watches[scope].restarted}
