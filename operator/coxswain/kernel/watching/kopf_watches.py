"""The watches: Kopf lists and streams; this hands over what it brings, and that a watch has started over.

Nothing is decided here. Kopf runs in a thread and an event loop of its own (supervise.py): what a `Feed` does, it does
in that thread.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import kopf

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.kernel.watching.session import Endless, session
from coxswain.settings import WatchSettings

log = logging.getLogger(__name__)

_CANCEL_SECONDS = 0.5
_IDLE_SECONDS = 1.0
"""How long Kopf keeps a task for each object that it has heard of: a LIST brings tens of thousands."""


class _NoEssence(kopf.DiffBaseStorage):
    """Remembers nothing of an object: what Kopf would compare for handlers of changes, of which there are none.

    It would copy the whole object to build it, at every event.
    """

    def build(
        self,
        *,
        body: kopf.Body,  # noqa: ARG002
        extra_fields: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        pass


async def watch(
    connection: Connection,
    kinds: Sequence[Kind],
    scopes: Sequence[str | None],
    settings: WatchSettings,
    *,
    feed: EventSink,
    stop: asyncio.Event,
) -> None:
    """Run Kopf until `stop` is set.

    Raises:
        Exception: Kopf ended by itself: an ERROR event, HTTP 410 or 404, or broken JSON on a watch.
    """
    # When Kopf ends, each of its tasks that failed complains; what ended it is raised from here.
    asyncio.get_running_loop().set_exception_handler(lambda _, context: log.debug("Kopf: %s", context["message"]))
    registry = kopf.OperatorRegistry()
    for kind in kinds:
        _register(registry, kind, feed)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(
            server=connection.host, aiohttp_session=session(connection, kinds, scopes, settings, feed)
        )

    operator = asyncio.current_task()

    @kopf.on.cleanup(registry=registry)
    async def clean_up(**_: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(_CANCEL_SECONDS, _cancel_until_all_end, loop, operator)

    namespaces = [scope for scope in scopes if scope is not None]
    await kopf.operator(
        registry=registry,
        settings=_kopf_settings(settings, kinds),
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


def _register(registry: kopf.OperatorRegistry, kind: Kind, feed: EventSink) -> None:
    # on.event needs neither a finalizer nor an annotation, and `async def` saves a thread for each event.
    @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural)
    async def deliver(event: kopf.RawEvent, **_: Any) -> None:
        feed.event(kind, event["type"], event["object"])


def _kopf_settings(settings: WatchSettings, kinds: Sequence[Kind]) -> kopf.OperatorSettings:
    made = kopf.OperatorSettings()
    made.posting.enabled = False
    made.persistence.diffbase_storage = _NoEssence()
    made.queueing.idle_timeout = _IDLE_SECONDS
    # Neither CRDs nor namespaces may be read: supervision asks discovery instead.
    made.scanning.disabled = True
    # Its default kills the process.
    made.process.ultimate_exiting_timeout = None
    made.networking.error_backoffs = Endless()
    made.networking.connect_timeout = settings.connect_timeout
    made.networking.request_timeout = settings.list_timeout
    made.watching.connect_timeout = settings.connect_timeout
    made.watching.server_timeout = settings.server_timeout
    made.watching.inactivity_timeout = settings.inactivity_timeout
    made.watching.chunk_size = settings.page_size
    for kind in kinds:
        if kind.label_selector:
            made.watching.label_selectors[kind.group, kind.version, kind.plural] = kind.label_selector
    return made
