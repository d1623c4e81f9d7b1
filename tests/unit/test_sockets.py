"""The sockets of both sessions: the kernel closes a connection whose peer does not answer."""

import asyncio
import socket
import sys

import pytest
from aiohttp import web

from coxswain.kernel.api.connection import plain
from coxswain.kernel.api.sockets import IDLE_SECONDS, LOST_SECONDS, tcp_socket
from coxswain.settings import Settings

ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 1))
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the options")


def options(found: socket.socket) -> tuple[int, ...]:
    """Return keepalive, its idle time in seconds, and the timeout of unacknowledged data in milliseconds."""
    return (
        found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
    )


@LINUX
def test_a_session_connects_with_these_sockets() -> None:
    async def body() -> tuple[int, ...]:
        done = asyncio.Event()

        async def answer(request: web.Request) -> web.StreamResponse:
            """Keep the response open, like a watch."""
            response = web.StreamResponse()
            await response.prepare(request)
            await done.wait()
            return response

        application = web.Application()
        application.router.add_get("/", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        async with plain(url).session("test") as session, session.get(url) as response:
            assert response.connection is not None
            assert response.connection.transport is not None
            used: socket.socket = response.connection.transport.get_extra_info("socket")
            found = options(used)
            done.set()
        await runner.cleanup()
        return found

    assert asyncio.run(body()) == (1, IDLE_SECONDS, 1000 * LOST_SECONDS)


def test_a_system_without_the_options_gets_a_plain_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_USER_TIMEOUT", raising=False)
    with tcp_socket(ADDRESS) as made:
        assert (made.family, made.type) == (socket.AF_INET, socket.SOCK_STREAM)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0


def test_a_lost_peer_is_noticed_before_the_other_timeouts() -> None:
    assert IDLE_SECONDS < LOST_SECONDS < Settings().request_timeout < Settings().watch.inactivity_timeout
