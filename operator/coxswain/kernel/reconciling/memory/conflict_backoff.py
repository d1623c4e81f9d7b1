"""Backoff of a child after repeated conflicts (409): of its writes and of its deletion.

The Deployment controller writes the status several times a second during a rollout. Each of its events requeues the
parent. While the watch lags behind these writes, each attempt would be one more 409 with its two GETs.
"""

from dataclasses import dataclass
from typing import Self

from coxswain.kernel.status.health import Health
from coxswain.settings import StatusSettings


@dataclass(frozen=True)
class ConflictBackoff:
    """Conflicts in a row."""

    count: int
    last: float
    """Monotonic seconds."""
    health: Health
    """The health reported with the last one."""

    @classmethod
    def after(cls, before: Self | None, health: Health, now: float) -> Self:
        """Count one more conflict; report `health` during the backoff."""
        return cls(1 if before is None else before.count + 1, now, health)

    def ends(self, settings: StatusSettings) -> float:
        """Return the end of the backoff, in monotonic seconds.

        A first conflict causes no backoff: most often it is one change by one person.
        """
        if self.count < 2:
            return self.last
        delay = settings.conflict_delay * 2.0 ** min(self.count - 2, 30)
        return self.last + min(delay, settings.conflict_delay_limit)

    def counts(self, settings: StatusSettings, now: float) -> bool:
        """Tell whether the next conflict is one more in a row: it comes soon after the backoff."""
        return now < self.ends(settings) + settings.conflict_delay_limit
