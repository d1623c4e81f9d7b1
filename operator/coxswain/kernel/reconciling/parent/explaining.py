"""Find the causes of the children's health, in the cache and in the Events about one object."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Generic

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.event_reader import EventReader
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.result import Result, sooner
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.memory import Memory, Warnings
from coxswain.kernel.workload import P, Workload

log = logging.getLogger(__name__)


class Explainer(Generic[P]):
    """Explains the health of children."""

    def __init__(
        self,
        workload: Workload[P],
        reader: EventReader,
        *,
        interval: float,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        """Read Events with `reader`, for one parent at most every `interval` seconds.

        `clock` is monotonic; `now` returns the time of day in UTC.
        """
        self._now = now
        self._workload = workload
        self._reader = reader
        self._interval = interval
        self._clock = clock

    async def explain(self, parent: P, result: Result, world: CacheView) -> Result:
        """Return a result with the cause of the child's health, and with the time at which the cause may change."""
        now = self._now()
        child_type = next(each for each in self._workload.children if each.kind.kind == result.child.kind)
        health = result.child.health
        if result.live is None or child_type.explain is None or not health.explainable:
            return result
        found, awaited = child_type.explain(parent, result.live, health, world, now), None
        if found.subject is not None:
            awaited = await self._read(found.subject, world.memory)
            found = child_type.explain(parent, result.live, health, world, now)
        due = None if found.until is None else (found.until - now).total_seconds()
        child = replace(result.child, health=found.health)
        return replace(result, child=child, after=sooner(result.after, awaited, due))

    async def _read(self, subject: Projection, memory: Memory) -> float | None:
        """Read the Events about an object, unless some were read lately.

        Returns:
            The seconds until the next read, if the Events of this object are still to come. If the operator may not
            list Events, they are not awaited.
        """
        now, before = self._clock(), memory.warnings
        if before is not None and now - before.at < self._interval:
            settled = before.subject == subject.uid and not before.awaited
            return None if settled else before.at + self._interval - now
        forbidden = False
        try:
            found = await self._reader.warnings_about(subject)
        except RequestFailed as error:
            log.debug("the Events about %s %s cannot be read: %s", subject.kind, subject.name, error)
            forbidden = isinstance(error, Refused) and error.status == 403
            found = before.found if before is not None and before.subject == subject.uid else ()
        memory.warnings = Warnings(subject.uid, found, now, awaited=not found and not forbidden)
        return self._interval if memory.warnings.awaited else None
