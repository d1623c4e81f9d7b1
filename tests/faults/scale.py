"""The time scale: the suite's waits and the operator's timeouts, shortened alike.

What is compared with each other must shrink together: an outage of ten minutes against a resync of ten minutes, the
silence of a connection against the time after which it counts as dead.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from coxswain.settings import Settings

LEAST_SECONDS = {
    "connect_timeout": 2.0,
    "list_timeout": 5.0,
    "request_timeout": 3.0,
    "inactivity_timeout": 5.0,
    "server_timeout": 15,
    "silence_timeout": 12.0,
    "token_interval": 2.0,
    "resync_interval": 30.0,
    "stale_interval": 3.0,
    "retry_delay_limit": 5.0,
    "restart_backoff_limit": 3.0,
    "window": 20.0,
    "taken_name_interval": 3.0,
    "rest": 2.0,
    "rest_limit": 5.0,
    "absence_rest": 1.0,
    "absence_rest_limit": 3.0,
}
"""Settings that shrink with the scale, and what they never shrink below, whatever the scale. Others stay."""

FIXED_SECONDS = {
    "progress_interval": 0.3,
    "counts_interval": 0.6,
    "surge_interval": 0.9,
    "settle_interval": 0.9,
    "drift_interval": 0.6,
}
"""For how long mere progress, a first count, or what was put back, waits for its write: less than the quiet after
which a run counts as settled."""


USUAL = 0.1
"""The scale that the timeouts of scripts are written for."""
QUIET_MARGIN_SECONDS = 1.0
"""For a retry's own duration. The retry's jitter only makes it shorter."""


@dataclass(frozen=True)
class Scale:
    """How much shorter than in the table of faults a wait is."""

    factor: float = 1.0

    def seconds(self, table: float, least: float = 0.0) -> float:
        """Return what becomes of a wait."""
        return min(table, max(table * self.factor, least))

    def patience(self, seconds: float) -> float:
        """Return for how long a result is waited for; `seconds` at the usual scale of a tenth, more where it is less.

        What is waited for keeps its order: longer than the longest retry, shorter than the resync.
        """
        return seconds * max(1.0, self.factor / USUAL)

    @property
    def quiet(self) -> float:
        """The seconds without a write after which an operator is at rest: longer than its longest retry (O3)."""
        return scaled(Settings(), self).queue.retry_delay_limit + QUIET_MARGIN_SECONDS


def scaled(settings: Settings, scale: Scale) -> Settings:
    """Return the operator's settings with its times shortened."""

    def shorten(part: Any) -> Any:
        changes: dict[str, Any] = {}
        for each in dataclasses.fields(part):
            value = getattr(part, each.name)
            if dataclasses.is_dataclass(value):
                changes[each.name] = shorten(value)
            elif each.name in FIXED_SECONDS:
                changes[each.name] = FIXED_SECONDS[each.name]
            elif each.name in LEAST_SECONDS:
                changes[each.name] = type(value)(scale.seconds(value, LEAST_SECONDS[each.name]))
        return dataclasses.replace(part, **changes)

    shortened: Settings = shorten(settings)
    return shortened
