"""Breaks for F4, F5, F7, F10: stale, incomplete and broken watches and LISTs."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import aiohttp

import coxswain.kernel.watching.kopf_watches as watching
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.child import ChildReconciler
from coxswain.kernel.reconciling.child.generation_guard import GenerationGuard
from coxswain.kernel.watching import session
from coxswain.kernel.watching.event_bridge import EventBridge
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.watching.supervisor import Supervisor
from coxswain.kernel.workload import Desired
from coxswain.webapp import restarts
from coxswain.webapp.spec import WebApp
from faults.breaks import broken, put


@broken("no relist after a restarted watch: objects deleted in the gap stay in the cache")
def no_relist_after_a_restarted_watch() -> None:
    relist_soon = Resync.relist_soon

    def first_only(self: Resync, kind: Kind, namespace: str | None) -> None:
        if not self.complete.is_set():
            relist_soon(self, kind, namespace)

    put(Resync, relist_soon=first_only)


@broken("does not restart Kopf after its end")
def no_new_kopf() -> None:
    run_kopf = Supervisor._watch

    async def once(self: Supervisor, kinds: Sequence[Kind]) -> BaseException | None:
        await run_kopf(self, kinds)
        await asyncio.Event().wait()
        return None

    put(Supervisor, _watch=once)


@broken("Kopf with its default finite backoffs, without a supervisor and without repeated requests")
def kopf_alone() -> None:
    no_new_kopf.apply()
    make = watching._kopf_settings

    def impatient(*arguments: Any) -> Any:
        made = make(*arguments)
        made.networking.error_backoffs = (0.1, 0.2)
        return made

    async def trusting(response: aiohttp.ClientResponse, *, watching: bool) -> None:
        """Leave each refused request to Kopf."""

    put(watching, _kopf_settings=impatient)
    put(session, _require_readable=trusting)


@broken("does not detect silent connections")
def ignores_silent_watches() -> None:
    make = watching._kopf_settings

    def patient(*arguments: Any) -> Any:
        made = make(*arguments)
        made.watching.inactivity_timeout = 1e6
        return made

    put(watching, _kopf_settings=patient)
    put(WatchLiveness, silent=lambda _: {})


@broken("reopens a broken watch at the current state instead of the last resourceVersion")
def watches_from_now() -> None:
    send_authorized = session._authorized
    listed: set[str] = set()

    async def forgetful(connection: Any, request: aiohttp.ClientRequest, *others: Any) -> Any:
        path = request.url.path
        if "watch" not in request.url.query:
            listed.add(path)
        elif path in listed:
            listed.discard(path)
        else:
            request.url = request.url.without_query_params("resourceVersion")
        return await send_authorized(connection, request, *others)

    put(session, _authorized=forgetful)


@broken("an event of unknown type ends Kopf, and Kopf is not restarted")
def fails_on_unknown_events() -> None:
    no_new_kopf.apply()
    known = {b"ADDED", b"MODIFIED", b"DELETED", b"BOOKMARK", b"ERROR"}
    chunks = session._ObservedStream.iter_chunked

    async def strict(self: session._ObservedStream, size: int) -> AsyncIterator[bytes]:
        async for chunk in chunks(self, size):
            if set(re.findall(rb'^\{"type": ?"(\w+)"', chunk, re.MULTILINE)) - known:
                raise ValueError("an event of an unknown type")
            yield chunk

    put(session._ObservedStream, iter_chunked=strict)


@broken("no periodic resync")
def no_resync() -> None:
    make: Callable[..., None] = Resync.__init__

    def never(self: Resync, *arguments: Any, **given: Any) -> None:
        make(self, *(1e6 if isinstance(each, float) else each for each in arguments), **given)

    put(Resync, __init__=never)


@broken("reopens a closed watch without a pause")
def reopens_watches_at_once() -> None:
    async def turn(*_: object, **__: object) -> None:
        return

    put(session._Pace, turn=turn)


@broken("ignores an event if the generation before it was missed")
def events_as_deltas() -> None:
    observe = Store.observe

    def next_only(self: Store, observed: Projection) -> set[Key]:
        known = self.get(observed.kind, Key(observed.namespace, observed.name))
        if known is not None and known.uid == observed.uid and _generation(observed) > _generation(known) + 1:
            return set()
        return observe(self, observed)

    put(Store, observe=next_only)


def _generation(observed: Projection) -> int:
    return int(observed.content["metadata"].get("generation", 0))


@broken("updates without preconditions on uid and resourceVersion")
def writes_to_namesakes() -> None:
    async def update(self: Writer, manifest: Any, _: Projection, **__: bool) -> Projection:
        return await self._apply(manifest, {}, force=True)

    put(Writer, update=update)


@broken("handles a duplicate event as a deletion")
def duplicates_count_as_deletions() -> None:
    take = Manager._handle_event
    seen: set[tuple[Kind, str, str, int, bool]] = set()

    def count(self: Manager[WebApp], observed: Projection, gone: bool) -> None:
        event = (observed.kind, observed.namespace, observed.name, observed.version, gone)
        if event not in seen:
            seen.add(event)
            take(self, observed, gone)
            return
        place = Key(observed.namespace, observed.name)
        known = self._store.get(observed.kind, place)
        self._store._replace(observed.kind, place, known, None, version=observed.version)

    put(Manager, _handle_event=count)


@broken("trusts the cached WebApp for the first write, however stale it is")
def trusts_stale_cache() -> None:
    async def unasked(self: GenerationGuard, *_: object) -> Writer:
        return self._writer

    put(GenerationGuard, before_a_write=unasked)


@broken("applies every child after a start, without a diff and preconditions")
def applies_unasked() -> None:
    reconcile = ChildReconciler.reconcile
    applied: set[tuple[Kind, str]] = set()

    async def apply_first(
        self: ChildReconciler[WebApp], child_type: Any, desired: Desired, webapp: Any, world: Any, **named: Any
    ) -> Any:
        target = self._target(child_type, desired, webapp, world)
        live = target.live if target.is_ours else None
        if live is not None and not live.terminating and (live.kind, live.name) not in applied:
            applied.add((live.kind, live.name))
            self._executor._store.observe(await self._executor._writer._apply(target.manifest, {}, force=True))
        return await reconcile(self, child_type, desired, webapp, world, **named)

    put(ChildReconciler, reconcile=apply_first)


@broken("ignores ADDED for known names, and never reads a WebApp itself")
def ignores_added_for_known_names() -> None:
    async def unread(self: GenerationGuard, *_: object) -> Writer:
        return self._writer

    no_relist_after_a_restarted_watch.apply()
    put(GenerationGuard, before_a_write=unread, check=unread)
    take = EventBridge.event
    known: set[tuple[str, str, str]] = set()

    def event(self: EventBridge, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        place = (kind.plural, raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        if change == "ADDED" and place in known:
            return
        (known.discard if change == "DELETED" else known.add)(place)
        take(self, kind, change, raw)

    put(EventBridge, event=event)


@broken("drops the record of an object in restartOn that it cannot see")
def forgets_unseen_objects() -> None:
    version = cast("property", restarts._Referenced.version)

    changed_at = restarts._changed_at

    def blind(self: restarts._Referenced) -> Any:
        return "0" * 16 if self.reference.unseen is not None else version.__get__(self)

    def long_ago(each: restarts._Referenced) -> datetime:
        return datetime.fromtimestamp(0, UTC) if each.reference.unseen is not None else changed_at(each)

    put(restarts._Referenced, version=property(blind))
    put(restarts, _changed_at=long_ago)
