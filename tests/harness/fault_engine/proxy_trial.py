"""A test setup for the proxy: clients in front of it, and a fake API server behind it."""

import http.client
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fault_engine.plan import Action, Match, Plan, Rule
from fault_engine.proxy import FaultProxy
from fault_engine.proxy_stand_in import StandIn

PODS = "/api/v1/namespaces/shop/pods"
WATCH = f"{PODS}?watch=true"
BROKEN = (ConnectionError, http.client.HTTPException, ssl.SSLError)
"""The errors of a client whose connection closes before a complete response."""


class Client:
    """One connection to the proxy."""

    def __init__(self, proxy: FaultProxy) -> None:
        trust = ssl.create_default_context(cafile=str(proxy.ca_file))
        self.connection = http.client.HTTPSConnection(proxy.url.removeprefix("https://"), context=trust, timeout=10)

    def ask(self, method: str, target: str, body: bytes = b"") -> http.client.HTTPResponse:
        """Send a request, and return the response after its headers."""
        headers = {"Authorization": "Bearer s3cret", "User-Agent": "kopf/1", "Accept-Encoding": "gzip"}
        self.connection.request(method, target, body or None, headers)
        return self.connection.getresponse()

    def versions(self, response: http.client.HTTPResponse, count: int) -> list[int]:
        """Return the resourceVersions of the next `count` events of a watch."""
        return [int(json.loads(response.readline())["object"]["metadata"]["resourceVersion"]) for _ in range(count)]


class Trial:
    """A fake API server, a proxy and its clients, inside a `with` block."""

    def __init__(self, directory: Path) -> None:
        self.server = StandIn(directory)
        self.proxy = FaultProxy(self.server.url, self.server.ca_file, directory / "proxy")
        self._clients: list[Client] = []

    def __enter__(self) -> Self:
        self.proxy.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            client.connection.close()
        self.proxy.__exit__(kind, error, trace)
        self.server.close()

    def connect(self) -> Client:
        """Return a client with its own connection."""
        self._clients.append(Client(self.proxy))
        return self._clients[-1]


def event(version: int, kind: str = "MODIFIED") -> dict[str, Any]:
    """Return an event of a watch."""
    return {"type": kind, "object": {"metadata": {"name": "web", "resourceVersion": str(version)}}}


def always(action: Action) -> Plan:
    """Return a plan with one rule that matches all requests."""
    return Plan((Rule(Match(count=None), action),))


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; fail after a deadline."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "the condition does not hold after 10 s"
        time.sleep(0.01)
