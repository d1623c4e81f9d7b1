"""HTTP session for Kopf: adds the token to requests and reports watch activity, including bookmarks.

Kopf watches whole objects; the session asks for metadata in watches of metadata-only kinds. Kopf does not pass
bookmarks to handlers. This module uses only public API: a login handler may return its own session, and an aiohttp
session may have middlewares.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

import aiohttp
import yarl

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.api.errors import retry_after_seconds
from coxswain.kernel.api.transport import USER_AGENT
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.tolerant_json import parsable
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from coxswain.metrics import RequestMetrics
from coxswain.settings import WatchSettings

_BOOKMARK = b'{"type":"BOOKMARK"'
_NOTHING = "metadata.name=NOTHING"
"""A field selector without matches: object names have no capital letters."""


class EndlessBackoff:
    """Yields the seconds before each retry of a request. It never ends, because Kopf's operator would end with it."""

    def __iter__(self) -> Iterator[float]:
        for delay in itertools.chain((1, 1, 2, 3), itertools.repeat(5)):
            # All watches lose the API server at once. Jitter spreads their reconnections.
            yield delay * random.uniform(0.75, 1)  # noqa: S311 - jitter


def session(
    connection: Connection,
    kinds: Sequence[Kind],
    scopes: Sequence[str | None],
    settings: WatchSettings,
    sink: EventSink,
) -> aiohttp.ClientSession:
    """Return a session that reports the activity of all watches to `sink`."""
    collections = {kind.path(scope): (kind, scope) for kind in kinds for scope in scopes}
    listed: set[str] = set()
    pace, metrics = _Pace(settings.reopen_interval), RequestMetrics(connection.host)

    async def middleware(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        path = "/" + request.url.path.removeprefix(base).lstrip("/")
        if path not in collections:
            return await _authorized(connection, request, send, lambda: None, metrics)
        kind, namespace = collections[path]
        watching = "watch" in request.url.query
        await pace.turn(path, watching=watching)
        _narrow(request, kind, watching=watching)

        def report(activity: Activity) -> None:
            sink.watch_activity(kind, namespace, activity)

        def failed() -> None:
            report(Activity.FAILED)

        try:
            response = await pace.answer(path, _authorized(connection, request, send, failed, metrics))
            await _require_readable(response, watching=watching)
        except aiohttp.ClientError as error:
            # TimeoutError is not caught: an unanswered request counts as silence.
            failed()
            if isinstance(error, aiohttp.ClientConnectionError):
                raise
            # Kopf repeats a request after this error, and ends after others.
            raise aiohttp.ClientConnectionError(str(error)) from error
        if response.status != 200:
            failed()
        elif not watching:
            listed.add(path)
            report(Activity.LISTED)
        else:
            report(Activity.OPENED)
            if path in listed:
                listed.discard(path)
                sink.watch_started(kind, namespace)
            response.content = cast("aiohttp.StreamReader", _ObservedStream(response.content, report))
        return response

    # In the same form as the path of a request: decoded.
    base = yarl.URL(connection.host).path.rstrip("/")
    return connection.session(f"{USER_AGENT}-watch", (middleware,))


async def _require_readable(response: aiohttp.ClientResponse, *, watching: bool) -> None:
    """Read the response to a request, but not the stream of a watch.

    Kopf repeats a request after 403, 429 and 5xx. But it ends, and with it all watches, if it cannot read the body or
    the Retry-After of such a response. A proxy may send a page in any encoding, and a date.

    Raises:
        ClientError: it has such a status, or is not a list, or ends too early.
    """
    if response.status in (403, 429) or response.status >= 500:
        text = (await response.read())[:500].decode(errors="replace")
        raise aiohttp.ClientConnectionError(f"{response.status} {response.reason}: {text}")
    if response.status == 200 and not watching:
        try:
            _ = (await response.json())["metadata"]["resourceVersion"]
        except (KeyError, TypeError, ValueError) as error:
            raise aiohttp.ClientPayloadError(f"the response is not a list: {error!r}") from error


def _narrow(request: aiohttp.ClientRequest, kind: Kind, *, watching: bool) -> None:
    """Ask for no more than the operator needs.

    Kopf needs only the resourceVersion of its LIST. The relist brings the objects, without the task and the memory that
    Kopf would allocate for each of them (docs/decisions/0023). So the LIST is empty. Of a metadata-only kind the LIST
    still asks for whole objects: Kopf fails on an empty list of metadata, because its items are null.
    """
    selector = _NOTHING
    if watching:
        request.headers["Accept"] = kind.accept(watching=True)
        selector = kind.field_selector
    if selector:
        request.url = request.url.update_query(fieldSelector=selector)


async def _authorized(
    connection: Connection,
    request: aiohttp.ClientRequest,
    send: aiohttp.ClientHandlerType,
    failed: Callable[[], None],
    metrics: RequestMetrics,
) -> aiohttp.ClientResponse:
    """Send a request with the current token and retry with a refreshed token after each 401.

    Without this, Kopf logs in again after each 401, immediately and without limit, and closes all other watches each
    time. `failed` is called after each 401.
    """
    delays = iter(EndlessBackoff())
    while True:
        # The connection adds the current token to each attempt.
        response = await _counted(metrics, request, send)
        if response.status != 401:
            return response
        response.release()
        failed()
        connection.invalidate()
        await asyncio.sleep(next(delays))


async def _counted(
    metrics: RequestMetrics, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send a request and count it. Its duration is not recorded, as in client-go: a watch lasts for minutes."""
    with metrics.request(request.method, timed=False) as answered:
        response = await send(request)
        answered(response.status)
    return response


class _Pace:
    """Delays each watch to one opening per interval, and all requests of a collection until a Retry-After has passed.

    Kopf reopens a closed watch at once. It obeys Retry-After, but its inactivity timeout ends that wait too, and the
    next attempt would come too early.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._next_opening: dict[str, float] = {}
        self._refused: dict[str, tuple[float, float]] = {}

    async def turn(self, path: str, *, watching: bool) -> None:
        loop = asyncio.get_running_loop()
        earliest, _ = self._refused.get(path, (0.0, 0.0))
        if watching:
            earliest = max(earliest, self._next_opening.get(path, 0.0))
        if earliest > loop.time():
            await asyncio.sleep(earliest - loop.time())
        if watching:
            self._next_opening[path] = loop.time() + self._interval

    async def answer(self, path: str, sent: Awaitable[aiohttp.ClientResponse]) -> aiohttp.ClientResponse:
        """Return the response to a request.

        A request that Kopf gives up counts as refused like the previous one: its 429 may have been on the way.
        """
        try:
            response = await sent
        except asyncio.CancelledError:
            if path in self._refused:
                self._refuse(path, self._refused[path][1])
            raise
        seconds = retry_after_seconds(response.headers.get("Retry-After"))
        if response.status == 429 and seconds is not None:
            self._refuse(path, seconds)
        else:
            self._refused.pop(path, None)
        return response

    def _refuse(self, path: str, seconds: float) -> None:
        self._refused[path] = (asyncio.get_running_loop().time() + seconds, seconds)


class _ObservedStream:
    """The response stream of a watch. Reports activity for each chunk that Kopf reads.

    Each line is made parsable, because an error of Kopf's JSON parser ends all watches.
    """

    def __init__(self, content: aiohttp.StreamReader, report: Callable[[Activity], None]) -> None:
        self._content = content
        self._report = report

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._content.iter_chunked(size):
            self._report(Activity.BOOKMARK if _BOOKMARK in chunk else Activity.RECEIVED)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield parsable(line) + b"\n"
        # Each event ends with a newline. A rest is half an event: the next watch begins before it.

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)
