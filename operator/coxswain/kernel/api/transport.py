"""The HTTP boundary: send one request, receive one response.

Code above it uses no sockets, so the simulation replaces it with a model of the API server.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from kubernetes.aio.client import ApiClient, Configuration

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.api.errors import TooLarge, Unreachable
from coxswain.metrics import RequestMetrics

USER_AGENT = "coxswain"


@dataclass(frozen=True)
class HttpResponse:
    """An HTTP response with its raw body."""

    status: int
    payload: bytes
    retry_after: str | None = None
    """The Retry-After header."""


class Transport(Protocol):
    """Sends requests to the API server."""

    @property
    def host(self) -> str:
        """The URL of the API server."""

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,
        check: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        """Send one request and return the response, whatever its status.

        `check` runs immediately before a body is sent, after all waits, and prevents the request by a `RequestFailed`.

        Raises:
            Unreachable: no response within `seconds`.
            RequestFailed: the error of `check`.
        """

    def invalidate_credentials(self) -> None:
        """Reload the credentials before the next request, because they were rejected."""

    async def close(self) -> None:
        """Close the connections."""


_LARGEST_BYTES = 12 * 1024 * 1024
"""Maximum size of a response. An object has at most 1.5 MB in etcd, and JSON may escape a byte with six characters."""


class HttpTransport:
    """A transport based on `kubernetes.aio`."""

    def __init__(self, connection: Connection) -> None:
        """Open a session with the settings of the connection."""
        self._connection = connection
        self._metrics = RequestMetrics(connection.host)
        self._api = ApiClient(Configuration(host=connection.host))
        self._api.user_agent = USER_AGENT
        # The library's own session would load the CA and the client certificate only once.
        self._session = connection.session(USER_AGENT)

    @property
    def host(self) -> str:
        """The URL of the API server."""
        return self._connection.host

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,
        check: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        """Send one request.

        Raises:
            Unreachable: no response within `seconds`.
            TooLarge: the response exceeds 12 MiB. Memory is limited, but other users' objects are not.
            RequestFailed: the error of `check`.
        """
        payload = None if body is None else _CheckedBody(body, check)
        try:
            # Serialize without the body: the library would copy it to convert its models, and ours contains none.
            method, url, sent, _, _ = await self._api.param_serialize(
                method, path, query_params=list(query), header_params=dict(headers)
            )
            with self._metrics.request(method) as answered:
                response = await self._session.request(
                    method, url, headers=sent, data=payload, timeout=aiohttp.ClientTimeout(total=seconds)
                )
                answered(response.status)
                content = await _read(response, f"{method} {path}")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if payload is not None and payload.prevented is not None:
                raise payload.prevented from None
            raise Unreachable(f"{method} {path}: {str(error) or type(error).__name__}") from error
        return HttpResponse(response.status, content, response.headers.get("Retry-After"))

    def invalidate_credentials(self) -> None:
        """Reload the credentials before the next request."""
        self._connection.invalidate()

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()
        await self._api.close()


_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
"""Characters that JSON allows and YAML does not, and those that YAML reads as the end of a line or of a document."""


def _serialized(body: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bytes:
    """Return a body as JSON that is YAML, too: the API server parses an apply as YAML.

    YAML knows no surrogate pairs, so a character beyond U+FFFF such as an emoji must not be escaped.
    """
    text = json.dumps(body, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


class _CheckedBody(aiohttp.BytesPayload):
    """A JSON body that is sent only if a check passes.

    The wait for credentials or for a connection may outlast the state that the check is about. aiohttp writes the body
    after both, and the headers with it.
    """

    def __init__(self, body: Mapping[str, Any] | Sequence[Mapping[str, Any]], check: Callable[[], None]) -> None:
        super().__init__(_serialized(body))
        self._check = check
        self.prevented: Exception | None = None
        """The error of the check. aiohttp wraps it in one of its own."""

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write the body, unless the check fails."""
        try:
            self._check()
        except Exception as error:
            self.prevented = error
            raise
        await super().write_with_length(writer, content_length)


async def _read(response: aiohttp.ClientResponse, what: str) -> bytes:
    parts, size = [], 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > _LARGEST_BYTES:
                raise TooLarge(f"{what}: the response exceeds {_LARGEST_BYTES // 2**20} MiB")
            parts.append(part)
    except BaseException:
        # The unread rest would be taken for the next response on this connection.
        response.close()
        raise
    return b"".join(parts)
