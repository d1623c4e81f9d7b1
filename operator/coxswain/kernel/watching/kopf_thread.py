"""Runs Kopf in a separate thread with its own event loop.

Kopf cancels every task of its event loop when its operator ends, and in the main thread it installs signal handlers.
The main loop therefore stays separate: it owns signals, store, workqueue and HTTP requests.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from coxswain import event_loop
from coxswain.kernel.api.connection import Connection
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.kernel.watching.kopf_watches import watch
from coxswain.settings import WatchSettings


class KopfThread:
    """Runs Kopf in a new thread for each call of `run`."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        scopes: Sequence[str | None],
        settings: WatchSettings,
    ) -> None:
        """Watch in `scopes`: namespaces, or None for the cluster.

        `connect` returns a new connection for each run.
        """
        self._connect = connect
        self._scopes = scopes
        self._settings = settings

    async def run(self, kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        """Watch `kinds` with Kopf until `stop` is set.

        Metadata-only kinds have a Kopf of their own: Kopf has one watch for each resource, and the ConfigMaps of a
        workload are watched as a whole besides. If one Kopf ends, so does the other.

        Raises:
            Exception: Kopf ended by itself with this error.
        """
        whole = [kind for kind in kinds if not kind.metadata_only]
        metadata = [kind for kind in kinds if kind.metadata_only]
        if not metadata:
            await self._run(whole, sink, stop)
            return
        ending = asyncio.Event()

        async def run(group: Sequence[Kind]) -> None:
            try:
                await self._run(group, sink, ending)
            finally:
                ending.set()

        async def pass_on() -> None:
            await stop.wait()
            ending.set()

        passing = asyncio.create_task(pass_on(), name="stop every Kopf")
        try:
            ended = await asyncio.gather(run(whole), run(metadata), return_exceptions=True)
        finally:
            passing.cancel()
        for error in ended:
            if error is not None:
                raise error

    async def _run(self, kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        async def body(stop: asyncio.Event) -> None:
            await watch(await self._connect(), kinds, self._scopes, self._settings, sink=sink, stop=stop)

        await event_loop.run_in_thread("kopf", body, stop)
