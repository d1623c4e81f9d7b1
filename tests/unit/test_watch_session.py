"""Kopf's HTTP session reports each watch, whatever the path in the URL of the API server."""

import asyncio

import pytest
from aiohttp import web

from coxswain.kernel.api.connection import plain
from coxswain.kernel.watching.session import session
from coxswain.settings import WatchSettings
from coxswain.webapp.kinds import POD
from rendered import KINDS
from unit.fake_api import serving
from unit.test_kopf_watches import Recording


@pytest.mark.parametrize(
    "path", ["", "/", "/k8s/clusters/c-abc", "/clusters/root%3Aorg/", "/clusters/root:org", "/a%20b"]
)
def test_the_watches_of_a_server_with_a_path_are_reported(path: str) -> None:
    """A percent-encoded path hid all watches, and no object was ever listed."""

    async def answer(request: web.Request) -> web.Response:
        if "watch" in request.query:
            return web.Response(text='{"type":"BOOKMARK","object":{}}\n')
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    async def whole() -> None:
        async with serving() as api:
            api.instead = answer
            url = f"{api.host}{path}"
            async with session(plain(url), KINDS.watched, [None], WatchSettings(), sink) as kopfs:
                for query in ({}, {"watch": "true"}):
                    await kopfs.get(f"{url.rstrip('/')}{POD.path()}", params=query)

    sink = Recording()
    asyncio.run(whole())
    assert sink.starts[POD] == 1
