"""Backoff of a child after repeated failures: of its writes and of its deletion.

Each event requeues the parent at once, and the Deployment controller writes the status several times a second during a
rollout. While the watch lags behind these writes, each attempt would be one more 409 with its two GETs. After another
failure, each would be refused again.
"""

from dataclasses import dataclass
from typing import Self

from coxswain.kernel.api.errors import ErrorClass, Refused, RequestFailed
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.memory.attempts import digest
from coxswain.kernel.status.health import Health
from coxswain.settings import StatusSettings


@dataclass(frozen=True)
class Backoff:
    """Failures in a row."""

    count: int
    last: float
    """Monotonic seconds."""
    health: Health
    """The health reported with the last one."""
    manifest: str | None = None
    """Digest of the failed manifest: another one is written at once. None after a conflict, because the parent may
    change as often as the child, and after a failed deletion."""
    retry_after: float = 0.0
    """The Retry-After of the last one, in seconds."""
    forbidden: bool = False
    """Whether the operator lacked the right, so that the next object of this kind would be refused too. An admission
    policy may deny one and allow the next."""

    @classmethod
    def after(
        cls, before: Self | None, error: RequestFailed, health: Health, now: float, manifest: Manifest | None = None
    ) -> Self:
        """Count one more failure, of a write of `manifest`; report `health` during the backoff."""
        count = 1 if before is None else before.count + 1
        conflict = error.error_class is ErrorClass.CONFLICT
        forbidden = isinstance(error, Refused) and error.status == 403 and not error.by_admission
        written = None if conflict or manifest is None else digest(manifest)
        return cls(count, now, health, written, error.retry_after or 0.0, forbidden)

    def ends(self, settings: StatusSettings) -> float:
        """Return the end of the backoff, in monotonic seconds.

        A first failure without a Retry-After causes no backoff: most often it is one change by one person.
        """
        return self.last + max(self.retry_after, settings.backoff(self.count))

    def delays(self, manifest: Manifest, settings: StatusSettings, now: float) -> bool:
        """Tell whether a write of this manifest has to wait."""
        return now < self.ends(settings) and self.manifest in (None, digest(manifest))

    def counts(self, settings: StatusSettings, now: float) -> bool:
        """Tell whether the next failure is one more in a row: it comes soon after the backoff."""
        return now < self.ends(settings) + settings.backoff_delay_limit
