"""Kopf's HTTP session: it carries our token, and sees what Kopf keeps to itself: each opening and each bookmark.

Public names alone: a login handler may return a session of its own, and a session may have middlewares.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, cast

import aiohttp

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.api.errors import retry_after_seconds
from coxswain.kernel.api.transport import USER_AGENT
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from coxswain.settings import WatchSettings

_BOOKMARK = b'{"type":"BOOKMARK"'
_NOTHING = "metadata.name=NOTHING"
"""A field selector that no object matches, since names have no capitals."""


class Endless:
    """Seconds before each retry of a request, without end: at the end of them Kopf's operator would end too."""

    def __iter__(self) -> Iterator[float]:
        for delay in itertools.chain((1, 1, 2, 3), itertools.repeat(5)):
            # The watches lose their server together; they need not all come back in the same moment.
            yield delay * random.uniform(0.75, 1)  # noqa: S311


def session(
    connection: Connection,
    kinds: Sequence[Kind],
    scopes: Sequence[str | None],
    settings: WatchSettings,
    feed: EventSink,
) -> aiohttp.ClientSession:
    """Return a session that tells the feed how the watches fare."""
    collections = {kind.path(scope): (kind, scope) for kind in kinds for scope in scopes}
    listed: set[str] = set()
    pace = _Pace(settings.reopen_interval)

    async def middleware(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        path = "/" + request.url.path.removeprefix(base).lstrip("/")
        if path not in collections:
            return await _authorized(connection, request, send, lambda: None)
        scope = collections[path]
        watching = "watch" in request.url.query
        await pace.turn(path, watching=watching)
        if not watching:
            # Of this LIST Kopf needs the version that its watch begins at. The objects come with the sweep after it,
            # without a task and a memory of Kopf's for each.
            request.url = request.url.update_query(fieldSelector=_NOTHING)

        def failed() -> None:
            feed.alive(*scope, Activity.FAILED)

        try:
            response = await _authorized(connection, request, send, failed)
        except aiohttp.ClientError:
            # Not a mere time-out: that nothing comes back is what silence is.
            failed()
            raise
        if response.status != 200:
            pace.refused(path, response)
            failed()
        elif not watching:
            listed.add(path)
            feed.alive(*scope, Activity.LISTED)
        else:
            feed.alive(*scope, Activity.OPENED)
            if path in listed:
                listed.discard(path)
                feed.started_over(*scope)
            heard = _Overheard(response.content, lambda sign: feed.alive(*scope, sign))
            response.content = cast("aiohttp.StreamReader", heard)
        return response

    base = "/" + connection.host.partition("://")[2].partition("/")[2].rstrip("/")
    return connection.session(f"{USER_AGENT}-watch", (middleware,))


async def _authorized(
    connection: Connection,
    request: aiohttp.ClientRequest,
    send: aiohttp.ClientHandlerType,
    failed: Callable[[], None],
) -> aiohttp.ClientResponse:
    """Send a request with the present token, and again with the next one for as long as it is not accepted.

    Kopf would log in anew for each 401, at once and without end, and cut all other watches off each time.
    """
    delays = iter(Endless())
    while True:
        # The connection adds the present token to each try.
        response = await send(request)
        if response.status != 401:
            return response
        response.release()
        failed()
        connection.invalidate()
        await asyncio.sleep(next(delays))


class _Pace:
    """Delays each watch to one opening per interval, and all requests of a collection until a Retry-After has passed.

    Kopf reopens a closed watch at once. It obeys Retry-After, but its inactivity timeout ends that wait too, and the
    next attempt would come too early.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._next_opening: dict[str, float] = {}
        self._refused_until: dict[str, float] = {}

    async def turn(self, path: str, *, watching: bool) -> None:
        loop = asyncio.get_running_loop()
        earliest = self._refused_until.get(path, 0.0)
        if watching:
            earliest = max(earliest, self._next_opening.get(path, 0.0))
        if earliest > loop.time():
            await asyncio.sleep(earliest - loop.time())
        if watching:
            self._next_opening[path] = loop.time() + self._interval

    def refused(self, path: str, response: aiohttp.ClientResponse) -> None:
        seconds = retry_after_seconds(response.headers.get("Retry-After"))
        if response.status == 429 and seconds is not None:
            self._refused_until[path] = asyncio.get_running_loop().time() + seconds


class _Overheard:
    """The content of a watch's answer, as Kopf reads it, and a sign for each piece of it."""

    def __init__(self, content: aiohttp.StreamReader, tell: Callable[[Activity], None]) -> None:
        self._content = content
        self._tell = tell

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        async for chunk in self._content.iter_chunked(size):
            self._tell(Activity.BOOKMARK if _BOOKMARK in chunk else Activity.HEARD)
            yield chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)
