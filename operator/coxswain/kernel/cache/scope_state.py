"""The state of one scope: how far its LISTs and its watch have come. Pure: the time is an argument."""

from dataclasses import dataclass
from enum import Enum

LASTING_SECONDS = 15.0
"""Seconds before a failure is reported in the status of parents: a starting API server answers 403 until it has loaded
the roles."""
MIXED_LASTING_SECONDS = 60.0
"""Seconds before failures of changing sorts are reported, for a kind without a successful LIST."""
UNWATCHED_SECONDS = 60.0
"""Seconds of failed attempts to open a watch before they are reported. Its kind is relisted at this interval then."""


class Listing(Enum):
    """How far the LISTs of a scope have come since the last history reset."""

    UNSERVED = "the API server does not serve the kind"
    PENDING = "no LIST has succeeded or failed yet"
    FAILING = "no LIST has succeeded yet, and the last one has failed"
    UNLISTABLE = "no LIST has succeeded yet, and they have failed for long"
    LISTED = "a LIST has succeeded, and none has failed for long since then"
    OUTAGE = "a LIST has succeeded, and they have failed for long since then; the store stays usable"
    GONE = "a LIST has succeeded, and the API server has answered 403 or 404 for long since then"

    @property
    def is_unavailable(self) -> bool:
        """Whether the kind cannot be listed for long: the status reports it, and no worker waits for it."""
        return self in (Listing.UNSERVED, Listing.UNLISTABLE, Listing.GONE)


@dataclass(frozen=True)
class Failure:
    """Failed LISTs in a row."""

    sort: object
    """HTTP status or exception type of the last one. Another sort resets `since`."""
    text: str
    since: float
    """Monotonic time of the first failure of this sort in a row."""
    first: float
    """Monotonic time of the first failure since the last success."""


@dataclass
class ScopeState:
    """The state of one scope."""

    served: bool = True
    """Whether the API server serves the kind. Only an optional kind is watched no longer if it does not."""
    listed: bool = False
    """Whether a relist has succeeded since the last history reset."""
    listed_at: float = 0.0
    """Unix time of the last successful relist, or 0."""
    complete_since: float = 0.0
    """Monotonic time of the first relist after the last gap."""
    failure: Failure | None = None
    """The failure of the last LIST, if it failed."""
    watch_started: bool = False
    """Whether its watch has started in the current run of Kopf."""
    refused_since: float | None = None
    """Monotonic time of the first failed attempt to list or to open its watch; None if the last one succeeded."""
    in_doubt: bool = True
    """Whether its watch may have missed events since the last relist."""
    gaps: int = 0
    """Number of times when its watch may have missed events."""

    def add_gap(self) -> None:
        """Record that the watch may have missed events."""
        self.in_doubt = True
        self.gaps += 1

    @property
    def error(self) -> str:
        """The failure of the last LIST, for messages."""
        return self.failure.text if self.failure is not None else ""

    def listing(self, now: float) -> Listing:
        """Return how far its LISTs have come."""
        if not self.served:
            return Listing.UNSERVED
        if self.failure is None:
            return Listing.LISTED if self.listed else Listing.PENDING
        lasting = now - self.failure.since >= LASTING_SECONDS
        if self.listed:
            if not lasting:
                return Listing.LISTED
            return Listing.GONE if self.failure.sort in (403, 404) else Listing.OUTAGE
        # Only for an unlisted kind, because it holds up the parents. For a listed one, the 403 of an API server that
        # has not loaded the roles must not count as lasting right after an outage of a minute.
        mixed = now - self.failure.first >= MIXED_LASTING_SECONDS
        return Listing.UNLISTABLE if lasting or mixed else Listing.FAILING

    @property
    def is_doubtful(self) -> bool:
        """Whether the store may be incomplete for this scope."""
        return self.served and (not self.watch_started or self.refused_since is not None or self.in_doubt)

    def is_unwatched(self, now: float) -> bool:
        """Return whether the attempts to open its watch have failed for long."""
        return self.refused_since is not None and now - self.refused_since >= UNWATCHED_SECONDS

    def lacks_only_watch(self, now: float) -> bool:
        """Return whether its watch has been refused for long, and a relist has succeeded meanwhile.

        Without that relist the API server may be down. No status needs to report that.
        """
        return self.is_unwatched(now) and self.complete_since > (self.refused_since or 0.0)
