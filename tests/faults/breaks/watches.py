"""Breaks for F4, F5, F7, F10: what watches and lists do to an operator."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp

import coxswain.kernel.watching.kopf_watches as watching
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child import Children
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.watching import session
from coxswain.kernel.watching.event_bridge import EventBridge
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.watching.supervisor import Supervisor
from coxswain.webapp.spec import WebApp
from faults.breaks import broken, put


@broken("no sweep when a watch starts over: what vanished in a gap stays in the store")
def no_sweep_after_a_relist() -> None:
    relist_soon = Resync.relist_soon

    def first_only(self: Resync, kind: Kind, namespace: str | None) -> None:
        if not self.complete.is_set():
            relist_soon(self, kind, namespace)

    put(Resync, relist_soon=first_only)


@broken("when Kopf has ended, nothing is watched any more")
def no_new_kopf() -> None:
    run_kopf = Supervisor._watch

    async def once(self: Supervisor) -> BaseException | None:
        await run_kopf(self)
        await asyncio.Event().wait()
        return None

    put(Supervisor, _watch=once)


@broken("Kopf as it comes, with backoffs that end, and no supervision")
def kopf_alone() -> None:
    no_new_kopf.apply()
    make = watching._kopf_settings

    def impatient(*arguments: Any) -> Any:
        made = make(*arguments)
        made.networking.error_backoffs = (0.1, 0.2)
        return made

    put(watching, _kopf_settings=impatient)


@broken("a connection that is open counts as alive")
def deaf_to_silence() -> None:
    make = watching._kopf_settings

    def patient(*arguments: Any) -> Any:
        made = make(*arguments)
        made.watching.inactivity_timeout = 1e6
        return made

    put(watching, _kopf_settings=patient)
    put(WatchLiveness, silent=lambda _: {})


@broken("a watch that broke goes on from what is there now")
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


@broken("an unknown type of event ends Kopf for good")
def afraid_of_the_unknown() -> None:
    no_new_kopf.apply()
    known = {b"ADDED", b"MODIFIED", b"DELETED", b"BOOKMARK", b"ERROR"}
    chunks = session._ObservedStream.iter_chunked

    async def strict(self: session._ObservedStream, size: int) -> AsyncIterator[bytes]:
        async for chunk in chunks(self, size):
            if set(re.findall(rb'^\{"type": ?"(\w+)"', chunk, re.MULTILINE)) - known:
                raise ValueError("an event of an unknown type")
            yield chunk

    put(session._ObservedStream, iter_chunked=strict)


@broken("no resync: what no event told is never found")
def no_resync() -> None:
    make: Callable[..., None] = Resync.__init__

    def never(self: Resync, *arguments: Any, **given: Any) -> None:
        make(self, *(1e6 if isinstance(each, float) else each for each in arguments), **given)

    put(Resync, __init__=never)


@broken("a watch that is closed is opened again at once")
def no_pace() -> None:
    async def turn(*_: object, **__: object) -> None:
        return

    put(session._Pace, turn=turn)


@broken("an event counts only if the one before it was seen")
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


@broken("an update carries neither uid nor version: a namesake is written too")
def writes_to_namesakes() -> None:
    async def update(self: Writer, manifest: Any, _: Projection, **__: bool) -> Projection:
        return await self._apply(manifest, {}, force=True)

    put(Writer, update=update)


@broken("an event that comes twice is undone")
def counts_events() -> None:
    take = Manager._handle_event
    seen: set[tuple[Kind, str, str, int, bool]] = set()

    def count(self: Manager[WebApp], bridge: EventBridge, observed: Projection, gone: bool) -> None:
        event = (observed.kind, observed.namespace, observed.name, observed.version, gone)
        if event not in seen:
            seen.add(event)
            take(self, bridge, observed, gone)
            return
        place = Key(observed.namespace, observed.name)
        self._store._replace(observed.kind, place, self._store.get(observed.kind, place), None)

    put(Manager, _handle_event=count)


@broken("the first write for a WebApp is decided on the store alone, however old its WebApp is")
def trusts_its_first_list() -> None:
    async def unasked(*_: object) -> None:
        return

    put(GenerationGuard, before_a_write=unasked)


@broken("a start applies everything, with neither a comparison nor a precondition")
def applies_unasked() -> None:
    reconcile = Children.reconcile
    applied: set[tuple[Kind, str]] = set()

    async def apply_first(self: Children[WebApp], child_type: Any, webapp: Any, world: Any, **named: Any) -> Any:
        target = self._target(child_type, webapp, world)
        live = None if target is None or not target.is_ours else target.live
        if target is not None and live is not None and not live.terminating and (live.kind, live.name) not in applied:
            applied.add((live.kind, live.name))
            self._store.observe(await self._executor._writer._apply(target.manifest, {}, force=True))
        return await reconcile(self, child_type, webapp, world, **named)

    put(Children, reconcile=apply_first)


@broken("ADDED is no news of a name that is known, and no conflict makes it look")
def added_is_for_the_new() -> None:
    no_sweep_after_a_relist.apply()
    take = EventBridge.event
    known: set[tuple[str, str, str]] = set()

    def event(self: EventBridge, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        place = (kind.plural, raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        if change == "ADDED" and place in known:
            return
        (known.discard if change == "DELETED" else known.add)(place)
        take(self, kind, change, raw)

    put(EventBridge, event=event)
