"""Ask the API server for the user of a bearer token, and whether the user may get a path.

With the TokenReview and the SubjectAccessReview of controller-runtime's WithAuthenticationAndAuthorization.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.api.ttl_cache import TtlCache
from coxswain.kernel.objects.kinds import Kind

TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews")
SUBJECT_ACCESS_REVIEW = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews")

ALLOWED_SECONDS = 60.0
"""Seconds for which an allowed token is cached: a revoked right works this long. controller-runtime caches the user of
a token for 1 minute, and an allowed access for 5."""
REFUSED_SECONDS = 10.0
"""Seconds for which a refusal is cached: a granted right takes this long. controller-runtime caches it for 30 s."""
_CACHED = 256
"""Maximum number of cached allowed tokens, and of cached refused tokens."""
_IN_FLIGHT = 4
"""Maximum number of concurrent reviews: anyone on the network can send tokens. A review takes two small requests."""
_TIMEOUT = 8.0
"""Timeout in seconds of a review, with its waits. Less than the 10 s of a connection, so that the client gets the
reason."""


@dataclass(frozen=True)
class Access:
    """The answer of the API server."""

    user: str | None
    """Name of the user; None if the token is not valid."""
    allowed: bool


NOT_AUTHENTICATED = Access(None, allowed=False)


class AccessReviewer:
    """Reviews tokens for `get` of one path, with a cache. The cache has hashes of the tokens only."""

    def __init__(self, client: Client, path: str, clock: Callable[[], float]) -> None:
        """Send the reviews with `client`; `clock` returns monotonic seconds. Call this in the main loop."""
        self._client = client
        self._path = path
        self._allowed: TtlCache[bytes, Access] = TtlCache(ALLOWED_SECONDS, _CACHED, clock)
        self._refused: TtlCache[bytes, Access] = TtlCache(REFUSED_SECONDS, _CACHED, clock)
        """Apart from the others, so that a flood of invalid tokens drops no valid one."""
        self._turns = asyncio.Semaphore(_IN_FLIGHT)
        self._reviews: set[asyncio.Task[Access]] = set()
        self._salt = secrets.token_bytes(32)

    async def access(self, token: str) -> Access:
        """Return whether the user of a token may get the path.

        Raises:
            RequestFailed: The API server does not answer, or refuses to review the token.
        """
        key = hashlib.blake2b(token.encode(), key=self._salt).digest()
        found = self._cached(key)
        if found is not None:
            return found
        try:
            async with asyncio.timeout(_TIMEOUT):
                await self._turns.acquire()
                # Without its client a review continues: the next request of a client in a hurry gets the result.
                return await asyncio.shield(self._begin(key, token))
        except TimeoutError as error:
            raise Unreachable(f"no review of the token within {_TIMEOUT:g} s") from error

    def _begin(self, key: bytes, token: str) -> asyncio.Task[Access]:
        review = asyncio.create_task(self._take_turn(key, token), name="review")
        self._reviews.add(review)
        review.add_done_callback(self._end)
        return review

    async def _take_turn(self, key: bytes, token: str) -> Access:
        async with asyncio.timeout(_TIMEOUT):
            # Another request may have had the same token reviewed during the wait.
            return self._cached(key) or self._keep(key, await self._review(token))

    def _end(self, review: asyncio.Task[Access]) -> None:
        self._turns.release()
        self._reviews.discard(review)
        if not review.cancelled():
            review.exception()  # its client may have gone

    def _cached(self, key: bytes) -> Access | None:
        return self._allowed.get(key) or self._refused.get(key)

    def _keep(self, key: bytes, access: Access) -> Access:
        (self._allowed if access.allowed else self._refused).put(key, access)
        return access

    async def _review(self, token: str) -> Access:
        found = await self._client.review(TOKEN_REVIEW, {"token": token})
        user = authenticated(found)
        if user is None:
            return NOT_AUTHENTICATED
        found = await self._client.review(SUBJECT_ACCESS_REVIEW, access_to(self._path, user))
        return Access(str(user.get("username", "")), allowed=found.get("allowed") is True)


def authenticated(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the user in the status of a TokenReview; None if the token is not valid."""
    user = status.get("user")
    return user if status.get("authenticated") is True and isinstance(user, dict) and user.get("username") else None


def access_to(path: str, user: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a SubjectAccessReview: whether a user may get a path."""
    fields = {"user": "username", "uid": "uid", "groups": "groups", "extra": "extra"}
    given = {field: user[name] for field, name in fields.items() if user.get(name)}
    return {**given, "nonResourceAttributes": {"path": path, "verb": "get"}}
