"""The status: written when it changed, at once or, for mere progress, with the last value after a while."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import cast

from coxswain.kernel.api.errors import ErrorClass, Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Store
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.urgency import Pace, StatusRules, Urgency
from coxswain.settings import StatusSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What became of a status."""

    written: bool = False
    again: bool = False
    """It was computed from a parent that has changed since: compute it again at once."""
    after: float | None = None
    """It waits: come back after so many seconds."""
    undeclared: tuple[str, ...] = ()
    """Fields of the status that the CRD hasn't, just learned of: it is written without them from now on."""


@dataclass
class StatusMemory:
    """Memory of the status of one parent."""

    drift_written: float = -inf
    """When drift was last written; monotonic seconds, as all times here."""
    waiting: dict[tuple[str, int], float] = field(default_factory=dict)
    """Deadlines of changes that wait."""
    stale: tuple[int, float] | None = None
    """The version that a status write was refused for, and when."""
    conflicts: tuple[int, float] = (0, 0.0)
    """Conflicts in a row, and when the last one was."""
    without_effect: tuple[int, Status] | None = None
    """A status whose write changed nothing, and the version of the parent."""


class StatusWriter:
    """Writes the status of parents."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        settings: StatusSettings,
        rules: StatusRules,
        *,
        clock: Callable[[], float],
        relist_parents: Callable[[str], None],
    ) -> None:
        """Write with `writer`; `clock` gives monotonic seconds, `relist_parents` lists the parents of a namespace."""
        self._store = store
        self._writer = writer
        self._settings = settings
        self._rules = rules
        self._clock = clock
        self._relist_parents = relist_parents
        self._undeclared: set[str] = set()

    def resynced(self) -> None:
        """Send the fields again that the CRD lacked."""
        self._undeclared.clear()

    async def report(self, memory: StatusMemory, parent: Projection, status: Status, pace: Pace) -> Report:
        """Bring the status of a parent, as it was observed, to the API server if and when it must be.

        Raises:
            RequestFailed: it could not be written.
            HistoryReset: the answer was older than the parent.
        """
        previous = parent.content.get("status", {})
        status = _only_declared(status, self._undeclared)
        need = self._rules.urgency(previous, status, pace.replicas)
        if need is Urgency.NONE or memory.without_effect == (parent.version, status):
            memory.waiting, memory.conflicts = {}, (0, 0.0)
            return Report()
        if not self._store.is_latest(parent):
            return Report(again=True)
        wait = max(
            self._wait(memory, need, previous, status, pace),
            self._wait_for_news(memory, parent),
            self._wait_for_a_pause(memory),
        )
        if wait > 0:
            return Report(after=wait)
        return await self._write(memory, parent, status)

    def _wait(self, memory: StatusMemory, need: Urgency, previous: Status, status: Status, pace: Pace) -> float:
        """Return the seconds until a status of this urgency should be written: until its first deadline."""
        now = self._clock()
        intervals = self._intervals(need, previous, status, pace)
        memory.waiting = {name: memory.waiting.get(name, now + interval) for name, interval in intervals.items()}
        deadlines = list(memory.waiting.values())
        if previous.get("drift") != status.get("drift"):
            deadlines.append(memory.drift_written + self._settings.drift_interval)
        return min(deadlines) - now

    def _intervals(self, need: Urgency, previous: Status, status: Status, pace: Pace) -> dict[tuple[str, int], float]:
        """Return for how long each kind of change waits for the next one, which it is written with."""
        settings, intervals = self._settings, {}
        if pace.retried:
            return {("retried", 0): settings.progress_interval}
        if need is Urgency.NOW and previous.get("observedGeneration") != status["observedGeneration"]:
            if not pace.uncounted:
                return {("now", 0): 0.0}
            # Pods of before that end are told in time; that no pod is counted yet is what this waits for.
            return {
                ("settle", 0): settings.settle_interval,
                **self._of_counts(self._rules.early, previous, status, pace),
            }
        if need is Urgency.NOW:
            if pace.unobserved is None:
                return {("now", 0): 0.0}
            # A controller that has observed another generation since is at work: it has the whole time again.
            intervals["unobserved", pace.unobserved] = settings.progress_interval
        if need is Urgency.PROGRESS:
            intervals["progress", 0] = settings.progress_interval
        return intervals | self._of_counts(self._rules.counts, previous, status, pace)

    def _of_counts(
        self, names: Sequence[str], previous: Status, status: Status, pace: Pace
    ) -> dict[tuple[str, int], float]:
        """Return for how long a change of these counts waits."""
        changed = [name for name in self._rules.changed_counts(previous, status) if name in names]
        if self._rules.is_surge(previous, status, pace.replicas) and changed == [self._rules.progress]:
            return {("surge", 0): self._settings.surge_interval}
        return {("counts", 0): self._settings.counts_interval} if changed else {}

    def _wait_for_news(self, memory: StatusMemory, parent: Projection) -> float:
        """Return the seconds that the watch still has to tell of the change that made a status write a conflict."""
        if memory.stale is None or memory.stale[0] != parent.version:
            memory.stale = None
            return 0
        version, since = memory.stale
        remaining = since + self._settings.stale_interval - self._clock()
        if remaining > 0:
            return remaining
        # The watch is behind, for this parent and so for others: a relist updates all of them.
        self._relist_parents(parent.namespace)
        memory.stale = (version, self._clock())
        return self._settings.stale_interval

    def _wait_for_a_pause(self, memory: StatusMemory) -> float:
        """Return the seconds until a status is tried again that others were faster than, time after time."""
        count, last = memory.conflicts
        if count < 2:  # most often it is one change by one person
            return 0
        delay = self._settings.conflict_delay * 2.0 ** min(count - 2, 30)
        return last + min(delay, self._settings.conflict_delay_limit) - self._clock()

    async def _write(self, memory: StatusMemory, parent: Projection, status: Status) -> Report:
        try:
            answer = await self._writer.write_status(parent, status)
        except Refused as error:
            if error.undeclared_status_fields:
                return self._without(error.undeclared_status_fields)
            if error.error_class is not ErrorClass.CONFLICT:
                raise
            memory.conflicts = (memory.conflicts[0] + 1, self._clock())
            if not self._store.is_latest(parent):
                return Report(again=True)
            log.debug("the status was computed from a version that is no more; waiting for the watch")
            memory.stale = (parent.version, self._clock())
            return Report(after=self._settings.stale_interval)
        self._store.answer(answer, parent)
        if answer.version == parent.version:
            memory.without_effect = (parent.version, status)
        memory.conflicts = (0, 0.0)
        if status.get("drift") != parent.content.get("status", {}).get("drift"):
            memory.drift_written = self._clock()
        memory.waiting = {}
        return Report(written=True)

    def _without(self, fields: Sequence[str]) -> Report:
        """Leave out fields that the CRD hasn't: an apply that names one is refused as a whole."""
        log.error("the CRD has no %s in its status: it is older than the operator; apply the CRD", ", ".join(fields))
        self._undeclared.update(fields)
        return Report(again=True, undeclared=tuple(fields))


def _only_declared(status: Status, undeclared: Collection[str]) -> Status:
    return cast("Status", {key: value for key, value in status.items() if key not in undeclared})
