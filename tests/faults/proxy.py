"""A TLS proxy between an operator, or any other client, and a Kubernetes API server, which does what a plan says."""

import asyncio
import base64
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import yaml
from aiohttp import web

from cluster.certificates import create_authority
from faults.history import History, Mark
from faults.plan import Kill, Plan
from faults.proxy_handler import Handler
from faults.proxy_upstream import Upstream

START_TIMEOUT_SECONDS = 30.0
_KEEP_IDLE_SECONDS = 3600.0  # a connection closed for idleness would be a fault that no plan names
_STOP_SECONDS = 0.1  # watches never end by themselves

_Result = TypeVar("_Result")


class FaultProxy:
    """Forwards everything unchanged, but for what the plan in force says; and keeps the history.

    It runs in a thread and an event loop of its own for the time of a `with`. Clients are known by bearer tokens:
    their certificates would end here. Streams in both directions (exec, port-forward) are not forwarded, and an
    answer that is no watch is passed on when it is whole.
    """

    def __init__(self, upstream_url: str, upstream_ca_file: Path, directory: Path) -> None:
        """Forward to an API server; the proxy's own certificates go to a directory."""
        self.history = History()
        """Grows in the proxy's thread: others take a `snapshot`."""
        self.on_kill: Callable[[], None] | None = None
        """Kills the operator for the action Kill, and returns when it is gone."""
        self._upstream_url = upstream_url
        self._upstream_ca_file = upstream_ca_file
        self._directory = directory
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy", daemon=True)

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        authority = create_authority(self._directory, "proxy-ca")
        files = authority.issue(self._directory, "proxy", ("127.0.0.1", "localhost"))
        self.ca_file = authority.certificate_file
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(*files)
        self._thread.start()
        self._run(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._handler.failures and error is None:
            raise RuntimeError("the proxy itself failed") from self._handler.failures[0]

    @property
    def url(self) -> str:
        """The address that clients use in the API server's place."""
        host, port = self._runner.addresses[0][:2]
        return f"https://{host}:{port}"

    def set(self, plan: Plan) -> None:
        """Put a plan in force, with its counters at 0, in the place of the one so far, which is lifted."""
        if self.on_kill is None and any(isinstance(rule.action, Kill) for rule in plan.rules):
            raise ValueError("the plan kills, and on_kill is not set")
        self._run(self._put_in_force(plan))

    def lift(self) -> None:
        """End all faults: what is held goes on in its order, what was hidden stays so."""
        self._run(self._put_in_force(Plan()))

    def cut(self, resource: str = "*") -> None:
        """Break the open watches of a resource, a shell pattern: they are opened again under the plan in force."""
        self._run(self._cut(resource))

    def move(self, upstream_url: str) -> None:
        """Forward to another API server of the same authority from now on, and break all watches."""
        self._upstream.move(upstream_url)
        self.cut()

    def mark(self, what: str) -> None:
        """Note in the history what a test does now."""
        self.history.marks.append(Mark(time.monotonic(), what))

    def snapshot(self) -> History:
        """Return the history as it is now; the entries themselves are shared."""
        return History(list(self.history.requests), list(self.history.lines), list(self.history.marks))

    def write_kubeconfig(self, kubeconfig_in: Path, out: Path) -> None:
        """Write a kubeconfig like another one, with all its clusters reached through the proxy."""
        config = yaml.safe_load(kubeconfig_in.read_text(encoding="utf-8"))
        ca_data = base64.b64encode(self.ca_file.read_bytes()).decode()
        for cluster in config["clusters"]:
            cluster["cluster"] = {"server": self.url, "certificate-authority-data": ca_data}
        out.touch(mode=0o600)
        out.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")

    def _run(self, doing: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(START_TIMEOUT_SECONDS)

    async def _open(self) -> None:
        self._upstream = Upstream(self._upstream_url, self._upstream_ca_file)
        self._handler = Handler(self._upstream, self.history, self._kill)
        server = web.Application(client_max_size=0)
        server.router.add_route("*", "/{path:.*}", self._handler.handle)
        self._runner = web.AppRunner(
            server,
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=_KEEP_IDLE_SECONDS,
            shutdown_timeout=_STOP_SECONDS,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls).start()

    async def _close(self) -> None:
        self._handler.put_in_force(Plan())
        await self._runner.cleanup()
        await self._handler.close()
        await self._upstream.close()

    async def _put_in_force(self, plan: Plan) -> None:
        self._handler.put_in_force(plan)

    async def _cut(self, resource: str) -> None:
        self._handler.cut(resource)

    def _kill(self) -> None:
        if self.on_kill is None:
            raise ValueError("the plan kills, and on_kill is not set")
        self.on_kill()
