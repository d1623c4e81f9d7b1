"""An API server that reviews tokens for unit tests, and a client of it."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpTransport
from unit.fake_api import FakeApi, serving

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

SCRAPER = "system:serviceaccount:monitoring:prometheus"
TENANT = "system:serviceaccount:shop:web"
ROOT = "root at home"


class Reviews:
    """Knows the users of three tokens, and allows one of them to get the metrics."""

    def __init__(self, api: FakeApi) -> None:
        self.users = {"t-scraper": SCRAPER, "t-tenant": TENANT, "t-root": ROOT}
        self.allowed = {SCRAPER}
        self.asked: list[tuple[str, Any]] = []
        """The path and the spec of each review."""
        self.instead: Callable[[web.Request], web.Response] | None = None
        self.verdict: object = None
        """In place of the usual value of `allowed`."""
        api.instead = self._answer

    async def _answer(self, request: web.Request) -> web.Response:
        body = json.loads(await request.text())
        assert body["apiVersion"] == request.path.removeprefix("/apis/").rpartition("/")[0]
        self.asked.append((request.path, body["spec"]))
        if self.instead:
            return self.instead(request)
        answer = {TOKEN_REVIEWS: self._token, ACCESS_REVIEWS: self._access}[request.path](body["spec"])
        return web.json_response({**body, "status": answer}, status=201)

    def _token(self, spec: dict[str, Any]) -> dict[str, Any]:
        name = self.users.get(spec["token"])
        if name is None:
            return {"error": "[invalid bearer token]"}
        return {"authenticated": True, "user": {"username": name, "uid": "u-1", "groups": ["g"], "extra": {"k": ["v"]}}}

    def _access(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {"allowed": spec["user"] in self.allowed if self.verdict is None else self.verdict}


@asynccontextmanager
async def reviewing() -> AsyncIterator[tuple[Reviews, Client]]:
    """Serve until the block ends. The client is that of a standby: it may write nowhere."""
    async with serving() as api:
        throttle = Throttle(in_flight=8, chance=lambda: 0.0)
        client = Client(HttpTransport(api.connection()), throttle, timeout=5, page_size=2, leads=lambda _: False)
        try:
            yield Reviews(api), client
        finally:
            await client.close()
