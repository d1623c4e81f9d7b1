"""The process: signals, the probes' HTTP server, and the loop."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from coxswain.control.loop import Loop
from coxswain.kube.client import Client
from coxswain.kube.connection import connection
from coxswain.settings import Settings

log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT.

    Raises:
        NoConnection: there is no way to the API server.
        OSError: the probes' address can't be listened on.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _end, number, stop)
    configuration = await connection(settings.kubeconfig, settings.context)
    client = Client(configuration, timeout=settings.request_timeout, page_size=settings.watch.page_size)
    try:
        loop = Loop(settings, client, lambda: connection(settings.kubeconfig, settings.context))
        async with _probes(settings.listen, lambda: loop.missing):
            where = ", ".join(settings.namespaces) or "the cluster"
            log.info("serving %s at %s", where, configuration.host)
            await loop.run(stop)
    finally:
        await client.close()
    log.info("ended")


def _end(number: int, stop: asyncio.Event) -> None:
    log.info("%s: ending what is in hand", signal.Signals(number).name)
    stop.set()


@asynccontextmanager
async def _probes(listen: str, missing: Callable[[], list[str]]) -> AsyncIterator[None]:
    """Serve /healthz (the main loop turns) and /readyz (everything is watched and has been listed)."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        lacking = missing()
        return web.Response(status=503 if lacking else 200, text="\n".join(lacking or ["ready"]) + "\n")

    application = web.Application()
    application.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        host, _, port = listen.rpartition(":")
        site = web.TCPSite(runner, host.strip("[]") or None, int(port))
        await site.start()
        log.info("probes at %s", ", ".join(_url(*address[:2]) for address in runner.addresses))
        yield
    finally:
        await runner.cleanup()


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
