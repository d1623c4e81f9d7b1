"""Runs Kopf's operator and passes its events to an `EventSink`.

This module contains no reconcile logic. Kopf runs in its own thread and event loop (kopf_thread.py), so the sink is
called in that thread.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import kopf

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.kernel.watching.session import EndlessBackoff, session
from coxswain.settings import WatchSettings

log = logging.getLogger(__name__)

_CANCEL_SECONDS = 0.5
_IDLE_SECONDS = 1.0
"""Seconds for which Kopf keeps its task for an object: a LIST of a large cluster creates tens of thousands."""


class _NoEssence(kopf.DiffBaseStorage):
    """Diff-base storage that stores nothing.

    Kopf needs the diff base only for change handlers, and this operator has none. The default storage copies the whole
    object at every event.
    """

    def build(
        self,
        *,
        body: kopf.Body,  # noqa: ARG002 - part of the interface
        extra_fields: Iterable[Any] | None = None,  # noqa: ARG002 - part of the interface
    ) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - part of the interface
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        pass


async def watch(
    connection: Connection,
    kinds: Sequence[Kind],
    scopes: Sequence[str | None],
    settings: WatchSettings,
    *,
    sink: EventSink,
    stop: asyncio.Event,
) -> None:
    """Run Kopf until `stop` is set.

    Raises:
        Exception: Kopf ended by itself, for example after an ERROR event, HTTP 404 or 410, or invalid JSON in a watch.
    """
    # Each failed task of Kopf reports its error when Kopf ends. This function raises the decisive one.
    asyncio.get_running_loop().set_exception_handler(lambda _, context: log.debug("Kopf: %s", context["message"]))
    registry = kopf.OperatorRegistry()
    for kind in kinds:
        _register(registry, kind, sink)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(
            server=connection.host, aiohttp_session=session(connection, kinds, scopes, settings, sink)
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
    """Repeatedly cancel all tasks of Kopf's loop except its operator, until the operator ends.

    Kopf cancels its watchers only once. A watcher can ignore this while it logs in again, and the operator then waits
    for it indefinitely (seen with 1.45.2 when the CRD of one of several watches was deleted).
    """
    for task in asyncio.all_tasks(loop) - {operator}:
        task.cancel()
    loop.call_later(_CANCEL_SECONDS, _cancel_until_all_end, loop, operator)


def _register(registry: kopf.OperatorRegistry, kind: Kind, sink: EventSink) -> None:
    # on.event adds neither finalizers nor annotations. A handler with `async def` needs no thread for each event.
    @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural)
    async def deliver(event: kopf.RawEvent, **_: Any) -> None:
        sink.event(kind, event["type"], event["object"])


def _kopf_settings(settings: WatchSettings, kinds: Sequence[Kind]) -> kopf.OperatorSettings:
    made = kopf.OperatorSettings()
    made.posting.enabled = False
    made.persistence.diffbase_storage = _NoEssence()
    made.queueing.idle_timeout = _IDLE_SECONDS
    # RBAC does not grant reading CRDs or namespaces. The supervisor uses discovery instead.
    made.scanning.disabled = True
    # By default Kopf kills the process if its own shutdown takes too long.
    made.process.ultimate_exiting_timeout = None
    made.networking.error_backoffs = EndlessBackoff()
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
