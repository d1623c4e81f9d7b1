"""Breaks for F1 to F3: failed writes, and kills between them."""

from typing import Any

from coxswain.kernel.api.errors import ErrorClass, RequestFailed
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.cache.store import Key
from coxswain.kernel.manager import Manager
from coxswain.kernel.reconciling.memory.memory import RemovalMemory
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.kernel.reconciling.queue.workers import Workers
from coxswain.webapp.spec import WebApp
from faults.breaks import broken, put
from rendered import CHILDREN


@broken("does not queue objects from a LIST, only those from events")
def forgets_at_restart() -> None:
    init = Resync.__init__

    def silent(self: Resync, *arguments: Any, **named: Any) -> None:
        named |= {"found": lambda _: None, "resynced": lambda: None}
        init(self, *arguments, **named)

    take = Manager._handle_event

    def take_events(self: Manager[WebApp], observed: Any, gone: bool) -> None:
        known = self._store.get(observed.kind, Key(observed.namespace, observed.name)) is not None
        if self._resync.complete.is_set() or known or gone:
            take(self, observed, gone)
        else:
            self._store.observe(observed)

    put(Resync, __init__=silent)
    put(Manager, _handle_event=take_events)


@broken("does not retry a failed reconcile until the WebApp changes")
def never_retries() -> None:
    failed, follow_up, handle = Workers._failed, Workers._follow_up, Workers._process
    given_up: set[tuple[Key, Any]] = set()

    def version(self: Workers[WebApp], key: Key) -> Any:
        webapp = self._reconciler._store.parent(key)
        return None if webapp is None else (webapp.uid, webapp.content["metadata"]["generation"])

    def note(self: Workers[WebApp], key: Key, error: RequestFailed) -> None:
        # Conflicts also happen without faults.
        if error.error_class is ErrorClass.TRANSIENT:
            given_up.add((key, version(self, key)))

    def note_failed(self: Workers[WebApp], key: Key, error: RequestFailed) -> None:
        note(self, key, error)
        failed(self, key, error)

    def note_retry(self: Workers[WebApp], key: Key, outcome: Outcome) -> None:
        if outcome.failed is not None:
            note(self, key, outcome.failed)
        follow_up(self, key, outcome)

    async def once(self: Workers[WebApp], key: Key) -> None:
        if (key, version(self, key)) in given_up:
            self._queue.done(key)
            return
        await handle(self, key)

    put(Workers, _failed=note_failed, _follow_up=note_retry, _process=once)


@broken("deletes the children of a deleted WebApp itself", always=True)
def deletes_what_the_collector_deletes() -> None:
    reconcile = Reconciler.reconcile

    async def eager(self: Reconciler[WebApp], key: Key, **named: Any) -> Outcome:
        if self._store.parent(key) is None:
            for child in self._store.objects_of(key, *CHILDREN):
                remover = self._child_set._remover
                await remover._remove(child, RemovalMemory(), remover._guard._writer)
        return await reconcile(self, key, **named)

    put(Reconciler, reconcile=eager)
