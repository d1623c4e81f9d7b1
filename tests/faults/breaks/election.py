"""Breaks for F18 and F32: an operator that takes part in the election wrongly."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from coxswain import event_loop
from coxswain.kernel.api.transport import Transport
from coxswain.kernel.election import lease as leases
from coxswain.kernel.election.changes import Acquired, Change
from coxswain.kernel.election.election import LeaseElection
from coxswain.kernel.election.election_thread import ElectionThread, RunInThread
from coxswain.kernel.election.elector import Elector
from coxswain.kernel.election.lease import Action, Observation, Write
from coxswain.kernel.election.slot_election import SlotElection
from coxswain.kernel.election.slots import Slot
from coxswain.kernel.slot_lifecycle import SlotLifecycle
from coxswain.settings import ElectionSettings
from coxswain.webapp.spec import WebApp
from faults.breaks import broken, put


@broken("never notices the loss of the Lease: once leader, always leader")
def leads_for_ever() -> None:
    async def never(_: LeaseElection) -> None:
        await asyncio.Event().wait()

    put(
        LeaseElection,
        leads=lambda self, _: self._acquired.is_set(),
        leading=property(lambda self: self._acquired.is_set()),
        ended=never,
    )


@broken("does not release the Lease at its end")
def forgets_the_release() -> None:
    async def release(self: Elector) -> None:
        self._leadership.end()

    put(Elector, release=release)


@broken("waits for the release of the Lease as if there had been no drain")
def waits_for_the_release() -> None:
    put(ElectionThread, ending=lambda _: None)


@broken("does not enqueue the WebApps when it begins to lead")
def takes_over_without_enqueueing() -> None:
    usual = SlotLifecycle._follow

    def follow(self: SlotLifecycle[WebApp], change: Change) -> None:
        if not isinstance(change, Acquired):
            usual(self, change)

    put(SlotLifecycle, _follow=follow)


@broken("acquires a missing Lease at once, although its holder may still lead")
def takes_a_missing_lease() -> None:
    decide = leases.decide

    def hasty(observed: Observation, identity: str, *, leading: bool, now: float, settings: ElectionSettings) -> Action:
        if observed.lease is None:
            return Write()
        return decide(observed, identity, leading=leading, now=now, settings=settings)

    put(leases, decide=hasty)


@broken("computes the expiry of the Lease by the wall clock")
def expires_by_the_wall_clock() -> None:
    begin = LeaseElection.__init__

    def begin_with_wall_clock(
        self: LeaseElection,
        connect: Callable[[], Awaitable[Transport]],
        namespace: str,
        name: str,
        settings: ElectionSettings,
        *,
        clock: Callable[[], float] | None = None,  # noqa: ARG001
        run: RunInThread = event_loop.run_in_thread,
    ) -> None:
        begin(self, connect, namespace, name, settings, clock=time.time, run=run)

    put(LeaseElection, __init__=begin_with_wall_clock)


@broken("renews the Lease in the main loop")
def renews_in_the_main_loop() -> None:
    begin = ElectionThread.__init__

    async def without_a_thread(
        _: str, body: Callable[[asyncio.Event], Coroutine[Any, Any, None]], stop: asyncio.Event
    ) -> None:
        await body(stop)

    def begin_without(self: ElectionThread, run: RunInThread, clock: Callable[[], float]) -> None:  # noqa: ARG001
        begin(self, without_a_thread, clock)

    put(ElectionThread, __init__=begin_without)


@broken("continues to write to a slot after it has given it back")
def writes_after_a_handover() -> None:
    ever: set[Slot] = set()

    def leads(self: SlotElection, namespace: str) -> bool:
        ever.update(self._led)
        return any(slot.covers(namespace) for slot in ever)

    put(SlotElection, leads=leads, serves=leads)
