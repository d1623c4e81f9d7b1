"""A server of the metrics with reviews of tokens, for unit tests, and a client of it."""

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp

from coxswain.gauges import Readings
from coxswain.kernel.api.access_review import AccessReviewer
from coxswain.serving import metrics_server
from coxswain.serving.http_server import Tls
from coxswain.serving.metrics_server import Guard
from unit.reviewing_api import Reviews, reviewing

ROLE = "coxswain-metrics-reader"


@dataclass
class Answer:
    """The answer to a request."""

    status: int
    text: str
    challenge: str | None = None


@dataclass
class Served:
    """A running server, and the reviews behind it."""

    port: int
    reviews: Reviews
    trust: ssl.SSLContext | bool = field(default=False)
    """What the client trusts; False for anything."""
    scheme: str = "https"

    async def get(self, token: str | None = None, path: str = "/metrics", method: str = "GET") -> Answer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method, f"{self.scheme}://localhost:{self.port}{path}", headers=headers, ssl=self.trust
            ) as found,
        ):
            return Answer(found.status, await found.text(), found.headers.get("WWW-Authenticate"))


@asynccontextmanager
async def served(*, tls: Tls | None = None, guarded: bool = True) -> AsyncIterator[Served]:
    async with reviewing() as (reviews, client):
        guard = Guard(AccessReviewer(client, "/metrics", asyncio.get_running_loop().time), role=ROLE)
        records: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
        metrics_server.log.addHandler(handler)
        metrics_server.log.setLevel("INFO")
        try:
            async with metrics_server.metrics_server(
                "127.0.0.1:0", Readings, tls=tls, guard=guard if guarded else None
            ):
                [address] = [line for line in records if line.startswith("metrics at ")]
                scheme, port = re.fullmatch(r"metrics at (https?)://127\.0\.0\.1:(\d+)", address).groups()  # type: ignore[union-attr]
                yield Served(int(port), reviews, scheme=scheme)
        finally:
            metrics_server.log.removeHandler(handler)


def running(body: Callable[[Served], Awaitable[None]], *, tls: Tls | None = None, guarded: bool = True) -> None:
    async def whole() -> None:
        async with served(tls=tls, guarded=guarded) as found, asyncio.timeout(30):
            await body(found)

    asyncio.run(whole())
