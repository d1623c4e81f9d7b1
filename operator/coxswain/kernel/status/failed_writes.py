"""Failed status writes of one parent, and the backoff after them.

Each event requeues the parent at once. Without a backoff each would send the status again, also to a server that has
answered with Retry-After.
"""

from dataclasses import dataclass

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.settings import StatusSettings

Attempt = tuple[int, str]
"""A status write: the resourceVersion of the parent, and the fingerprint of the status without times."""


@dataclass(frozen=True)
class FailedWrites:
    """Failures in a row."""

    count: int = 0
    last: float = 0.0
    """Monotonic seconds."""
    retry_after: float = 0.0
    """The Retry-After of the last one, in seconds."""
    denied: Attempt | None = None
    """The last one, if admission denied it: other writes have no backoff. Other failures have nothing to do with the
    status, and a conflict comes from another writer that may write again."""

    def and_another(self, error: RequestFailed, attempt: Attempt, now: float) -> "FailedWrites":
        """Count one more failure."""
        denied = isinstance(error, Refused) and error.by_admission
        return FailedWrites(self.count + 1, now, error.retry_after or 0.0, attempt if denied else None)

    def delay(self, attempt: Attempt, settings: StatusSettings, now: float) -> float:
        """Return the remaining backoff of a write in seconds. A Retry-After concerns all writes."""
        backoff = settings.backoff(self.count) if self.denied in (None, attempt) else 0.0
        return self.last + max(self.retry_after, backoff) - now
