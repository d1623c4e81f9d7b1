"""A small API server for unit tests with real clients: lists, watches, and faults on request of the test."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from coxswain.kernel.api.connection import Connection, plain
from coxswain.kernel.objects.kinds import Kind
from rendered import KINDS
from unit.objects import raw_webapp

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

VERBS = ["list", "watch", "patch", "get", "create", "delete"]
SERVED = {kind.path(): kind for kind in KINDS.watched}


class FakeApi:
    """Serves all kinds of the operator over plain HTTP, from one history."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[Kind, dict[str, dict[str, Any]]] = {kind: {} for kind in KINDS.watched}
        self.history: list[tuple[int, Kind, dict[str, Any]]] = []
        self.requests: list[tuple[str, Kind]] = []
        self.lists: dict[Kind, Handler] = {}
        self.watches: dict[Kind, Handler] = {}
        """Handlers that replace the normal answer to a watch."""
        self.news = asyncio.Condition()
        self.token: str | None = None
        """The required token; None means that no token is required."""
        self.frozen = False
        """If set, the server answers no request, not even discovery."""
        self.instead: Handler | None = None
        """A handler for all requests, in place of the normal ones."""
        self.host = ""

    def connection(self) -> Connection:
        """Return a connection to this server, without credentials."""
        return plain(self.host)

    async def change(self, kind: Kind, change: str, name: str) -> None:
        """Add, modify or delete an object; `change` is ADDED, MODIFIED or DELETED."""
        self.version += 1
        raw = raw_webapp(name, version=self.version, uid=f"{kind.plural}-{name}")
        if change == "DELETED":
            del self.objects[kind][name]
        else:
            self.objects[kind][name] = raw
        await self.send(kind, {"type": change, "object": raw})

    async def send(self, kind: Kind, line: dict[str, Any]) -> None:
        """Send a line to all watches of a kind that started at an older version."""
        self.version += 1
        self.history.append((self.version, kind, line))
        async with self.news:
            self.news.notify_all()

    async def bookmark(self, kind: Kind) -> None:
        """Send a bookmark."""
        await self.send(kind, {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.version)}}})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        if self.instead is not None:
            return await self.instead(request)
        if self.frozen:
            return await self.hanging(request)
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        if request.path not in SERVED:
            return web.json_response(_discovery(request.path))
        kind = SERVED[request.path]
        if "watch" in request.query:
            self.requests.append(("WATCH", kind))
            return await self.watches.get(kind, self.watch)(request)
        self.requests.append(("LIST", kind))
        return await self.lists.get(kind, self.list)(request)

    async def list(self, request: web.Request) -> web.Response:
        """Answer a LIST. A field selector matches no object."""
        items = [] if "fieldSelector" in request.query else list(self.objects[SERVED[request.path]].values())
        return web.json_response({"metadata": {"resourceVersion": str(self.version)}, "items": items})

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """Answer a WATCH, and stream its events."""
        seen = int(request.query["resourceVersion"])
        response = await opened(request)
        while True:
            for version, kind, line in list(self.history):
                if version > seen and kind is SERVED[request.path]:
                    await response.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
                seen = max(seen, version)
            async with self.news:
                await self.news.wait()

    async def silent(self, request: web.Request) -> web.StreamResponse:
        """Open a watch, but send nothing."""
        await opened(request)
        return await self.hanging(request)

    async def hanging(self, _: web.Request) -> web.StreamResponse:
        """Never answer."""
        await asyncio.Event().wait()
        raise AssertionError

    async def closing(self, request: web.Request) -> web.StreamResponse:
        """Open a watch, and close it at once."""
        return await opened(request)


async def opened(request: web.Request) -> web.StreamResponse:
    """Send the headers of a watch, and return the open response."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    return response


@asynccontextmanager
async def serving() -> AsyncIterator[FakeApi]:
    """Serve until the block ends."""
    api = FakeApi()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", api.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api.host = "http://{}:{}".format(*runner.addresses[0][:2])
    try:
        yield api
    finally:
        await runner.cleanup()


async def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    """Wait for a condition.

    Raises:
        AssertionError: it does not hold after so many seconds. The message is its source.
    """
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {inspect.getsource(condition).strip()}") from None


def written_kubeconfig(directory: Path, host: str) -> Path:
    """Write a kubeconfig with a token file beside it."""
    path = directory / "kubeconfig"
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "{host}"}}}}]
users: [{{name: u, user: {{tokenFile: token}}}}]
""",
        encoding="utf-8",
    )
    return path


def _discovery(path: str) -> dict[str, Any]:
    if path == "/api":
        return {"versions": ["v1"]}
    groups = sorted({(kind.group, kind.version) for kind in KINDS.watched if kind.group})
    if path == "/apis":
        return {
            "groups": [
                {
                    "name": group,
                    "preferredVersion": {"version": version},
                    "versions": [{"groupVersion": f"{group}/{version}", "version": version}],
                }
                for group, version in groups
            ]
        }
    resources = [(kind.plural, kind.kind, True) for kind in KINDS.watched if kind.group_path == path]
    if path == "/api/v1":
        resources.append(("namespaces", "Namespace", False))  # Kopf waits for it
    return {
        "resources": [
            {"name": plural, "kind": kind, "singularName": kind.lower(), "namespaced": namespaced, "verbs": VERBS}
            for plural, kind, namespaced in resources
        ]
    }
