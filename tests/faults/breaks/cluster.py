"""Breaks for F8, F9, F11, F23, F24: a control plane that is down, refuses requests, or was restored."""

import asyncio
import copy
import dataclasses
from collections.abc import Mapping, Sequence
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


@broken("ignores Retry-After, and retries after its own backoff")
def retry_after_ignored() -> None:
    put(errors, retry_after_seconds=lambda *_: None)


@broken("watches never reread the token file")
def fixed_header() -> None:
    make = Connection.session
    first: list[str | None] = []

    async def authorization() -> str | None:
        return first[0]

    def session(self: Connection, user_agent: str, middlewares: Any = ()) -> aiohttp.ClientSession:
        if user_agent.endswith("-watch"):
            first.append(self._config.authorization)
            self = copy.copy(self)
            setattr(self, "authorization", authorization)  # noqa: B010
        return make(self, user_agent, middlewares)

    put(Connection, session=session)


@broken("a refused connection ends Kopf, and Kopf is not restarted")
def ends_without_a_connection() -> None:
    send = session._authorized

    async def once(*arguments: Any) -> aiohttp.ClientResponse:
        try:
            return await send(*arguments)
        except aiohttp.ClientConnectionError as error:
            raise RuntimeError("no connection") from error

    no_new_kopf.apply()
    put(session, _authorized=once)


@broken("does not detect resourceVersions that decrease after a restore")
def blind_to_history() -> None:
    end = Store.end_relist

    def end_relist(self: Store, relist: Relist, *arguments: Any) -> Any:
        return end(self, dataclasses.replace(relist, newest_before=0), *arguments)

    def answer(self: Store, observed: Projection, _sent_for: Projection | None) -> set[Key]:
        return self.observe(observed)

    put(Store, end_relist=end_relist)
    put(Store, answer=answer)


@broken("starts Kopf although a kind is not served, and does not detect its silence")
def discovery_not_awaited() -> None:
    async def served(self: Supervisor) -> Sequence[Kind]:
        return self._kinds.watched

    put(WatchLiveness, silent=lambda _: {})
    put(Supervisor, _wait_for_discovery=served)


@broken("a reconcile waits until its Event is posted")
def waits_for_its_events() -> None:
    create = Client.create

    async def insist(self: Client, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        while True:
            try:
                return await create(self, kind, namespace, manifest)
            except RequestFailed:
                await asyncio.sleep(0.5)  # the retry interval of this break

    put(Client, create=insist)
