"""The result of a reconcile for one child."""

from dataclasses import dataclass

from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.conflicts.write_plan import HeldField
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.writes import NOTHING_WRITTEN, Writes
from coxswain.kernel.status.health import Child


@dataclass(frozen=True)
class Result:
    """The result for one child."""

    child: Child
    live: Projection | None = None
    """The live child, if it exists and belongs to the parent."""
    writes: Writes = NOTHING_WRITTEN
    """The successful writes for it: a later request may have failed."""
    left: tuple[HeldField, ...] = ()
    """Fields left to other managers for now."""
    failed: RequestFailed | None = None
    """The failed request."""
    after: float | None = None
    """Seconds until it is reconciled again without an event."""
    backoff: float | None = None
    """Remaining seconds of its backoff after failures; None if it does not wait."""

    @property
    def in_backoff(self) -> bool:
        """Whether it waits after failures: neither a success nor a failure."""
        return self.backoff is not None

    @property
    def retry(self) -> bool:
        """Whether to retry a failed request."""
        return self.failed is not None and not self.child.health.stalled


def sooner(*delays: float | None) -> float | None:
    """Return the shortest delay in seconds; None without one."""
    return min((delay for delay in delays if delay is not None), default=None)
