"""The process: signals, the probes, and the loop."""

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Coroutine
from typing import Any

from coxswain import event_loop
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.connection import Connection, connection
from coxswain.kernel.api.credentials import NoConnection
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.manager import Manager
from coxswain.kernel.watching.kopf_thread import KopfThread
from coxswain.kernel.workload import P, Workload
from coxswain.probes import probes
from coxswain.settings import Settings

log = logging.getLogger(__name__)

_GARBAGE_THRESHOLDS = (5_000, 20, 20)
"""Allocations before a collection, where Python has 700, 10 and 10: there is little that only a collection frees, and
looking for it cost 7 % of the CPU of a wave of changes."""


async def run(workload: Workload[P], settings: Settings) -> None:
    """Run an operator of a workload until SIGTERM or SIGINT.

    Raises:
        NoConnection: there is no way to the API server.
        OSError: the probes' address can't be listened on.
    """
    stop, main = asyncio.Event(), asyncio.get_running_loop()

    def end(number: int, _: object) -> None:
        if not main.is_closed():
            main.call_soon_threadsafe(_end, number, stop)

    # Not the loop's own handlers: these go with it, and a second signal would then kill a process that is all but done.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)

    async def connect() -> Connection:
        return await connection(settings.kubeconfig, settings.context, token_interval=settings.token_interval)

    access = await _unless(stop, connect())
    if access is None:
        return
    throttle = Throttle(in_flight=settings.requests_in_flight)
    client = Client(
        HttpTransport(access), throttle, timeout=settings.request_timeout, page_size=settings.watch.page_size
    )
    watches = KopfThread(connect, workload.projector.kinds.watched, settings.scopes, settings.watch)
    try:
        loop = Manager(workload, settings, client, watches.run)
        async with probes(settings.listen, lambda: loop.dead, lambda: loop.missing, lambda: loop.ready):
            where = ", ".join(settings.namespaces) or "the cluster"
            log.info("serving %s at %s", where, access.host)
            await loop.run(stop)
    finally:
        await client.close()
    log.info("ended")


def start(workload: Workload[P], settings: Settings) -> int:
    """Run an operator to its end; return the exit status: 1, and one line on standard error, if it can't start."""
    # What the imports brought stays to the end: most of all that a collection would look through.
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    try:
        event_loop.run(run(workload, settings))
    except (NoConnection, OSError) as error:
        print(f"coxswain: {error}", file=sys.stderr)
        return 1
    finally:
        # Python itself takes its handlers away before it ends.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    return 0


async def _unless(stop: asyncio.Event, connecting: Coroutine[Any, Any, Connection]) -> Connection | None:
    """Return the connection, or None if the end comes first: a credentials plugin may hang."""
    connected, stopped = asyncio.create_task(connecting), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([connected, stopped], return_when=asyncio.FIRST_COMPLETED)
        return connected.result() if connected.done() else None
    finally:
        connected.cancel()
        stopped.cancel()


def _end(number: int, stop: asyncio.Event) -> None:
    log.info("%s: ending what is in hand", signal.Signals(number).name)
    stop.set()
