"""The HTTP boundary: one request sent, one answer received.

Everything above it is free of sockets, so the simulation puts a model of the API server in its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.api.errors import TooLarge, Unreachable

USER_AGENT = "coxswain"


@dataclass(frozen=True)
class Answer:
    """An HTTP response, its body undecoded."""

    status: int
    payload: bytes
    retry_after: str | None = None
    """The header of that name."""


class Transport(Protocol):
    """Sends requests to the API server."""

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,
    ) -> Answer:
        """Send one request and return the answer, whatever its status.

        Raises:
            Unreachable: no answer came within `seconds`.
        """

    def doubt_credentials(self) -> None:
        """Read the credentials again before the next request: they were not accepted."""

    async def close(self) -> None:
        """Close the connections."""


_LARGEST_BYTES = 12 * 1024 * 1024
"""Of an answer: one object has at most 1.5 MB in etcd, and in JSON each byte may take six characters."""


class HttpTransport:
    """Requests over `kubernetes.aio`."""

    def __init__(self, connection: Connection) -> None:
        """Connect as the connection says."""
        self._connection = connection
        self._api = ApiClient(Configuration(host=connection.host))
        self._api.user_agent = USER_AGENT
        # The library would make a session of its own, which takes CA and client certificate once and for all.
        self._api.rest_client.pool_manager = connection.session(USER_AGENT)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,
    ) -> Answer:
        """Send one request.

        Raises:
            Unreachable: no answer came within `seconds`.
            TooLarge: the answer has more than 12 MiB; memory is limited, and what others store is not.
        """
        try:
            # Without the body, which it would copy to turn the library's models into JSON: ours has none.
            method, url, sent, _, _ = await self._api.param_serialize(
                method, path, query_params=list(query), header_params=dict(headers)
            )
            response = await self._api.call_api(
                method, url, sent, body, _request_timeout=aiohttp.ClientTimeout(total=seconds)
            )
            payload = await _read(response.response, f"{method} {path}")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unreachable(f"{method} {path}: {str(error) or type(error).__name__}") from error
        return Answer(response.status, payload, response.getheader("Retry-After"))

    def doubt_credentials(self) -> None:
        """Read the credentials again before the next request."""
        self._connection.doubt()

    async def close(self) -> None:
        """Close the connections."""
        await self._api.close()


async def _read(response: aiohttp.ClientResponse, what: str) -> bytes:
    parts, size = [], 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > _LARGEST_BYTES:
                raise TooLarge(f"{what}: the answer has more than {_LARGEST_BYTES // 2**20} MiB")
            parts.append(part)
    except BaseException:
        # The rest of the answer would be taken for the next one.
        response.close()
        raise
    return b"".join(parts)
