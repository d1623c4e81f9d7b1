"""Breaks for F8, F9, F11, F23, F24: a cluster that is away, refuses, or is not what it was."""

import asyncio
import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import aiohttp

from coxswain.kernel.api import errors
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.connection import Connection
from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.cache.store import Key, Relist, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.watching import session
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.watching.supervisor import Supervisor
from faults.breaks import broken, put
from faults.breaks.watches import no_new_kopf


@broken("Retry-After is ignored: a client tries again when its own backoff ends")
def retry_after_ignored() -> None:
    put(errors, retry_after_seconds=lambda *_: None)


@broken("its watches send the token that was read first for ever")
def fixed_header() -> None:
    make = Connection.session
    first: list[str | None] = []

    async def authorization() -> str | None:
        return first[0]

    def session(self: Connection, user_agent: str, middlewares: Any = ()) -> aiohttp.ClientSession:
        if user_agent.endswith("-watch"):
            first.append(self._access.authorization)
            self = copy.copy(self)
            setattr(self, "authorization", authorization)  # noqa: B010
        return make(self, user_agent, middlewares)

    put(Connection, session=session)


@broken("a connection that is refused ends Kopf, which is not started again")
def ends_without_a_connection() -> None:
    send = session._authorized

    async def once(*arguments: Any) -> aiohttp.ClientResponse:
        try:
            return await send(*arguments)
        except aiohttp.ClientConnectionError as error:
            raise RuntimeError("no connection") from error

    no_new_kopf.apply()
    put(session, _authorized=once)


@broken("history that runs backwards is not noticed")
def blind_to_history() -> None:
    end = Store.end_relist

    def end_relist(self: Store, relist: Relist, *arguments: Any) -> Any:
        return end(self, dataclasses.replace(relist, newest_before=0), *arguments)

    def answer(self: Store, observed: Projection, _sent_for: Projection | None) -> set[Key]:
        return self.observe(observed)

    put(Store, end_relist=end_relist)
    put(Store, answer=answer)


@broken("Kopf is started although a kind is missing, and that it is silent is not noticed")
def discovery_not_awaited() -> None:
    async def served(_: Supervisor) -> None:
        return

    put(WatchLiveness, silent=lambda _: {})
    put(Supervisor, _wait_for_discovery=served)


@broken("a WebApp waits until its Event is posted")
def waits_for_its_events() -> None:
    create = Client.create

    async def insist(self: Client, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        while True:
            try:
                return await create(self, kind, namespace, manifest)
            except RequestFailed:
                await asyncio.sleep(0.5)

    put(Client, create=insist)
