"""The setup of a run, besides its steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Conditions:
    """The setup of a run, besides its steps."""

    namespaces: tuple[str, ...] = ("a", "b")
    scoped: bool = False
    """Whether the operator watches single namespaces."""
    slowest: float = 0.05
    """The maximum seconds of a response without faults."""
    defer: float = 0.0
    """Probability that the step of a task is deferred."""
    page_size: int = 500
    requests_in_flight: int = 32
    resync_interval: float = 600.0
    replicas: int = 1
    """The number of operator processes."""
    slots: int = 1
    """The number of slots that the processes share."""
    elected: bool = True
    """Whether several processes compete for a Lease. Otherwise all of them write, and all but the first are of another
    version with other children."""

    metadata: tuple[str, ...] = ()
    """Resources of others whose metadata the operator watches, because parents name them."""

    def settings(self) -> Mapping[str, Any]:
        """Return the overrides of the operator's settings."""
        return {
            "namespaces": self.namespaces if self.scoped else (),
            "page_size": self.page_size,
            "requests_in_flight": self.requests_in_flight,
            "resync_interval": self.resync_interval,
            "watch_metadata": self.metadata,
        }
