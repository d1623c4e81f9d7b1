"""Decides when one scope is relisted. Pure: the time is an argument."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf

from coxswain.kernel.cache.scope_state import LASTING_SECONDS, UNWATCHED_SECONDS, ScopeState

_DIAGNOSIS_SECONDS = 10.0
"""Least seconds between two diagnoses."""


class Step(Enum):
    """What to do for a scope now."""

    NOTHING = "wait for the next request or timer"
    RELIST = "relist it, and repeat that until it succeeds"
    RELIST_ONCE = "relist it in place of its watch"
    DIAGNOSE = "find the reason why its watch does not open"


@dataclass
class RelistSchedule:
    """The timers of one scope: of the periodic relist while it is listed, of a diagnosis while it is not."""

    optional: bool
    """Whether its kind is optional."""
    interval: Callable[[], float]
    """Returns the seconds until the next periodic relist, with jitter."""
    next_relist: float = inf
    next_diagnosis: float = inf
    last_diagnosis: float = -inf
    """Time of the last diagnosis or of the last relist in place of the watch."""

    @property
    def timer(self) -> float:
        """The time of the next step without a request."""
        return min(self.next_relist, self.next_diagnosis)

    def next_step(self, state: ScopeState, now: float, *, due: bool, relist: bool, diagnose: bool) -> Step:
        """Return the next step, and set the timers.

        Args:
            state: the state of the scope.
            now: monotonic seconds.
            due: whether the timer has fired.
            relist: whether a relist is requested.
            diagnose: whether its watch does not open.
        """
        if relist or (due and state.listed):
            return self._relist(now)
        if not state.listed:
            return self._await_watch(state, now, diagnose=diagnose or due)
        if diagnose and state.is_unwatched(now) and now - self.last_diagnosis >= UNWATCHED_SECONDS:
            self.last_diagnosis = now
            return Step.RELIST_ONCE
        return Step.NOTHING

    def _relist(self, now: float) -> Step:
        # A requested relist does not postpone the periodic one.
        self.next_relist = self.next_relist if now < self.next_relist < inf else now + self.interval()
        self.next_diagnosis = inf
        return Step.RELIST

    def _await_watch(self, state: ScopeState, now: float, *, diagnose: bool) -> Step:
        # The watch must start before the first relist, also after a history reset.
        self.next_relist = inf
        # A watch may hang without an error, and nothing may wait long for an optional kind.
        self.next_diagnosis = now + LASTING_SECONDS if self.optional else inf
        if diagnose and state.served and now - self.last_diagnosis >= _DIAGNOSIS_SECONDS:
            self.last_diagnosis = now
            return Step.DIAGNOSE
        return Step.NOTHING
