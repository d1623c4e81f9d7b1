"""HTTP server for /healthz, /readyz and /metrics.

The port has no authentication. The server limits the number and the duration of connections, so that idle connections
neither block the probes nor exhaust the file descriptors for requests to the API server.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from coxswain.gauges import Readings, collected

log = logging.getLogger(__name__)

_CONNECTIONS = 64
"""Maximum number of open connections. A further one closes the oldest; a probe takes milliseconds."""
_CONNECTION_SECONDS = 10.0
"""Maximum seconds of a connection; each serves one request. The kubelet waits 5 s for a probe, Prometheus 10 s for a
scrape."""
_BATCH = 16
"""Backlog for asyncio: it accepts up to this number of connections in one iteration of its loop, before
they are counted."""
_BACKLOG = 1024
"""Backlog in the kernel. If it is full, the kernel drops the first packet, and a probe takes a second longer."""

Said = Callable[[], list[str]]


@asynccontextmanager
async def probes(
    listen: str,
    *,
    dead: Said,
    missing: Said,
    ready: Callable[[], bool],
    readings: Callable[[], Readings],
    role: Said = list,
) -> AsyncIterator[None]:
    """Serve /healthz, /readyz and /metrics within the context.

    Args:
        listen: HOST:PORT.
        dead: Returns the dead watches; /healthz fails if there are any.
        missing: Returns the reasons for missing coverage; /readyz lists them.
        ready: Returns whether /readyz succeeds.
        readings: Returns the gauges for /metrics.
        role: Returns the role of this process in the leader election, for the body of /readyz.
    """

    async def answer(request: web.BaseRequest) -> web.Response:
        response = _answer(request, dead, missing, ready, role)
        response.force_close()
        return response

    # A client that keeps its connection open must not delay the shutdown.
    handlers = _Server(answer, access_log=None)
    runner = web.ServerRunner(handlers, shutdown_timeout=0.5)
    await runner.setup()
    try:
        server = await _listening(handlers, listen)
        try:
            log.info("probes at %s", ", ".join(_url(*found.getsockname()[:2]) for found in server.sockets))
            with collected(readings):
                yield
        finally:
            server.close()
    finally:
        await runner.cleanup()


async def _listening(handlers: web.Server, listen: str) -> asyncio.Server:
    host, _, port = listen.rpartition(":")
    loop = asyncio.get_running_loop()
    server = await loop.create_server(handlers, host.strip("[]") or None, int(port), backlog=_BATCH)
    for listening in server.sockets:
        with listening.dup() as same:
            same.listen(_BACKLOG)
    return server


class _Server(web.Server):
    """Limits the number and the duration of connections. aiohttp has no such limits."""

    def __init__(self, handler: Callable[[web.BaseRequest], object], **settings: object) -> None:
        super().__init__(handler, **settings)  # type: ignore[arg-type]
        self._open: dict[web.RequestHandler, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Accept a connection. Close the oldest one if there are too many."""
        super().connection_made(handler, transport)
        timer = asyncio.get_running_loop().call_later(_CONNECTION_SECONDS, transport.abort)
        self._open[handler] = transport, timer
        if len(self._open) > _CONNECTIONS:
            oldest = next(iter(self._open))
            self._forget(oldest).abort()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Forget a connection."""
        super().connection_lost(handler, exc)
        if handler in self._open:
            self._forget(handler)

    def _forget(self, handler: web.RequestHandler) -> asyncio.Transport:
        transport, timer = self._open.pop(handler)
        timer.cancel()
        return transport


def _answer(request: web.BaseRequest, dead: Said, missing: Said, ready: Callable[[], bool], role: Said) -> web.Response:
    if request.method not in ("GET", "HEAD"):
        return web.Response(status=405)
    match request.path:
        case "/healthz":
            against = dead()
            return _verdict(against or ["ok"], passed=not against)
        case "/readyz":
            return _verdict([*(missing() or ["ready"]), *role()], passed=ready())
        case "/metrics":
            return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})
    return web.Response(status=404)


def _verdict(lines: list[str], *, passed: bool) -> web.Response:
    return web.Response(status=200 if passed else 503, text="\n".join(lines) + "\n")


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
