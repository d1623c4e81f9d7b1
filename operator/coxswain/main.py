"""The process: signals, the probes' HTTP server, and the loop."""

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from coxswain.control.kopf_thread import KopfThread
from coxswain.control.loop import Loop
from coxswain.kube.client import Client
from coxswain.kube.connection import Connection, connection
from coxswain.kube.credentials import NoConnection
from coxswain.kube.throttle import Throttle
from coxswain.kube.transport import HttpTransport
from coxswain.settings import Settings

log = logging.getLogger(__name__)

_GARBAGE_THRESHOLDS = (5_000, 20, 20)
"""Allocations before a collection, where Python has 700, 10 and 10: there is little that only a collection frees, and
looking for it cost 7 % of the CPU of a wave of changes."""


async def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT.

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

    access = await connect()
    throttle = Throttle(in_flight=settings.requests_in_flight, pause_limit=settings.retry_after_limit)
    client = Client(
        HttpTransport(access), throttle, timeout=settings.request_timeout, page_size=settings.watch.page_size
    )
    watches = KopfThread(connect, settings.scopes, settings.watch)
    try:
        loop = Loop(settings, client, watches.run)
        async with _probes(settings.listen, lambda: loop.dead, lambda: loop.missing, lambda: loop.ready):
            where = ", ".join(settings.namespaces) or "the cluster"
            log.info("serving %s at %s", where, access.host)
            await loop.run(stop)
    finally:
        await client.close()
    log.info("ended")


def start(settings: Settings) -> None:
    """Run the operator to its end; exit with status 1 and one line if it can't start."""
    # What the imports brought stays to the end: most of all that a collection would look through.
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    try:
        asyncio.run(run(settings))
    except (NoConnection, OSError) as error:
        sys.exit(f"coxswain: {error}")
    finally:
        # Python itself takes its handlers away before it ends.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)


def _end(number: int, stop: asyncio.Event) -> None:
    log.info("%s: ending what is in hand", signal.Signals(number).name)
    stop.set()


@asynccontextmanager
async def _probes(
    listen: str, dead: Callable[[], list[str]], missing: Callable[[], list[str]], ready: Callable[[], bool]
) -> AsyncIterator[None]:
    """Serve /metrics, /healthz (the main loop turns, no watch is dead) and /readyz.

    A namespace is in step if all its kinds were listed and are watched. /readyz succeeds if one is, and lists all that
    is `missing`.
    """

    async def healthz(_: web.Request) -> web.Response:
        against = dead()
        return _verdict(against, "ok", passed=not against)

    async def readyz(_: web.Request) -> web.Response:
        return _verdict(missing(), "ready", passed=ready())

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    # A prober that keeps its connection open must not hold up the end.
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        host, _, port = listen.rpartition(":")
        site = web.TCPSite(runner, host.strip("[]") or None, int(port))
        await site.start()
        log.info("probes at %s", ", ".join(_url(*address[:2]) for address in runner.addresses))
        yield
    finally:
        await runner.cleanup()


def _verdict(against: list[str], otherwise: str, *, passed: bool) -> web.Response:
    return web.Response(status=200 if passed else 503, text="\n".join(against or [otherwise]) + "\n")


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
