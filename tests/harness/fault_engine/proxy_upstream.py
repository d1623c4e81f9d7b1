"""The proxy's client of the API server."""

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

_LARGE_BODY = 2**20  # aiohttp warns if a larger body is sent as bytes


@dataclass(frozen=True)
class Answered:
    """A complete response."""

    status: int
    headers: CIMultiDict[str]
    body: bytes


def own_headers(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Return the headers without hop-by-hop headers."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _OF_ONE_CONNECTION)


def read_json(body: bytes) -> Any:
    """Return a parsed JSON body; None if it is not JSON."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


async def read_lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield lines of any length on arrival, and at the end a rest without a newline."""
    rest = b""
    async for some in content.iter_any():
        *lines, rest = (rest + some).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


class Upstream:
    """The API server behind the proxy. Create and use it in one event loop."""

    def __init__(self, url: str, ca_file: Path) -> None:
        self._url = url.rstrip("/")
        trust = ssl.create_default_context(cafile=str(ca_file))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=trust),
            timeout=aiohttp.ClientTimeout(total=None),  # the clients have their own timeouts
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def open(self, request: web.BaseRequest, raw_path: str, body: bytes) -> aiohttp.ClientResponse:
        """Forward a request, and return the response after its headers.

        Raises:
            aiohttp.ClientError: the server is unreachable, or closes the connection early.
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
        """Forward to another server from now on."""
        self._url = url.rstrip("/")

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
