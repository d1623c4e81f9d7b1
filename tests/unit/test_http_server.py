"""The limits of connections to the metrics, plain and with TLS. test_process.py has those of the probes."""

import asyncio
import selectors
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from coxswain.serving import http_server
from coxswain.serving.certificates import self_signed_context
from coxswain.settings import Settings
from unit.metrics_serving import Served, running


def open_files() -> int:
    """Return the number of open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("secure", [False, True])
def test_idle_connections_block_no_scrape(secure: bool) -> None:
    """Those that never begin a TLS handshake count too."""

    async def body(found: Served) -> None:
        loop, before = asyncio.get_running_loop(), open_files()
        with ExitStack() as held:
            for _ in range(4 * http_server.CONNECTIONS):
                client = held.enter_context(socket.socket())
                client.setblocking(False)
                await loop.sock_connect(client, ("127.0.0.1", found.port))
            answer = await found.get("t-scraper")
            assert answer.status == 200
            # The clients of this process, the connections of the server, and all other descriptors.
            files = open_files() - before
            assert files < (4 + 1) * http_server.CONNECTIONS + 20

    running(body, tls=self_signed_context() if secure else None)


class Hung:
    """Requests whose answer hangs, as with a review of a token that the API server does not answer."""

    def __init__(self) -> None:
        self.begun = self.pending = 0

    async def answer(self, _: web.BaseRequest) -> web.Response:
        self.begun += 1
        self.pending += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.pending -= 1
        return web.Response()

    async def asked(self, url: str) -> asyncio.StreamWriter:
        """Send a request, and wait until the server begins to answer it."""
        before = self.begun
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while self.begun == before:
            await asyncio.sleep(0.001)
        return writer


def test_an_answer_ends_with_its_connection() -> None:
    """The limit of connections would not limit the memory otherwise."""

    async def body() -> None:
        hung = Hung()
        async with asyncio.timeout(30), http_server.serving("127.0.0.1:0", hung.answer) as url:
            clients = [await hung.asked(url) for _ in range(2 * http_server.CONNECTIONS)]
            await asyncio.sleep(0.1)
            assert hung.pending <= http_server.CONNECTIONS
            for client in clients:
                client.close()

    asyncio.run(body())


def test_a_request_in_flight_hardly_delays_the_end_of_the_process() -> None:
    """The process ends within 10 s: after a drain that used its whole time, and a second for the release.

    Only the time of waits counts, not that of a busy machine.
    """
    limit = 10.0 - 0.95 * Settings().drain_timeout - 1.0

    async def body() -> None:
        clock = asyncio.get_running_loop().time
        hung = Hung()
        async with http_server.serving("127.0.0.1:0", hung.answer) as url:
            client = await hung.asked(url)
            begun = clock()
        assert clock() - begun < limit
        client.close()

    with asyncio.Runner(loop_factory=_loop_that_skips_waits) as runner:
        runner.run(body())


def _loop_that_skips_waits() -> asyncio.AbstractEventLoop:
    """Return an event loop with real sockets. While nothing arrives, its clock jumps to the next timer."""
    selector, now = selectors.DefaultSelector(), 0.0
    poll = selector.select

    def select(timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        nonlocal now
        found = poll(None if timeout is None else 0)
        now += 0 if found else timeout or 0
        return found

    selector.select = select  # type: ignore[method-assign]
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: now  # type: ignore[method-assign]
    return loop


@pytest.mark.thorough
@pytest.mark.parametrize("secure", [False, True])
def test_a_connection_has_little_time(secure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its TLS handshake included."""
    monkeypatch.setattr(http_server, "CONNECTION_SECONDS", 0.3)

    async def body(found: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", found.port)
        async with asyncio.timeout(5):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        monkeypatch.undo()
        assert (await found.get("t-scraper")).status == 200

    running(body, tls=self_signed_context() if secure else None)


def test_plain_http_on_the_port_with_tls_is_closed() -> None:
    async def body(found: Served) -> None:
        found.scheme = "http"
        with pytest.raises(aiohttp.ClientError):
            await found.get("t-scraper")
        found.scheme = "https"
        assert (await found.get("t-scraper")).status == 200

    running(body, tls=self_signed_context())


def test_a_connection_serves_one_request() -> None:
    async def body(found: Served) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", found.port)
        writer.write(b"GET /else HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(5):
            assert b"404" in await reader.read(), "until its end"
        writer.close()

    running(body)
