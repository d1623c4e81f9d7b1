"""Writes the status of parents: at once if urgent, otherwise after an interval with the latest value."""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

from coxswain.kernel.api.errors import ErrorClass, NotSent, Refused, RequestFailed
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Store
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.status.conflict_report import Repair
from coxswain.kernel.status.failed_writes import Attempt, FailedWrites
from coxswain.kernel.status.left_over import left_over
from coxswain.kernel.status.status_memory import StaleParent, StatusMemory
from coxswain.kernel.status.urgency import Pace, StatusRules, Urgency
from coxswain.settings import StatusSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """Result of one attempt to report a status."""

    written: bool = False
    again: bool = False
    """The parent has changed since the status was computed: requeue it at once."""
    after: float | None = None
    """Requeue the parent after this number of seconds."""
    in_backoff: bool = False
    """Whether the write waits after failures: neither a success nor a failure."""
    undeclared: tuple[str, ...] = ()
    """Status fields unknown to the CRD, as this write revealed. Later writes omit them."""
    refused: Refused | None = None
    """The terminal error of the write. It is not retried until the parent or its children change."""


class StatusWriter:
    """Writes the status of parents with rate limits by urgency."""

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
        """Write with `writer`. `clock` returns monotonic seconds, `relist_parents` relists a namespace."""
        self._store = store
        self._writer = writer
        self._settings = settings
        self._rules = rules
        self._clock = clock
        self._relist_parents = relist_parents
        self._undeclared: set[str] = set()
        self._resyncs = 0

    def resynced(self) -> None:
        """Retry writes with a conflict. Include the omitted fields again: the CRD may have been upgraded."""
        self._resyncs += 1
        self._undeclared.clear()

    def confirm(self, memory: StatusMemory, parent: Projection) -> tuple[Repair, ...] | None:
        """Return the repairs in an unanswered write, if the observed parent shows its effect; otherwise None."""
        if not memory.unanswered:
            return None
        fingerprint = self._rules.fingerprint(parent.content.get("status", {}))
        repairs = memory.unanswered.settle(parent.version, fingerprint)
        if repairs:
            memory.drift_written = self._clock()
        return repairs

    async def report(
        self, memory: StatusMemory, parent: Projection, status: Status, pace: Pace, repairs: Sequence[Repair] = ()
    ) -> Report:
        """Write the status of a parent, if it differs from the observed one and its deadline has passed.

        Args:
            memory: the memory of the parent's status.
            parent: the observed parent.
            status: its desired status.
            pace: facts about the rollout.
            repairs: the repairs that the status adds to `drift`.

        Raises:
            RequestFailed: the write failed, and the error is not terminal.
            HistoryReset: the response was older than the observed parent.
        """
        # Also if the status is up to date: a GET of this reconcile may have stored a newer version, and then the watch
        # event of that version enqueues nothing.
        if not self._store.is_latest(parent):
            return Report(again=True)
        previous = parent.content.get("status", {})
        status = _only_declared(status, self._undeclared)
        need = self._rules.urgency(previous, status, pace.replicas)
        attempt = None if need is Urgency.NONE else self._attempt(parent, status)
        if attempt is None or attempt == memory.without_effect:
            # Nothing is left to write: reset the backoff, but keep the server's Retry-After.
            memory.deadlines, memory.failed = {}, replace(memory.failed, count=0)
            return Report()
        backoff = memory.failed.delay(attempt, self._settings, self._clock())
        wait = max(
            self._wait(memory, need, previous, status, pace),
            self._await_newer_parent(memory, parent),
            backoff,
        )
        if wait > 0:
            return Report(after=wait, in_backoff=backoff > 0)
        return await self._write(memory, parent, status, repairs)

    def _wait(self, memory: StatusMemory, need: Urgency, previous: Status, status: Status, pace: Pace) -> float:
        """Return the seconds until the earliest deadline of a status with this urgency."""
        now = self._clock()
        delays = self._rules.delays(need, previous, status, pace, self._settings)
        memory.deadlines = {change: memory.deadlines.get(change, now + delay) for change, delay in delays.items()}
        deadlines = list(memory.deadlines.values())
        if previous.get("drift") != status.get("drift"):
            deadlines.append(memory.drift_written + self._settings.drift_interval)
        return min(deadlines) - now

    def _await_newer_parent(self, memory: StatusMemory, parent: Projection) -> float:
        """Return the seconds to wait for the watch event of the change that caused a conflict."""
        stale = memory.stale
        if stale is None or (stale.version, stale.resyncs) != (parent.version, self._resyncs):
            memory.stale = None
            return 0
        remaining = stale.since + self._settings.stale_interval - self._clock()
        if remaining > 0:
            return remaining
        if stale.relisted:
            # The relist brought no newer version either, so the conflict probably had another cause: write again.
            memory.stale = None
            return 0
        # The watch is behind, probably for all parents of the namespace: relist them.
        self._relist_parents(parent.namespace)
        memory.stale = replace(stale, since=self._clock(), relisted=True)
        return self._settings.stale_interval

    def _attempt(self, parent: Projection, status: Status) -> Attempt:
        return parent.version, self._rules.fingerprint(status, times=False)

    async def _write(
        self, memory: StatusMemory, parent: Projection, status: Status, repairs: Sequence[Repair]
    ) -> Report:
        try:
            answer = await self._apply(memory, parent, status, repairs)
        except RequestFailed as error:
            report = self._failed(memory, parent, status, error)
            if report is None:
                raise
            return report
        memory.unanswered.answered()
        self._store.answer(answer, parent)
        if status.get("drift") != parent.content.get("status", {}).get("drift"):
            memory.drift_written = self._clock()
        memory.deadlines = {}
        pointers = left_over(answer.content["status"], status, self._rules.types)
        if pointers:
            try:
                answer = await self._remove(answer, pointers)
            except RequestFailed as error:
                return replace(self._removal_failed(memory, answer, status, error), written=True)
        memory.failed = FailedWrites()
        if answer.version == parent.version:
            memory.without_effect = self._attempt(parent, status)
        return Report(written=True)

    async def _apply(
        self, memory: StatusMemory, parent: Projection, status: Status, repairs: Sequence[Repair]
    ) -> Projection:
        """Apply the status. If it is refused as invalid, remove what the apply would leave, and apply it again.

        Of an item that is not wanted any more, an apply leaves the fields that another manager owns too. Without the
        required fields of the item, the API server refuses the whole status.
        """
        fingerprint = self._rules.fingerprint(status)
        memory.unanswered.sent(parent.version, fingerprint, repairs)
        try:
            return await self._writer.write_status(parent, status)
        except Refused as error:
            pointers = left_over(parent.content.get("status", {}), status, self._rules.types)
            if error.status != 422 or not pointers:
                raise
        parent = await self._remove(parent, pointers)
        memory.unanswered.sent(parent.version, fingerprint, repairs)
        return await self._writer.write_status(parent, status)

    async def _remove(self, parent: Projection, pointers: Sequence[str]) -> Projection:
        """Remove what an apply leaves in the status. Otherwise, readers would take it for the present state."""
        log.info("removing from the status, because another field manager owns parts of it: %s", ", ".join(pointers))
        answer = await self._writer.remove_from_status(parent, pointers)
        self._store.answer(answer, parent)
        return answer

    def _failed(self, memory: StatusMemory, parent: Projection, status: Status, error: RequestFailed) -> Report | None:
        """Remember a failed write; return None if `error` is to be retried with backoff.

        Raises:
            NotSent: `error`, if it is one.
        """
        if isinstance(error, NotSent):
            raise error
        if isinstance(error, Refused) and error.undeclared_status_fields:
            return self._without(error.undeclared_status_fields)
        if isinstance(error, Refused) and error.error_class is ErrorClass.TERMINAL:
            log.error("the status is not written until the parent or its children change: %s", error)
            memory.without_effect = self._attempt(parent, status)
            return Report(refused=error)
        memory.failed = memory.failed.and_another(error, self._attempt(parent, status), self._clock())
        if isinstance(error, Refused) and error.error_class is ErrorClass.CONFLICT:
            return self._conflicted(memory, parent, error)
        return None

    def _removal_failed(self, memory: StatusMemory, parent: Projection, status: Status, error: RequestFailed) -> Report:
        """Remember a failed removal. The apply before it has taken effect, so this is no failure of the reconcile."""
        report = self._failed(memory, parent, status, error)
        if report is not None:
            return report
        delay = memory.failed.delay(self._attempt(parent, status), self._settings, self._clock())
        log.warning("%s; retried in %.1f s", error, delay)
        return Report(after=delay, in_backoff=True)

    def _conflicted(self, memory: StatusMemory, parent: Projection, error: Refused) -> Report | None:
        """Wait for a newer parent after a conflict, unless it is cached already."""
        is_latest = self._store.is_latest(parent)
        if error.status == 404 and is_latest:
            # Its DELETED event will follow, or the API server does not serve the status. No newer version follows.
            return None
        if not is_latest:
            return Report(again=True)
        log.debug("status conflict: the cached parent is stale; waiting for its watch event")
        memory.stale = StaleParent(parent.version, self._clock(), self._resyncs)
        return Report(after=self._settings.stale_interval)

    def _without(self, fields: Sequence[str]) -> Report:
        """Omit fields that the CRD lacks: the API server refuses an apply with an unknown field."""
        log.error(
            "the CRD lacks the status fields %s: it is older than the operator. They are omitted. Apply the newer CRD",
            ", ".join(fields),
        )
        self._undeclared.update(fields)
        return Report(again=True, undeclared=tuple(fields))


def _only_declared(status: Status, undeclared: Collection[str]) -> Status:
    return cast("Status", {key: value for key, value in status.items() if key not in undeclared})
