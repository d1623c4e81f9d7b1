"""Breaks for F1 to F3: writes that fail, and kills between them."""

from typing import Any

from coxswain.control.loop import Loop
from coxswain.control.reconcile import Outcome, Reconciler
from coxswain.control.resync import Resync
from coxswain.control.store import Key
from coxswain.control.workqueue import WorkQueue
from coxswain.kube.kinds import CHILDREN
from faults.breaks import broken


@broken("what a LIST finds is never queued: only events are acted on")
def forgets_at_restart() -> None:
    init = Resync.__init__

    def silent(self: Resync, *arguments: Any, **named: Any) -> None:
        named |= {"found": lambda _: None, "resynced": lambda: None}
        init(self, *arguments, **named)

    take = Loop._take

    def take_events(self: Loop, feed: Any, observed: Any, gone: bool) -> None:
        known = self._store.get(observed.kind, Key(observed.namespace, observed.name)) is not None
        if self._resync.complete.is_set() or known or gone:
            take(self, feed, observed, gone)
        else:
            self._store.observe(observed)

    Resync.__init__ = silent  # type: ignore[method-assign]
    Loop._take = take_events  # type: ignore[method-assign]


@broken("what failed is never tried again")
def never_retries() -> None:
    init = Resync.__init__

    def once(self: Resync, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **{**named, "resynced": lambda: None})

    Resync.__init__ = once  # type: ignore[method-assign]
    WorkQueue.retry = lambda *_: 0.0  # type: ignore[method-assign]


@broken("children of a WebApp that is gone are deleted by the operator, too")
def deletes_what_the_collector_deletes() -> None:
    reconcile = Reconciler.reconcile

    async def eager(self: Reconciler, key: Key, **named: Any) -> Outcome:
        if self._store.webapp(key) is None:
            for child in self._store.objects_of(key, *CHILDREN):
                await self._removals._remove(key, child)
        return await reconcile(self, key, **named)

    Reconciler.reconcile = eager  # type: ignore[method-assign]
