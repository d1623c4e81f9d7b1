"""One replica of the operator: its processes, its watches, and the data delivered to it."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from model_cluster.active_faults import ActiveFaults
from model_cluster.chance import Chance
from model_cluster.cluster import BEGINNING, Cluster
from model_cluster.objects import Object, Place, place
from simulation.conditions import Conditions
from simulation.coverage import Coverage, Delivered
from simulation.network import ModelTransport, Sent
from simulation.subject import Kind, Subject, settings
from simulation.watcher import Watches
from simulation.workloads import Workload


class Replica:
    """One replica. Its process starts again after each end, with the same watches and an empty memory."""

    def __init__(
        self,
        number: int,
        workload: Workload,
        conditions: Conditions,
        *,
        cluster: Cluster,
        faults: ActiveFaults,
        chance: Chance,
        groups: Iterator[int],
        reached: Callable[[Sent], None],
        answered: Callable[[Sent], None],
        turned_away: Callable[[str, str, Place], None],
    ) -> None:
        """Prepare a replica; `start` of its subject starts a process.

        Args:
            number: its number, from 1.
            workload: the operator under test.
            conditions: the setup of the run.
            cluster: the cluster.
            faults: the active faults.
            chance: the random numbers of the run.
            groups: numbers for the tasks of processes.
            reached: called with each request that arrives.
            answered: called with each request that is answered.
            turned_away: called with each request about an object that meets a fault.
        """
        self.number = number
        self._workload, self._conditions, self._cluster = workload, conditions, cluster
        self._faults, self._chance = faults, chance
        self._reached, self._answered, self._turned_away = reached, answered, turned_away
        made = settings(conditions.settings())
        self.delivered = Delivered()
        self.watches = Watches(
            cluster,
            faults,
            chance,
            workload.operator.projector.with_referenced(conditions.metadata).kinds.watched,
            made.scopes,
            slowest=conditions.slowest * 4,
            server_timeout=made.watch.server_timeout,
            inactivity_timeout=made.watch.inactivity_timeout,
            handed_over=self._handed_over,
            started_over=lambda scope: self.coverage.start_over(scope),  # noqa: PLW0108 - created below
        )
        self.coverage = Coverage(
            cluster, self.watches, self.delivered, resources=workload.resources, scoped=conditions.scoped
        )
        other = number > 1 and not conditions.elected
        self.subject = Subject(
            workload.other_version or workload.operator if other else workload.operator,
            made,
            self._new_transport,
            self.watches.run,
            self.now,
            groups=groups,
            elected=conditions.elected and conditions.replicas > 1,
            slots=conditions.slots,
        )
        self.clock_error = 0.0
        """Seconds by which its wall clock is ahead."""
        self.clock_stands: float | None = None
        """The time at which its wall clock stands still, if it does."""
        self.disturbed = 0.0
        """The end of the last disturbance: its start, a pause of its elector, or a hanging request for the Lease."""
        self.continued = -1e9
        """The end of its last pause, also of a pause of its main loop alone."""
        self._continue: asyncio.TimerHandle | None = None
        self.restarting = False
        """Whether a restart of its process is pending."""
        self.restart: asyncio.Task[None] | None = None
        """The last restart."""

    @property
    def paused(self) -> bool:
        """Whether its process or its main loop is paused."""
        return self._continue is not None

    @property
    def is_warm(self) -> bool:
        """Whether all resources are watched and listed."""
        return all(
            self.coverage.covers(plural, namespace)
            for plural in self._workload.resources
            for namespace in self._conditions.namespaces
        )

    def now(self) -> datetime:
        """Return the time of its wall clock."""
        if self.clock_stands is not None:
            return BEGINNING + timedelta(seconds=self.clock_stands + self.clock_error)
        return self._cluster.now() + timedelta(seconds=self.clock_error)

    @property
    def running(self) -> bool:
        """Whether its process runs, and no restart is pending."""
        return self.subject.running and not self.restarting

    def leads(self, namespace: str) -> bool:
        """Return whether its process runs, and may write to a namespace."""
        return self.running and self.subject.leads(namespace)

    def serves(self, namespace: str) -> bool:
        """Return whether its process runs, and may begin a reconcile in a namespace."""
        return self.running and self.subject.serves(namespace)

    def _new_transport(self) -> ModelTransport:
        self.delivered.forget()
        self.coverage.begin()
        self.disturbed = self._cluster.clock()
        transport = ModelTransport(
            self._cluster,
            self._faults,
            self._chance,
            slowest=self._conditions.slowest,
            replica=self,
            entitled=self.subject.leads,
            detached=self._conditions.replicas > 1,
            reached=self._take_reached,
            answered=self._take_answered,
        )
        transport.turned_away = self._turned_away
        return transport

    def _handed_over(self, kind: Kind, change: str, thing: Object) -> None:
        self.delivered.take(kind.collection, thing, gone=change == "DELETED")

    def _take_reached(self, sent: Sent) -> None:
        self.coverage.last_number = sent.number
        self._reached(sent)

    def _take_answered(self, sent: Sent) -> None:
        if sent.status < 300 and sent.plural in self._cluster.objects:
            if sent.method == "GET" and sent.name is None:
                self.coverage.take_list(sent)
            elif isinstance(sent.answer, dict) and "metadata" in sent.answer and sent.method != "DELETE":
                self.delivered.take(sent.plural, sent.answer)
        self._answered(sent)

    def on_the_way(self, where: Place) -> bool:
        """Return whether an event about a parent is still undelivered."""
        for plural in self._workload.resources:
            connection = self.watches.connection(plural, where[0])
            for _, _, thing, _ in () if connection is None else connection.pending:
                if thing is not None and self._workload.concerns(thing, where):
                    return True
        return False

    def is_pending(self, collection: str, where: Place) -> bool:
        """Return whether an event about an object is still undelivered."""
        connection = self.watches.connection(collection, where[0])
        pending = () if connection is None else connection.pending
        return any(thing is not None and place(thing) == where for _, _, thing, _ in pending)

    def start_again(self, *, hard: bool, pause: float) -> None:
        """End the process by SIGTERM or SIGKILL, and start another one after `pause` seconds."""
        if hard and self._continue is not None:
            self._continue.cancel()
            self._continue = None
        self._restart(self.subject.kill if hard else self.subject.end, pause)

    def start_later(self, pause: float) -> None:
        """Start another process after the end of the last one."""
        self._restart(self.subject.end, pause)

    def pause(self, seconds: float, *, elector: bool, suspended: bool) -> None:
        """Stop the process like SIGSTOP, and continue it later.

        Args:
            seconds: the duration.
            elector: whether the thread of the election stops as well.
            suspended: whether the machine is suspended: timers are late by the pause.
        """
        loop = asyncio.get_running_loop()
        self.subject.pause(elector=elector)
        self._continue = loop.call_later(seconds, self._resume, suspended)
        if elector:
            self.disturbed = loop.time() + seconds

    def _resume(self, suspended: bool) -> None:
        self._continue = None
        self.continued = self._cluster.clock()
        self.subject.resume(suspended=suspended)

    def _restart(self, end: Any, pause: float) -> None:
        async def body() -> None:
            try:
                await end()
                await asyncio.sleep(pause)
                self.subject.start()
            finally:
                self.restarting = False

        self.restarting = True
        self.restart = asyncio.create_task(body(), name="restart")
