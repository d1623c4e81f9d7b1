"""The memory of the status writes of one parent."""

from dataclasses import dataclass, field
from math import inf

from coxswain.kernel.status.failed_writes import Attempt, FailedWrites
from coxswain.kernel.status.unanswered import UnansweredWrites


@dataclass(frozen=True)
class StaleParent:
    """A cached parent that is probably stale, because its last status write had a conflict."""

    version: int
    """The resourceVersion of the parent."""
    since: float
    """Time of the conflict, or of the relist after it."""
    resyncs: int
    """Number of resyncs before the conflict."""
    relisted: bool = False
    """Whether the parents were relisted since the conflict."""


@dataclass
class StatusMemory:
    """In-memory state of the status of one parent."""

    drift_written: float = -inf
    """Time of the last write of `drift`. All times here are monotonic seconds."""
    deadlines: dict[str, float] = field(default_factory=dict)
    """Deadlines of delayed changes, by kind of change."""
    stale: StaleParent | None = None
    """Set after a status conflict, until the watch delivers a newer parent or the write is retried."""
    failed: FailedWrites = field(default_factory=FailedWrites)
    without_effect: Attempt | None = None
    """The last write that changed nothing or was refused for good: not repeated before the next resync."""
    unanswered: UnansweredWrites = field(default_factory=UnansweredWrites)
