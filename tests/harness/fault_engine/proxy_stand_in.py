"""A fake API server for the proxy's own tests. It records all requests, and sends the lines of watches on command."""

import asyncio
import json
import ssl
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from aiohttp import web

from cluster.certificates import create_authority

Line = dict[str, Any] | str | None


class StandIn:
    """Serves in its own thread until it is closed."""

    def __init__(self, directory: Path) -> None:
        """Write its certificates to a directory."""
        self.asked: list[tuple[str, str, str, bytes]] = []
        """Method, path with query, Authorization and body of each request."""
        self.answer: tuple[int, bytes] = (200, b'{"kind": "Anything"}')
        self.left = threading.Event()
        """Set when a client closes a watch."""
        self.watching = threading.Semaphore(0)
        """Released when a watch opens."""
        authority = create_authority(directory, "stand-in-ca")
        self.ca_file = authority.certificate_file
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(*authority.issue(directory, "stand-in", ("127.0.0.1",)))
        self._watches: list[asyncio.Queue[Line]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._open())

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    def send(self, *lines: Line) -> None:
        """Send lines to all open watches; None ends the watches."""
        self._run(self._send(lines))

    def stop(self) -> None:
        """Stop listening."""
        self._run(self._runner.cleanup())

    def close(self) -> None:
        """Stop listening, and end the thread."""
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, doing: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(doing, self._loop).result(10)

    async def _send(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            for watch in self._watches:
                watch.put_nowait(line)

    async def _open(self) -> None:
        server = web.Application(client_max_size=0)
        server.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(server, access_log=None, handler_cancellation=True, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        self._port = self._runner.addresses[0][1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append((request.method, request.raw_path, request.headers.get("Authorization", ""), body))
        status, text = self.answer
        if "watch" in request.query and status == 200:
            return await self._watch(request)
        return web.Response(
            status=status, body=text, headers={"Content-Type": "application/json", "Warning": "299 - a"}
        )

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        lines: asyncio.Queue[Line] = asyncio.Queue()
        self._watches.append(lines)
        self.watching.release()
        try:
            while (line := await lines.get()) is not None:
                await response.write((line if isinstance(line, str) else json.dumps(line) + "\n").encode())
        except asyncio.CancelledError:
            self.left.set()
            raise
        finally:
            self._watches.remove(lines)
        return response
