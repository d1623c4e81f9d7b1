"""Breaks for the operator's process: its probes and its shutdown."""

import asyncio

from coxswain.kernel.manager import Manager
from coxswain.webapp.spec import WebApp
from faults.breaks import broken, put


@broken("the liveness probe checks only the event loop")
def liveness_sees_no_watch() -> None:
    put(Manager, dead=property(lambda _: []))


@broken("the readiness probe does not wait for all informers to sync")
def ready_before_all_is_listed() -> None:
    put(Manager, missing=property(lambda _: []), ready=property(lambda _: True))


@broken("SIGTERM cancels in-flight reconciles")
def cancels_in_flight_reconciles() -> None:
    async def at_once(self: Manager[WebApp], supervision: asyncio.Task[None]) -> None:
        for task in [*self._workers.processing, supervision]:
            task.cancel()

    put(Manager, _drain=at_once)


@broken("SIGTERM waits for in-flight reconciles without a limit")
def never_exits() -> None:
    async def patient(self: Manager[WebApp], supervision: asyncio.Task[None]) -> None:
        await asyncio.wait([*self._workers.processing, supervision], timeout=60)

    put(Manager, _drain=patient)
