"""The watches: Kopf lists and streams; this hands over what it brings, and that a watch has started over.

Nothing is decided here. Kopf runs in a thread and an event loop of its own (supervise.py): what a `Feed` does, it does
in that thread.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import aiohttp
import kopf
from kubernetes.aio.client import Configuration

from coxswain.kube.client import USER_AGENT
from coxswain.kube.connection import authorization, tls
from coxswain.kube.kinds import KINDS, Kind
from coxswain.settings import WatchSettings

log = logging.getLogger(__name__)


_CANCEL_SECONDS = 0.5


class Feed(Protocol):
    """Takes what the watches bring; unable to fail, since Kopf drops the exceptions of such handlers."""

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        """Take an object: `change` is ADDED, MODIFIED, DELETED, or None for one that Kopf's LIST found."""

    def started_over(self, kind: Kind, namespace: str | None) -> None:
        """Take that a watch now runs from a new LIST: what vanished before that, no event will tell."""


async def watch(
    connection: Configuration, scopes: Sequence[str | None], settings: WatchSettings, feed: Feed, stop: asyncio.Event
) -> None:
    """Run Kopf until `stop` is set.

    Raises:
        Exception: Kopf ended by itself: an ERROR event, HTTP 410 or 404, or broken JSON on a watch.
    """
    # When Kopf ends, each of its tasks that failed complains; what ended it is raised from here.
    asyncio.get_running_loop().set_exception_handler(lambda _, context: log.debug("Kopf: %s", context["message"]))
    registry = kopf.OperatorRegistry()
    for kind in KINDS:
        _register(registry, kind, feed)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server=connection.host, aiohttp_session=_session(connection, scopes, feed))

    operator = asyncio.current_task()

    @kopf.on.cleanup(registry=registry)
    async def clean_up(**_: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(_CANCEL_SECONDS, _cancel_until_all_end, loop, operator)

    namespaces = [scope for scope in scopes if scope is not None]
    await kopf.operator(
        registry=registry,
        settings=_kopf_settings(settings),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=namespaces,
        stop_flag=stop,
    )


def _cancel_until_all_end(loop: asyncio.AbstractEventLoop, operator: asyncio.Task[Any] | None) -> None:
    """Cancel all tasks of Kopf's loop but the one that runs its operator, again and again until that one ends.

    Kopf cancels its watchers once, and one that is about to log in again lets that pass: its operator would wait for it
    for ever (seen with 1.45.2 when the CRD of one of several watches was deleted).
    """
    for task in asyncio.all_tasks(loop) - {operator}:
        task.cancel()
    loop.call_later(_CANCEL_SECONDS, _cancel_until_all_end, loop, operator)


def _register(registry: kopf.OperatorRegistry, kind: Kind, feed: Feed) -> None:
    # on.event needs neither a finalizer nor an annotation, and `async def` saves a thread for each event.
    @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural)
    async def deliver(event: kopf.RawEvent, **_: Any) -> None:
        feed.event(kind, event["type"], event["object"])


class _Endless:
    """Seconds before each retry of a request, without end: at the end of them Kopf's operator would end too."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((1, 1, 2, 3, 5, 8, 13, 21), itertools.repeat(30))


def _kopf_settings(settings: WatchSettings) -> kopf.OperatorSettings:
    made = kopf.OperatorSettings()
    made.posting.enabled = False
    # Neither CRDs nor namespaces may be read: supervision asks discovery instead.
    made.scanning.disabled = True
    # Its default kills the process.
    made.process.ultimate_exiting_timeout = None
    made.networking.error_backoffs = _Endless()
    made.networking.connect_timeout = settings.connect_timeout
    made.networking.request_timeout = settings.list_timeout
    made.watching.connect_timeout = settings.connect_timeout
    made.watching.server_timeout = settings.server_timeout
    made.watching.inactivity_timeout = settings.inactivity_timeout
    made.watching.chunk_size = settings.page_size
    for kind in KINDS:
        if kind.label_selector:
            made.watching.label_selectors[kind.group, kind.version, kind.plural] = kind.label_selector
    return made


def _session(connection: Configuration, scopes: Sequence[str | None], feed: Feed) -> aiohttp.ClientSession:
    collections = {kind.path(scope): (kind, scope) for kind in KINDS for scope in scopes}
    listed: set[str] = set()

    async def middleware(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        # Asked for each request: a token of a ServiceAccount is rotated while the session lives.
        token = await authorization(connection)
        if token is not None:
            request.headers["Authorization"] = token
        response = await send(request)
        path = "/" + request.url.path.removeprefix(base).lstrip("/")
        if response.status == 200 and path in collections:
            if "watch" not in request.url.query:
                listed.add(path)
            elif path in listed:
                listed.discard(path)
                feed.started_over(*collections[path])
        return response

    base = "/" + connection.host.partition("://")[2].partition("/")[2].rstrip("/")
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls(connection)),
        headers={"User-Agent": f"{USER_AGENT}-watch"},
        middlewares=(middleware,),
        proxy=connection.proxy,
        trust_env=False,
        # A line of a watch is a whole object.
        read_bufsize=2**20,
    )
