"""Breaks for the operator's process: its probes and its end."""

import asyncio

from coxswain.kernel.manager import Manager
from coxswain.webapp.spec import WebApp
from faults.breaks import broken, put


@broken("liveness says only that the main loop turns")
def liveness_sees_no_watch() -> None:
    put(Manager, dead=property(lambda _: []))


@broken("readiness does not wait until all kinds are listed and watched")
def ready_before_all_is_listed() -> None:
    put(Manager, missing=property(lambda _: []), ready=property(lambda _: True))


@broken("SIGTERM cuts off what is in hand")
def drops_what_is_in_hand() -> None:
    async def at_once(self: Manager[WebApp], supervision: asyncio.Task[None]) -> None:
        for task in [*self._processing, supervision]:
            task.cancel()

    put(Manager, _drain=at_once)


@broken("SIGTERM waits for as long as what is in hand takes")
def never_ends() -> None:
    async def patient(self: Manager[WebApp], supervision: asyncio.Task[None]) -> None:
        await asyncio.wait([*self._processing, supervision], timeout=60)

    put(Manager, _drain=patient)
