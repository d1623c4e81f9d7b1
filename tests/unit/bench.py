"""A reconciler with a store filled by the test and a writer scripted by it."""

import dataclasses
from datetime import UTC, datetime
from typing import Any

from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.api.events import RecentEvents
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.event_record import EventRecord, ReportedEvent
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.kernel.status.status_writer import StatusWriter
from coxswain.settings import Settings, StatusSettings
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from coxswain.webapp.workload import WORKLOAD
from rendered import CHILDREN, observe
from unit.event_loop import run
from unit.objects import raw_webapp
from unit.server import RecordingWriter
from unit.set_coverage import SetCoverage

WEB = Key("shop", "web")
SPEC: dict[str, Any] = {
    "image": "registry.example/web:1",
    "ports": [{"name": "http", "containerPort": 8080}],
    "config": {"A": "1"},
}
COMPLETE = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}


class Recorded:
    """Records the Events."""

    def __init__(self) -> None:
        self.told: list[EventRecord] = []

    async def record(self, _: Projection, record: EventRecord, __: RecentEvents) -> None:
        self.told.append(record)


class Reported:
    """Answers with the Warning Events that the test gives, and counts."""

    def __init__(self) -> None:
        self.warnings: dict[str, list[ReportedEvent]] = {}
        """By the name of the object, the newest first."""
        self.read: list[str] = []
        self.error: RequestFailed | None = None

    async def warnings_about(self, subject: Projection) -> tuple[ReportedEvent, ...]:
        self.read.append(subject.name)
        if self.error is not None:
            raise self.error
        return tuple(self.warnings.get(subject.name, ()))


class Bench:
    """A reconciler with a store filled by the test and a writer scripted by it."""

    def __init__(self) -> None:
        self.store = Store(WEBAPP)
        self.writer = RecordingWriter()
        self.events = Recorded()
        self.reported = Reported()
        self.now = 0.0
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.relisted: list[str] = []
        self.coverage = SetCoverage()
        self.restart()

    def restart(self) -> None:
        """Create a new reconciler with empty memory."""
        status_writer = StatusWriter(
            self.store,
            self.writer,
            StatusSettings(),
            WORKLOAD.status_rules,
            clock=lambda: self.now,
            relist_parents=self.relisted.append,
        )
        self.reconciler = Reconciler(
            WORKLOAD,
            self.store,
            self.coverage,
            self.writer,
            recorder=self.events,  # type: ignore[arg-type]
            event_reader=self.reported,  # type: ignore[arg-type]
            status_writer=status_writer,
            settings=Settings(),
            clock=lambda: self.now,
            now=lambda: self.time,
        )

    def webapp(self, *, version: int = 10, generation: int = 1, uid: str = "uid-1", **spec: Any) -> Projection:
        """Put the WebApp into the store. Later writes get later versions."""
        self.writer.version = max(self.writer.version, version)
        status = (found.content["status"] if (found := self.store.parent(WEB)) else None) or {}
        metadata = {"generation": generation}
        raw = raw_webapp(version=version, uid=uid, metadata=metadata, status=status)
        observed = observe(WEBAPP, {**raw, "spec": {**SPEC, **spec}})
        self.store.observe(observed)
        return observed

    def run(self, *, failures: int = 0) -> Outcome:
        """Reconcile once."""
        self.writer.sent.clear()
        self.writer.recorded.clear()
        return run(self.reconciler.reconcile(WEB, failures=failures))

    def converge(self) -> None:
        """Create the children, let the rollout complete, and bring the status to Ready."""
        self.webapp()
        self.run()
        self.roll_out()
        self.run()
        self.events.told.clear()
        assert self.conditions()["Ready"] == ("True", "Ready")

    def roll_out(self) -> None:
        """Write a complete rollout to the Deployment's status."""
        live = self.store.get(DEPLOYMENT, WEB)
        assert live is not None
        self.writer.version += 1
        status = {**COMPLETE, "conditions": [{"type": "Available", "status": "True"}]}
        content = {**live.content, "status": status}
        self.store.observe(dataclasses.replace(live, version=self.writer.version, content=content))

    def ready_pods(self, count: int) -> None:
        """Put another number of ready pods into the Deployment's status."""
        live = self.store.get(DEPLOYMENT, WEB)
        assert live is not None
        self.writer.version += 1
        available = {"type": "Available", "status": "True" if count else "False"}
        status = {**COMPLETE, "readyReplicas": count, "availableReplicas": count, "conditions": [available]}
        content = {**live.content, "status": status}
        self.store.observe(dataclasses.replace(live, version=self.writer.version, content=content))

    def conditions(self) -> dict[str, tuple[str, str]]:
        """Return status and reason of each condition."""
        webapp = self.store.parent(WEB)
        assert webapp is not None
        return {found["type"]: (found["status"], found["reason"]) for found in webapp.content["status"]["conditions"]}

    def message_of(self, condition: str) -> str:
        """Return the message of a condition."""
        webapp = self.store.parent(WEB)
        assert webapp is not None
        conditions = webapp.content["status"]["conditions"]
        return next(str(found["message"]) for found in conditions if found["type"] == condition)

    def children(self) -> list[Projection]:
        """Return the children in the store."""
        return self.store.objects_of(WEB, *CHILDREN)

    @property
    def memory(self) -> Memory:
        """The reconciler's memory of the WebApp."""
        return self.reconciler._memories.of(WEB, self.webapp_now().uid)

    def webapp_now(self) -> Projection:
        """Return the WebApp in the store."""
        webapp = self.store.parent(WEB)
        assert webapp is not None
        return webapp
