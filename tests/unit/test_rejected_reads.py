"""A GET has no manifest: after a 400, by a proxy for example, it is retried, and no manifest counts as rejected."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import ErrorClass, Refused, RequestFailed
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.objects.kinds import EVENT
from coxswain.webapp.kinds import SERVICE, WEBAPP
from unit.bench import Bench

_MANIFEST = {"metadata": {"namespace": "shop", "name": "web"}}


class Answering(SimpleNamespace):
    """A transport that answers each request with one status."""

    host = "https://server.example"

    async def send(self, *_: Any, **__: Any) -> HttpResponse:
        body = {"reason": "BadRequest", "message": "Your browser sent a request that this server could not understand"}
        return HttpResponse(self.status, json.dumps(body).encode())

    def invalidate_credentials(self) -> None:
        """Keep them."""


def error_of(status: int, request: Callable[[Client], Awaitable[Any]]) -> RequestFailed:
    """Return the error of a request that is answered with a status."""

    async def body() -> None:
        await request(Client(Answering(status=status), Throttle(in_flight=1), timeout=10, page_size=2))

    with pytest.raises(RequestFailed) as raised:
        asyncio.run(body())
    return raised.value


async def get(client: Client) -> None:
    await client.get(WEBAPP, "shop", "web")


async def pages(client: Client) -> None:
    async for _ in client.pages(SERVICE, "shop"):
        raise AssertionError


async def warnings(client: Client) -> None:
    await client.warnings("shop", "uid", 1)


@pytest.mark.parametrize(
    ("read", "path"),
    [(get, WEBAPP.path("shop", "web")), (pages, SERVICE.path("shop")), (warnings, EVENT.path("shop"))],
)
@pytest.mark.parametrize("status", [400, 405, 406, 413, 415, 422])
def test_a_read_is_never_terminal(status: int, read: Callable[[Client], Awaitable[Any]], path: str) -> None:
    error = error_of(status, read)
    assert error.error_class is ErrorClass.TRANSIENT
    assert str(error).startswith(f"GET {path}: {status} BadRequest: Your browser")


@pytest.mark.parametrize("status", [400, 405, 406, 413, 415, 422])
def test_a_write_stays_terminal(status: int) -> None:
    error = error_of(status, lambda client: client.create(SERVICE, "shop", _MANIFEST))
    assert isinstance(error, Refused)
    assert error.error_class is ErrorClass.TERMINAL


@pytest.mark.parametrize("status", [401, 403, 404, 409, 410, 429, 500])
def test_any_other_refusal_of_a_read_keeps_its_code(status: int) -> None:
    error = error_of(status, get)
    assert isinstance(error, Refused)
    assert error.status == status


def test_a_read_before_a_write_is_retried_and_reported() -> None:
    """The generation guard reads the WebApp: the user was asked to correct a spec that is valid."""
    bench = Bench()
    bench.converge()
    bench.restart()
    bench.writer.version += 1
    bench.webapp(version=bench.writer.version, generation=2, image="registry.example/web:2")
    error = error_of(400, get)
    bench.writer.fail("look WebApp", error)
    for failures in range(5):
        assert bench.run(failures=failures).failed is error, "retried with backoff"
        bench.now += 60
    assert bench.conditions()["Ready"] == ("False", "WriteFailed")
    assert bench.conditions()["Stalled"][0] != "True"
    assert f"write failed: GET {WEBAPP.path('shop', 'web')}: 400 BadRequest: Your browser" in bench.message_of("Ready")
    assert "retries with backoff" in bench.message_of("Ready")
    bench.writer.answers.clear()
    bench.writer.answers["look WebApp"] = bench.webapp_now
    bench.run(failures=5)
    assert "update Deployment" in bench.writer.sent
