"""Begins and ends the work on slots: acquired ones are enqueued, surplus ones are drained, lost ones are forgotten."""

import asyncio
import logging
from collections.abc import Callable
from typing import Generic

from coxswain import event_loop
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.election.changes import Acquired, Change, Surplus
from coxswain.kernel.election.election import Election
from coxswain.kernel.election.slots import Slot
from coxswain.kernel.reconciling.parent.reconciler import Reconciler
from coxswain.kernel.reconciling.queue.workers import Workers
from coxswain.kernel.reconciling.queue.workqueue import Lane
from coxswain.kernel.workload import P

log = logging.getLogger(__name__)


class SlotLifecycle(Generic[P]):
    """Follows the changes of an election. Without slots, the whole cluster is one slot."""

    def __init__(
        self,
        election: Election,
        store: Store,
        workers: Workers[P],
        reconciler: Reconciler[P],
        enqueue: Callable[[set[Key], Lane], None],
    ) -> None:
        """Follow `election` when `run` is called. `enqueue` adds keys to the workqueue."""
        self._election = election
        self._store = store
        self._workers = workers
        self._reconciler = reconciler
        self._enqueue = enqueue
        self._drains: dict[Slot, asyncio.Task[None]] = {}
        """The drains in progress."""

    async def run(self) -> None:
        """Follow the changes until cancelled. Then the election acquires nothing more.

        Raises:
            LeadershipLost: this process led, and has lost the leadership.
        """
        changing = self._await_change()
        try:
            while True:
                done, _ = await asyncio.wait({changing, *self._drains.values()}, return_when=asyncio.FIRST_COMPLETED)
                self._drains = {slot: task for slot, task in self._drains.items() if task not in done}
                for task in done - {changing}:
                    task.result()
                if changing.done():
                    self._follow(changing.result())
                    changing = self._await_change()
        finally:
            # Others must not wait for the drain of this process to get a slot that nobody serves.
            self._election.ending()
            await event_loop.cancel([changing, *self._drains.values()])

    def _await_change(self) -> asyncio.Task[Change]:
        return asyncio.create_task(self._election.next_change(), name="next change of the election")

    def _follow(self, change: Change) -> None:
        slot = change.slot
        drain = self._drains.pop(slot, None)
        if drain is not None:
            drain.cancel()  # the slot was lost meanwhile
        if isinstance(change, Acquired):
            # Their events were not enqueued before.
            self._enqueue({key for key in self._store.parents() if slot.covers(key.namespace)}, Lane.BACKLOG)
        elif isinstance(change, Surplus):
            self._drains[slot] = asyncio.create_task(self._give_back(slot), name=f"drain of slot {slot.number}")
        else:
            self._forget(slot)

    async def _give_back(self, slot: Slot) -> None:
        """Drain a slot and release it."""
        log.info("giving slot %d back: draining its in-flight reconciles", slot.number)
        await self._workers.drain_namespaces(slot.covers)
        self._forget(slot)
        self._election.drained(slot)

    def _forget(self, slot: Slot) -> None:
        """Drop the memory of the parents of a slot: another process changes them from now on."""
        self._workers.forget(slot.covers)
        self._reconciler.forget_namespaces(slot.covers)
