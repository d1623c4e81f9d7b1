"""Progress of the watches: each must show a sign of life within a bound (docs/decisions/0015).

One that does not gets a new Kopf. If that doesn't help either, it is dead, and only a new process may help.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from coxswain.kernel.cache.coverage import Scope
from coxswain.kernel.watching.event_bridge import Activity


@dataclass
class _Watch:
    proved: float = 0.0
    """When it last proved to be alive."""
    excused: float = 0.0
    """Since when it may be silent for another reason: Kopf was started, or its LIST is under way."""
    restarted: bool = False
    """Whether Kopf was started anew for its silence, and it has proved nothing since."""
    heard: float = 0.0
    """When something last came through it."""
    marked: float = 0.0
    """When it was opened, or the last bookmark came through it."""
    prompt: bool = False
    """Whether the server's bookmarks come sooner than silence would end the connection."""


class WatchLiveness:
    """Knows of each watch when it last showed that it is alive. Not thread-safe: the main loop owns it."""

    def __init__(
        self, scopes: Iterable[Scope], *, silence_timeout: float, inactivity_timeout: float, clock: Callable[[], float]
    ) -> None:
        """Allow so many seconds without a sign; after `inactivity_timeout` seconds Kopf opens a watch anew itself."""
        self._watches = {scope: _Watch() for scope in scopes}
        self._silence_timeout = silence_timeout
        self._inactivity_timeout = inactivity_timeout
        self._clock = clock

    def begin(self) -> None:
        """Begin a run of Kopf: from now on each watch has the bound."""
        for watch in self._watches.values():
            watch.excused = self._clock()

    def take(self, scope: Scope, sign: Activity) -> None:
        """Take a sign of life."""
        watch, now = self._watches[scope], self._clock()
        if sign is Activity.LISTED:
            # No proof: what hangs may be the watch that follows.
            watch.excused = now
            return
        if sign is Activity.OPENED:
            opened_for_silence = now - watch.heard >= self._inactivity_timeout
            watch.marked = now
            if watch.prompt and opened_for_silence:
                # It was open before and brought not even bookmarks, which used to come: so this is no proof either.
                return
        elif sign is not Activity.FAILED:
            watch.heard = now
        if sign is Activity.BOOKMARK:
            watch.prompt = now - watch.marked < self._inactivity_timeout
            watch.marked = now
        watch.proved, watch.restarted = now, False

    def is_silent(self, scope: Scope) -> bool:
        """Tell whether a watch has been silent for longer than the bound."""
        watch = self._watches[scope]
        return self._clock() - max(watch.proved, watch.excused) > self._silence_timeout

    def silent(self) -> dict[Scope, float]:
        """Return the watches that have been silent for longer than the bound, and for how many seconds."""
        now = self._clock()
        return {
            scope: now - max(watch.proved, watch.excused)
            for scope, watch in self._watches.items()
            if self.is_silent(scope)
        }

    def to_restart(self) -> dict[Scope, float]:
        """Return the silent watches that Kopf has not been started anew for, and count it as done for all."""
        fresh = {scope: seconds for scope, seconds in self.silent().items() if not self._watches[scope].restarted}
        for scope in fresh:
            self._watches[scope].restarted = True
            # A Kopf that doesn't even end has as long for that.
            self._watches[scope].excused = self._clock()
        return fresh

    def dead(self) -> dict[Scope, float]:
        """Return the watches that are silent although Kopf was started anew for them."""
        return {scope: seconds for scope, seconds in self.silent().items() if self._watches[scope].restarted}
