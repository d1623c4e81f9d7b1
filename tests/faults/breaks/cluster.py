"""Breaks for F8, F9, F11, F23, F24: a cluster that is away, refuses, or is not what it was."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import aiohttp

from coxswain.control import session, watch
from coxswain.control.progress import Progress
from coxswain.control.store import Key, Store, Sweep
from coxswain.control.supervise import Supervisor
from coxswain.kube import errors
from coxswain.kube.client import Client
from coxswain.kube.connection import Connection
from coxswain.kube.errors import RequestFailed
from coxswain.kube.kinds import Kind
from coxswain.kube.observed import Observed
from faults.breaks import broken
from faults.breaks.watches import no_new_kopf


@broken("Retry-After is ignored: a client tries again when its own backoff ends")
def retry_after_ignored() -> None:
    errors._seconds = lambda *_: None


@broken("its watches send the token that was read first for ever")
def fixed_header() -> None:
    made = session.session
    first: list[str | None] = []

    def fixed(connection: Connection, *others: Any) -> aiohttp.ClientSession:
        ask = connection.authorization

        async def authorization() -> str | None:
            if not first:
                first.append(await ask())
            return first[0]

        connection.authorization = authorization  # type: ignore[method-assign]
        return made(connection, *others)

    watch.session = fixed  # type: ignore[attr-defined, assignment]


@broken("a connection that is refused ends Kopf, which is not started again")
def ends_without_a_connection() -> None:
    send = session._authorized

    async def once(*arguments: Any) -> aiohttp.ClientResponse:
        try:
            return await send(*arguments)
        except aiohttp.ClientConnectionError as error:
            raise RuntimeError("no connection") from error

    no_new_kopf.apply()
    session._authorized = once  # type: ignore[assignment]


@broken("history that runs backwards is not noticed")
def blind_to_history() -> None:
    end = Store.end_sweep

    def end_sweep(self: Store, sweep: Sweep, *arguments: Any) -> Any:
        return end(self, dataclasses.replace(sweep, newest_before=0), *arguments)

    def answer(self: Store, observed: Observed, _sent_for: Observed | None) -> set[Key]:
        return self.observe(observed)

    Store.end_sweep = end_sweep  # type: ignore[method-assign, assignment]
    Store.answer = answer  # type: ignore[method-assign, assignment]


@broken("Kopf is started although a kind is missing, and that it is silent is not noticed")
def discovery_not_awaited() -> None:
    async def served(_: Supervisor) -> None:
        return

    Progress.silent = lambda self: {}  # type: ignore[method-assign]  # noqa: ARG005
    Supervisor._wait_for_discovery = served  # type: ignore[method-assign, assignment]


@broken("the process ends when an Event can't be posted")
def ends_for_an_event() -> None:
    create = Client.create

    async def fatal(self: Client, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return await create(self, kind, namespace, manifest)
        except RequestFailed:
            os._exit(1)

    Client.create = fatal  # type: ignore[method-assign]
