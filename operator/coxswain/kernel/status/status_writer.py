"""The status: written when it changed, at once or, for mere progress, with the last value after a while."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import cast

from coxswain.kernel.api.errors import Refused, Sort
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Store
from coxswain.kernel.objects.projection import Projection
from coxswain.settings import StatusSettings
from coxswain.webapp.conditions import COUNTS, Urgency, urgency
from coxswain.webapp.spec import Status

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What became of a status."""

    written: bool = False
    again: bool = False
    """It was computed from a WebApp that has changed since: compute it again at once."""
    after: float | None = None
    """It waits: come back after so many seconds."""
    undeclared: tuple[str, ...] = ()
    """Fields of the status that the CRD hasn't, just learned of: it is written without them from now on."""


@dataclass(frozen=True)
class Deployed:
    """What the urgency of a status depends on: the Deployment, as its controller sees it."""

    replicas: int = 1
    """The pods that it should have."""
    unobserved: int | None = None
    """The generation that its controller has observed, if there is a newer one while nothing is known to be missing;
    0 if something is missing, and None if the controller has observed the present one."""
    uncounted: bool = False
    """Whether the status says nothing but that the controller has not counted a pod of the present spec yet."""
    retried: bool = False
    """Whether a write of some child failed and most often succeeds in a moment."""


@dataclass
class StatusMemory:
    """Memory of one WebApp's status."""

    drift_written: float = -inf
    """When drift was last written; monotonic seconds, as all times here."""
    waiting: dict[tuple[str, int], float] = field(default_factory=dict)
    """Deadlines of changes that wait."""
    stale: tuple[int, float] | None = None
    """The version that a status write was refused for, and when."""
    conflicts: tuple[int, float] = (0, 0.0)
    """Conflicts in a row, and when the last one was."""
    without_effect: tuple[int, Status] | None = None
    """A status whose write changed nothing, and the version of the WebApp."""


class StatusWriter:
    """Writes the status of WebApps."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        settings: StatusSettings,
        *,
        clock: Callable[[], float],
        relist_webapps: Callable[[str], None],
    ) -> None:
        """Write with `writer`; `clock` gives monotonic seconds, `relist_webapps` lists the WebApps of a namespace."""
        self._store = store
        self._writer = writer
        self._settings = settings
        self._clock = clock
        self._relist_webapps = relist_webapps
        self._undeclared: set[str] = set()

    def resynced(self) -> None:
        """Send the fields again that the CRD lacked."""
        self._undeclared.clear()

    async def report(self, memory: StatusMemory, webapp: Projection, status: Status, deployed: Deployed) -> Report:
        """Bring the status of a WebApp, as it was observed, to the API server if and when it must be.

        Raises:
            RequestFailed: it could not be written.
            HistoryReset: the answer was older than the WebApp.
        """
        previous = webapp.content.get("status", {})
        status = _only_declared(status, self._undeclared)
        need = urgency(previous, status, deployed.replicas)
        if need is Urgency.NONE or memory.without_effect == (webapp.version, status):
            memory.waiting, memory.conflicts = {}, (0, 0.0)
            return Report()
        if not self._store.is_latest(webapp):
            return Report(again=True)
        wait = max(
            self._wait(memory, need, previous, status, deployed),
            self._wait_for_news(memory, webapp),
            self._wait_for_a_pause(memory),
        )
        if wait > 0:
            return Report(after=wait)
        return await self._write(memory, webapp, status)

    def _wait(self, memory: StatusMemory, need: Urgency, previous: Status, status: Status, deployed: Deployed) -> float:
        """Return the seconds until a status of this urgency should be written: until its first deadline."""
        now = self._clock()
        intervals = self._intervals(need, previous, status, deployed)
        memory.waiting = {name: memory.waiting.get(name, now + interval) for name, interval in intervals.items()}
        deadlines = list(memory.waiting.values())
        if previous.get("drift") != status.get("drift"):
            deadlines.append(memory.drift_written + self._settings.drift_interval)
        return min(deadlines) - now

    def _intervals(
        self, need: Urgency, previous: Status, status: Status, deployed: Deployed
    ) -> dict[tuple[str, int], float]:
        """Return for how long each kind of change waits for the next one, which it is written with."""
        settings, intervals = self._settings, {}
        if deployed.retried:
            return {("retried", 0): settings.progress_interval}
        if need is Urgency.NOW and previous.get("observedGeneration") != status["observedGeneration"]:
            if not deployed.uncounted:
                return {("now", 0): 0.0}
            # Pods of before that end are told in time; that no pod is counted yet is what this waits for.
            return {
                ("settle", 0): settings.settle_interval,
                **self._of_counts(("replicas", "readyReplicas"), previous, status, deployed),
            }
        if need is Urgency.NOW:
            if deployed.unobserved is None:
                return {("now", 0): 0.0}
            # A controller that has observed another generation since is at work: it has the whole time again.
            intervals["unobserved", deployed.unobserved] = settings.progress_interval
        if need is Urgency.PROGRESS:
            intervals["progress", 0] = settings.progress_interval
        return intervals | self._of_counts(COUNTS, previous, status, deployed)

    def _of_counts(
        self, names: Sequence[str], previous: Status, status: Status, deployed: Deployed
    ) -> dict[tuple[str, int], float]:
        """Return for how long a change of these counts waits."""
        changed = [name for name in names if previous.get(name, 0) != status.get(name, 0)]
        most = max(previous.get("readyReplicas", 0), deployed.replicas)
        if changed == ["readyReplicas"] and most < status.get("readyReplicas", 0):
            return {("surge", 0): self._settings.surge_interval}
        return {("counts", 0): self._settings.counts_interval} if changed else {}

    def _wait_for_news(self, memory: StatusMemory, webapp: Projection) -> float:
        """Return the seconds that the watch still has to tell of the change that made a status write a conflict."""
        if memory.stale is None or memory.stale[0] != webapp.version:
            memory.stale = None
            return 0
        version, since = memory.stale
        remaining = since + self._settings.stale_interval - self._clock()
        if remaining > 0:
            return remaining
        # The watch is behind, for this WebApp and so for others: a sweep brings the news of all.
        self._relist_webapps(webapp.namespace)
        memory.stale = (version, self._clock())
        return self._settings.stale_interval

    def _wait_for_a_pause(self, memory: StatusMemory) -> float:
        """Return the seconds until a status is tried again that others were faster than, time after time."""
        count, last = memory.conflicts
        if count < 2:  # most often it is one change by one person
            return 0
        delay = self._settings.conflict_delay * 2.0 ** min(count - 2, 30)
        return last + min(delay, self._settings.conflict_delay_limit) - self._clock()

    async def _write(self, memory: StatusMemory, webapp: Projection, status: Status) -> Report:
        try:
            answer = await self._writer.write_status(webapp, status)
        except Refused as error:
            if error.undeclared_status_fields:
                return self._without(error.undeclared_status_fields)
            if error.sort is not Sort.CONFLICT:
                raise
            memory.conflicts = (memory.conflicts[0] + 1, self._clock())
            if not self._store.is_latest(webapp):
                return Report(again=True)
            log.debug("the status was computed from a version that is no more; waiting for the watch")
            memory.stale = (webapp.version, self._clock())
            return Report(after=self._settings.stale_interval)
        self._store.answer(answer, webapp)
        if answer.version == webapp.version:
            memory.without_effect = (webapp.version, status)
        memory.conflicts = (0, 0.0)
        if status.get("drift") != webapp.content.get("status", {}).get("drift"):
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
