"""The proxy's side towards the API server."""

import io
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

_OF_ONE_CONNECTION = frozenset(
    ("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect", "host")
)

_LARGE_BODY = 2**20  # aiohttp warns of larger ones that are sent as bytes


@dataclass(frozen=True)
class Answered:
    """A whole answer."""

    status: int
    headers: CIMultiDict[str]
    body: bytes


def own_headers(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Return the headers of a message without those of the connection on which it came."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _OF_ONE_CONNECTION)


def read_json(body: bytes) -> Any:
    """Return what a body says, None if it is no JSON."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


async def read_lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Return lines of any length as they come, and at the end what has no line end."""
    rest = b""
    async for some in content.iter_any():
        *lines, rest = (rest + some).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


class Upstream:
    """The API server behind the proxy. To be made and used in one event loop."""

    def __init__(self, url: str, ca_file: Path) -> None:
        self._url = url.rstrip("/")
        trust = ssl.create_default_context(cafile=str(ca_file))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=trust),
            timeout=aiohttp.ClientTimeout(total=None),  # each client has timeouts of its own
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def open(self, request: web.BaseRequest, raw_path: str, body: bytes) -> aiohttp.ClientResponse:
        """Send a request on, and return the answer once its headers are there.

        Raises:
            aiohttp.ClientError: if the server can't be reached, or breaks off.
        """
        headers = own_headers(request.headers)
        headers["Accept-Encoding"] = "identity"
        return await self._session.request(
            request.method,
            URL(self._url + raw_path, encoded=True),
            headers=headers,
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
            data=io.BytesIO(body) if len(body) > _LARGE_BODY else body or None,
            allow_redirects=False,
        )

    def move(self, url: str) -> None:
        """Send requests to another server from now on."""
        self._url = url.rstrip("/")

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
