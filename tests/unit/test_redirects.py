"""Redirects: the token and the body of a request go to the API server alone."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from coxswain.kernel.api.connection import connection
from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.watching.session import session
from coxswain.settings import WatchSettings
from coxswain.webapp.kinds import POD
from rendered import KINDS
from unit.fake_api import serving, written_kubeconfig
from unit.test_kopf_watches import Recording


@pytest.mark.parametrize("client", ["ours", "kopf's"])
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_to_another_server_is_not_followed(tmp_path: Path, client: str, status: int) -> None:
    """The other server got the token of the operator."""
    got: list[str | None] = []

    async def other(request: web.Request) -> web.Response:
        got.append(request.headers.get("Authorization"))
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    async def whole() -> None:
        async with serving() as api, serving() as elsewhere:

            async def redirect(request: web.Request) -> web.Response:
                return web.Response(status=status, headers={"Location": f"{elsewhere.host}{request.path}"})

            api.instead, elsewhere.instead = redirect, other
            (tmp_path / "token").write_text("secret", encoding="utf-8")
            made = await connection(written_kubeconfig(tmp_path, api.host), None, token_interval=3600)
            if client == "ours":
                transport = HttpTransport(made)
                with pytest.raises(Unreachable, match=f"redirects to {elsewhere.host}"):
                    await transport.send("PATCH", "/a", query=(), headers={}, body={"a": 1}, seconds=5)
                await transport.close()
            else:
                async with session(made, KINDS.watched, [None], WatchSettings(), Recording()) as kopfs:
                    with pytest.raises(aiohttp.ClientConnectionError, match=f"redirects to {elsewhere.host}"):
                        await kopfs.get(f"{api.host}{POD.path()}")

    asyncio.run(whole())
    assert got == []


def test_a_redirect_to_a_host_without_a_valid_name_is_no_internal_error(tmp_path: Path) -> None:
    """The lookup of the host raised a UnicodeError, which would end an elector and its process."""

    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://a..b/"})

    async def whole() -> None:
        async with serving() as api:
            api.instead = redirect
            (tmp_path / "token").write_text("secret", encoding="utf-8")
            made = await connection(written_kubeconfig(tmp_path, api.host), None, token_interval=3600)
            transport = HttpTransport(made)
            with pytest.raises(Unreachable, match=r"redirects to http://a\.\.b"):
                await transport.send("GET", "/a", query=(), headers={}, body=None, seconds=5)
            await transport.close()

    asyncio.run(whole())
