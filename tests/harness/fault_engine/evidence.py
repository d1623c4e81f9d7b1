"""The evidence of one run, for the oracles: one operator in one namespace."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cluster.audit import AuditEvent
from fault_engine.history import History
from fault_engine.objects import Object, condition, controller
from fault_engine.witness import Change
from fault_engine.workload import Workload


@dataclass(frozen=True)
class Violation:
    """A violation that an oracle found in a run."""

    oracle: str
    """`O1` to `O8`."""
    what: str
    """A sentence about it."""

    def __str__(self) -> str:
        return f"{self.oracle}: {self.what}"


def clock_offset() -> float:
    """Return the offset from the monotonic clock to the wall clock of the audit log."""
    return time.time() - time.monotonic()


@dataclass(frozen=True)
class Evidence:
    """One run. Times are of the monotonic clock, in seconds."""

    workload: Workload
    namespace: str
    history: History
    """The operator's requests, and the responses and watch lines to it."""
    changes: Sequence[Change]
    """All versions of all objects."""
    audit: Sequence[AuditEvent]
    """All requests of all users in the namespace, and all of the operator's elsewhere. If the operator serves all
    namespaces: elsewhere only its cluster-scoped requests."""
    end: Mapping[str, Sequence[Object]]
    """The objects at the end, by plural."""
    logs: str
    """The operator's log."""
    pages: Sequence[str] = ()
    """The responses of the operator's HTTP server."""
    secrets: Sequence[str] = ()
    """Values that must appear nowhere."""
    quiet_since: float | None = None
    """The start of the quiet time, in which the operator must not write."""
    faults: int = 0
    """The number of injected faults."""
    edits: int = 0
    """The number of writes in storms."""
    patience: float = 1.0
    """The factor on all timeouts, compared with the usual scale."""
    served: Sequence[str] = ()
    """Other namespaces that the operator serves."""
    offset: float = field(default_factory=clock_offset)

    @property
    def user(self) -> str:
        """The user name of the operator in the audit log."""
        return self.workload.user

    @property
    def parents(self) -> str:
        """The plural of the custom resource."""
        return self.workload.parent.plural

    def audited_at(self, event: AuditEvent) -> float:
        """Return the arrival time of an audited request."""
        return datetime.fromisoformat(event.time).timestamp() - self.offset


def converged(evidence: Evidence, parent: Object) -> str | None:
    """Return the first reason why a parent is not Ready, or its main child not complete; None if it has converged."""
    generation = parent["metadata"]["generation"]
    observed = parent.get("status", {}).get("observedGeneration")
    ready = condition(parent, "Ready")
    if observed != generation:
        return f"status.observedGeneration is {observed} and metadata.generation is {generation}"
    if (ready.get("status"), ready.get("observedGeneration")) != ("True", generation):
        return f"Ready is {ready.get('status')}, reason {ready.get('reason')}: {ready.get('message')}"
    uid, main = parent["metadata"]["uid"], evidence.workload.main
    mine = [found for found in evidence.end.get(main.plural, ()) if (controller(found) or {}).get("uid") == uid]
    if len(mine) != 1:
        return f"it controls {len(mine)} {main.kind}s"
    problem = evidence.workload.incomplete(mine[0])
    return None if problem is None else f"its {main.kind} is not complete: {problem}"
