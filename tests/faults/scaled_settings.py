"""The settings of Coxswain's kernel at a time scale."""

import dataclasses
from typing import Any

from coxswain.settings import Settings
from fault_engine.scale import Scale

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
    "discovery_interval": 3.0,
    "window": 20.0,
    "taken_name_interval": 3.0,
    "suspension": 2.0,
    "suspension_limit": 5.0,
    "recreation_delay": 1.0,
    "recreation_delay_limit": 3.0,
    "lease_duration": 9.0,
    "renew_deadline": 6.0,
    "retry_period": 0.8,
    "settling_period": 2.0,
}
"""Settings that shrink with the scale, and their minimum at any scale. Other settings stay.

The minimum of a Lease is longer than the stalls of an overloaded machine, 4 s here: otherwise a leader loses its Lease
without a fault."""

FIXED_SECONDS = {
    "progress_interval": 0.3,
    "counts_interval": 0.6,
    "surge_interval": 0.9,
    "settle_interval": 0.9,
    "drift_interval": 0.6,
}
"""The write delay for progress, first counts and corrections. It is shorter than the quiet time after which a run has
settled."""


def scaled(settings: Settings, scale: Scale) -> Settings:
    """Return the operator's settings with shortened times."""

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


def longest_retry(factor: float) -> float:
    """Return the operator's longest delay before a retry, in seconds."""
    return scaled(Settings(), Scale(factor)).queue.retry_delay_limit
