"""Urgency of a status write: how long it may wait for further changes. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from coxswain.kernel.objects.quote import without_numbers
from coxswain.kernel.objects.status_fields import Status, condition_of
from coxswain.kernel.status.conditions import TYPES as STANDARD
from coxswain.kernel.status.health import Level
from coxswain.settings import StatusSettings


class Urgency(IntEnum):
    """Urgency levels, the least urgent first."""

    NONE = 0
    """No difference, except for numbers in quotations, because termination messages contain times."""
    DRIFT = 1
    """Only `drift` differs."""
    COUNTS = 2
    """Pod counts differ too, except the progress count."""
    PROGRESS = 3
    """The progress count or messages differ too; while children are Progressing, all but the decisive fields."""
    NOW = 4
    """A condition, observedGeneration, the health of a child or another field differs."""


@dataclass(frozen=True)
class Pace:
    """Facts about the rollout for the urgency of a status."""

    replicas: int = 0
    """Number of desired pods."""
    unobserved: int | None = None
    """The generation that the Deployment controller last observed, while it lags behind; 0 if its rollout was
    incomplete. None if it does not lag."""
    uncounted: bool = False
    """Whether the only news is that the Deployment controller has not counted a pod of the current generation yet."""
    retried: bool = False
    """Whether the write of a child failed and will probably succeed soon."""


@dataclass(frozen=True)
class StatusRules:
    """Fields of a workload's status, grouped by urgency."""

    types: tuple[str, ...]
    """Types of our conditions. Conditions of other types belong to other writers."""
    counts: tuple[str, ...] = ()
    """Fields with pod counts. Their changes wait for the next change."""
    progress: str | None = None
    """The count of the rollout's progress. Up to the number of desired pods it is more urgent than other counts."""
    early: tuple[str, ...] = ()
    """Those of the counts to write even before a pod of the current generation is counted."""

    def urgency(self, previous: Status, wanted: Status, replicas: int) -> Urgency:
        """Return how soon `wanted` must be written over `previous`.

        A progress count above `replicas` is no progress: pods of two revisions run at the same time.
        """
        if self._comparable(previous) == self._comparable(wanted):
            return Urgency.NONE
        before, after = (min(_count(each, self.progress), replicas) for each in (previous, wanted))
        all_counts = (*self.counts, "drift")
        slow = all_counts if before == after else tuple(name for name in all_counts if name != self.progress)
        if self._comparable(previous, ("drift",)) == self._comparable(wanted, ("drift",)):
            return Urgency.DRIFT
        if self._comparable(previous, slow) == self._comparable(wanted, slow):
            return Urgency.COUNTS
        if self._comparable(previous, all_counts, messages=False) == self._comparable(
            wanted, all_counts, messages=False
        ):
            return Urgency.PROGRESS
        # The controllers of several children report one after the other. Programs wait for the last report.
        progressing = _progresses(previous) and _progresses(wanted)
        if progressing and _decisive_fields(previous) == _decisive_fields(wanted):
            return Urgency.PROGRESS
        return Urgency.NOW

    def fingerprint(self, status: Status, *, times: bool = True) -> str:
        """Return a digest of a status. Equal digests mean `Urgency.NONE`.

        Without `times`, the transition times of our conditions do not count: for a change that is not written yet, each
        reconcile takes the present time.
        """
        comparable = self._comparable(status)
        if not times:
            comparable["conditions"] = [{**each, "lastTransitionTime": ""} for each in comparable["conditions"]]
        return hashlib.sha256(json.dumps(comparable, sort_keys=True).encode()).hexdigest()

    def delays(
        self, need: Urgency, previous: Status, wanted: Status, pace: Pace, settings: StatusSettings
    ) -> dict[str, float]:
        """Return the seconds that the changes in a status may wait for further ones, by kind of change.

        A kind keeps its deadline while it stays in the result. That of the drift ledger depends on its last write.
        """
        if pace.retried:
            return {"retried": settings.progress_interval}
        is_new_generation = previous.get("observedGeneration") != wanted.get("observedGeneration")
        if need is Urgency.NOW and is_new_generation and pace.uncounted:
            # Wait until a pod of this generation is counted. Terminated pods of older generations are reported in time.
            return {
                "settle": settings.settle_interval,
                **self._count_delays(self.early, previous, wanted, pace, settings),
            }
        if need is Urgency.NOW and (is_new_generation or pace.unobserved is None):
            return {"now": 0.0}
        delays = self._count_delays(self.counts, previous, wanted, pace, settings)
        if need is Urgency.NOW:
            # The controller makes progress if it has observed another generation since: that is another kind of change.
            delays[f"unobserved {pace.unobserved}"] = settings.progress_interval
        elif need is Urgency.PROGRESS:
            delays["progress"] = settings.progress_interval
        elif need is Urgency.COUNTS and not delays:
            # Another writer removed a count of 0.
            delays["counts"] = settings.counts_interval
        return delays

    def _count_delays(
        self, names: Sequence[str], previous: Status, wanted: Status, pace: Pace, settings: StatusSettings
    ) -> dict[str, float]:
        changed = [name for name in names if _count(previous, name) != _count(wanted, name)]
        surplus_before = max(_count(previous, self.progress), pace.replicas)
        if changed == [self.progress] and _count(wanted, self.progress) > surplus_before:
            return {"surge": settings.surge_interval}
        return {"counts": settings.counts_interval} if changed else {}

    def _comparable(self, status: Status, without: Sequence[str] = (), *, messages: bool = True) -> dict[str, Any]:
        """Return our part of a status in a comparable form: sorted, without the numbers in quotations."""

        def comparable(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
            return [{**item, "message": without_numbers(item.get("message", "")) if messages else ""} for item in items]

        ours = [each for each in status.get("conditions", []) if each.get("type") in self.types]
        return {
            **{key: value for key, value in status.items() if key not in without},
            "conditions": sorted(comparable(ours), key=lambda each: self.types.index(each["type"])),
            "children": comparable(status.get("children", [])),
        }


def _progresses(status: Status) -> bool:
    """Return whether a child is Progressing and none is worse."""
    healths = {each.get("health") for each in status.get("children", [])}
    return Level.PROGRESSING.text in healths and healths <= {Level.HEALTHY.text, Level.PROGRESSING.text}


def _decisive_fields(status: Status) -> list[Any]:
    """Return the fields that programs wait for: observedGeneration, and the statuses of the standard conditions."""
    return [status.get("observedGeneration"), *(condition_of(status, each).get("status") for each in STANDARD)]


def _count(status: Status, name: str | None) -> int:
    counts: Mapping[str, Any] = status
    return int(counts.get(name, 0)) if name else 0
