"""An HTTP server for the probes and for the metrics, with limits for connections.

Idle connections neither block a probe or a scrape, nor exhaust the file descriptors for requests to the API server.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

log = logging.getLogger(__name__)

CONNECTIONS = 64
"""Maximum number of open connections of a server. A further one closes the oldest; a probe takes milliseconds."""
CONNECTION_SECONDS = 10.0
"""Maximum seconds of a connection, with its TLS handshake; each serves one request. The kubelet waits 5 s for a probe,
Prometheus 10 s for a scrape."""
_BACKLOG = 1024
"""Backlog in the kernel. If it is full, the kernel drops the first packet, and a probe takes a second longer."""
_RETRY_SECONDS = 1.0
"""Pause after a failed accept, for example without a free file descriptor."""

Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]
Tls = Callable[[], ssl.SSLContext]
"""Returns the TLS context for the next connection."""


@asynccontextmanager
async def serving(listen: str, handler: Handler, *, tls: Tls | None = None) -> AsyncIterator[str]:
    """Serve HTTP within the context. Yield the URLs, separated by commas.

    Args:
        listen: HOST:PORT. Without a host: all addresses. Port 0 takes a free port.
        handler: Answers a request.
        tls: Is called for each connection; None for plain HTTP.

    Raises:
        OSError: The address cannot be bound.
    """

    async def answer(request: web.BaseRequest) -> web.Response:
        response = await handler(request)
        response.force_close()
        return response

    server = _Server(answer, tls)
    # An answer that hangs must not delay the shutdown. aiohttp waits twice: for its end, and for its cancellation.
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    listening: list[socket.socket] = []
    accepting: list[asyncio.Task[None]] = []
    try:
        listening += await _listening(server, listen)
        accepting += [asyncio.create_task(server.accept(each), name="accept") for each in listening]
        yield ", ".join(_url(each, "https" if tls else "http") for each in listening)
    finally:
        await _cancelled(accepting)
        for each in listening:
            each.close()
        await runner.cleanup()
        await server.close()


async def _listening(server: web.Server, listen: str) -> list[socket.socket]:
    """Return sockets that listen on all addresses of HOST:PORT."""
    host, _, port = listen.rpartition(":")
    loop = asyncio.get_running_loop()
    # asyncio resolves and binds the addresses; `_Server.accept` accepts, because asyncio counts no connection before
    # its TLS handshake.
    bound = await loop.create_server(server, host.strip("[]") or None, int(port), start_serving=False)
    found = [each.dup() for each in bound.sockets]
    bound.close()
    for each in found:
        each.setblocking(False)
        each.listen(_BACKLOG)
    return found


class _Server(web.Server):
    """Limits the number and the duration of connections. aiohttp has no such limits."""

    def __init__(self, handler: Handler, tls: Tls | None) -> None:
        # By default aiohttp continues the answer to a closed connection.
        super().__init__(handler, access_log=None, handler_cancellation=True)
        self._tls = tls
        self._open: dict[asyncio.Task[None], None] = {}
        """The task of each connection, in the order of their acceptance."""
        self._lost: dict[asyncio.BaseProtocol, asyncio.Event] = {}

    async def accept(self, listening: socket.socket) -> None:
        """Accept connections until cancelled. Close the oldest one if there are too many."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError as error:
                log.warning("accepting a connection failed: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            task = asyncio.create_task(self._serve(connection), name="connection")
            self._open[task] = None
            task.add_done_callback(lambda done: self._open.pop(done, None))
            if len(self._open) > CONNECTIONS:
                oldest = next(iter(self._open))
                del self._open[oldest]
                oldest.cancel()
            # An accept returns at once while connections wait in the backlog. The task must start before it can be
            # cancelled, or nobody would close its socket.
            await asyncio.sleep(0)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Let the task of the connection end."""
        super().connection_lost(handler, exc)
        if handler in self._lost:
            self._lost[handler].set()

    async def close(self) -> None:
        """Close the connections that are still open."""
        await _cancelled(list(self._open))

    async def _serve(self, connection: socket.socket) -> None:
        """Serve one connection until it ends or its time is over."""
        loop, handler, transport = asyncio.get_running_loop(), self(), None
        lost = self._lost[handler] = asyncio.Event()
        try:
            async with asyncio.timeout(CONNECTION_SECONDS):
                context = self._tls() if self._tls else None
                transport, _ = await loop.connect_accepted_socket(lambda: handler, connection, ssl=context)
                await lost.wait()
        except (OSError, TimeoutError) as error:
            # The client is slow, does not trust the certificate, or does not speak TLS.
            log.debug("a connection failed: %s", str(error) or type(error).__name__)
        finally:
            del self._lost[handler]
            if transport is None:
                connection.close()
            else:
                transport.abort()


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _url(listening: socket.socket, scheme: str) -> str:
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
