"""A TLS proxy between a client, such as an operator, and a Kubernetes API server. It injects the faults of a plan."""

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
from fault_engine.history import History, Mark
from fault_engine.plan import Kill, Plan
from fault_engine.proxy_handler import Handler
from fault_engine.proxy_upstream import Upstream

START_TIMEOUT_SECONDS = 30.0
_KEEP_IDLE_SECONDS = 3600.0  # closing an idle connection would be a fault without a plan
_STOP_SECONDS = 0.1  # an open watch never ends by itself

_Result = TypeVar("_Result")


class FaultProxy:
    """Forwards requests unchanged unless the current plan has a rule for them, and records the history.

    It runs in its own thread and event loop, inside a `with` block. Clients authenticate by bearer tokens, because
    client certificates end at the proxy. Bidirectional streams (exec, port-forward) are not forwarded. Responses other
    than watches are buffered.
    """

    def __init__(self, upstream_url: str, upstream_ca_file: Path, directory: Path) -> None:
        """Forward to an API server; write the proxy's own certificates to a directory."""
        self.history = History()
        """Written by the proxy's thread; other threads take a `snapshot`."""
        self.on_kill: Callable[[], None] | None = None
        """Kills the operator for the action Kill, and returns after its exit."""
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
        """The proxy's address, for clients in place of the API server's."""
        host, port = self._runner.addresses[0][:2]
        return f"https://{host}:{port}"

    def set(self, plan: Plan) -> None:
        """Lift the current plan, and set another with its counters at 0."""
        if self.on_kill is None and any(isinstance(rule.action, Kill) for rule in plan.rules):
            raise ValueError("the plan contains Kill, but on_kill is not set")
        self._run(self._activate(plan))

    def lift(self) -> None:
        """End all faults: deliver held lines in their order; hidden events stay hidden."""
        self._run(self._activate(Plan()))

    def cut(self, resource: str = "*") -> None:
        """Reset the open watches of a resource (a shell pattern). The current plan applies when they reopen."""
        self._run(self._cut(resource))

    def move(self, upstream_url: str) -> None:
        """Forward to another API server with the same CA from now on, and reset all watches."""
        self._upstream.move(upstream_url)
        self.cut()

    def mark(self, what: str) -> None:
        """Record an action of the test in the history."""
        self.history.marks.append(Mark(time.monotonic(), what))

    def snapshot(self) -> History:
        """Return a shallow copy of the history so far."""
        return History(list(self.history.requests), list(self.history.lines), list(self.history.marks))

    def write_kubeconfig(self, kubeconfig_in: Path, out: Path) -> None:
        """Write a copy of a kubeconfig in which all clusters have the proxy's address."""
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
        self._handler.activate(Plan())
        await self._runner.cleanup()
        await self._handler.close()
        await self._upstream.close()

    async def _activate(self, plan: Plan) -> None:
        self._handler.activate(plan)

    async def _cut(self, resource: str) -> None:
        self._handler.cut(resource)

    def _kill(self) -> None:
        if self.on_kill is None:
            raise ValueError("the plan contains Kill, but on_kill is not set")
        self.on_kill()
