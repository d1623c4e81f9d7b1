"""The limits of connections to the metrics, plain and with TLS. test_process.py has those of the probes."""

import asyncio
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import aiohttp
import pytest

from coxswain.serving import http_server
from coxswain.serving.certificates import self_signed_context
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
