"""Supervision: Kopf in a thread and event loop of its own, started again whenever it ends.

When its operator ends Kopf cancels every task of its loop, and in the main thread it would take the signals. So it gets
a thread; the main loop owns signals, store, queue and HTTP.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence

from kubernetes.aio.client import Configuration

from coxswain.control.feed import Feed
from coxswain.control.watch import watch
from coxswain.kube.client import Client
from coxswain.kube.errors import RequestFailed
from coxswain.settings import WatchSettings

log = logging.getLogger(__name__)

_SOUND_SECONDS = 60.0
"""A run of Kopf that lasted so long is no failed start: the next one is not put off for it."""


class Supervisor:
    """Keeps Kopf running while every kind that it is to watch is served."""

    def __init__(
        self,
        client: Client,
        connect: Callable[[], Awaitable[Configuration]],
        scopes: Sequence[str | None],
        settings: WatchSettings,
        new_feed: Callable[[], Feed],
    ) -> None:
        """Ask discovery through `client`; `connect` and `new_feed` make a connection and a feed for each start."""
        self._client = client
        self._connect = connect
        self._scopes = scopes
        self._settings = settings
        self._new_feed = new_feed
        self._stop: Callable[[], None] | None = None
        self._stopping = asyncio.Event()
        self.obstacle: str | None = "the watches have not been started"
        """Why nothing is watched now, for readiness."""

    async def run(self) -> None:
        """Run until `stop` is called."""
        loop = asyncio.get_running_loop()
        delay = self._settings.restart_backoff
        while not self._stopping.is_set():
            await self._wait_for_discovery()
            if self._stopping.is_set():
                return
            self.obstacle = None
            started = loop.time()
            error = await self._watch()
            if self._stopping.is_set():
                return
            self.obstacle = f"the watches ended: {error or 'to be started over'}"
            if loop.time() - started > _SOUND_SECONDS or error is None:
                delay = self._settings.restart_backoff
            log.warning("%s; starting them again in %.0f s", self.obstacle, delay)
            await self._pause(delay)
            delay = min(delay * 2, self._settings.restart_backoff_limit)

    def restart(self) -> None:
        """End the present run of Kopf, so that a new one starts."""
        if self._stop is not None:
            self._stop()

    def stop(self) -> None:
        """End supervision, and Kopf with it."""
        self._stopping.set()
        self.restart()

    async def _wait_for_discovery(self) -> None:
        """Wait until every kind is served: Kopf never watches one that is missing when it starts, not even later."""
        delay = self._settings.restart_backoff
        while not self._stopping.is_set():
            try:
                missing = await self._client.missing_kinds()
            except RequestFailed as error:
                self.obstacle = f"discovery failed: {error}"
            else:
                if not missing:
                    return
                names = ", ".join(f"{kind.plural}.{kind.group}" for kind in missing)
                self.obstacle = f"the API server doesn't serve {names}: install the CRDs with kubectl apply -f crds/"
            log.warning("%s; asking again in %.0f s", self.obstacle, delay)
            await self._pause(delay)
            delay = min(delay * 2, self._settings.restart_backoff_limit)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _watch(self) -> BaseException | None:
        """Run Kopf once, in a thread; return what ended it, or None if it was told to end."""
        main = asyncio.get_running_loop()
        ended: asyncio.Future[BaseException | None] = main.create_future()
        feed = self._new_feed()

        async def body() -> None:
            stop = asyncio.Event()
            kopf_loop = asyncio.get_running_loop()

            def request_stop() -> None:
                # Kopf may have ended by itself a moment ago.
                if not kopf_loop.is_closed():
                    kopf_loop.call_soon_threadsafe(stop.set)

            self._stop = request_stop
            if self._stopping.is_set():
                return
            await watch(await self._connect(), self._scopes, self._settings, feed, stop)

        def thread() -> None:
            error: BaseException | None = None
            try:
                asyncio.run(body())
            # Whatever ends Kopf, CancelledError included, must end this run and not the operator.
            except BaseException as caught:  # noqa: BLE001
                error = caught
            if not main.is_closed():
                main.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(error))

        threading.Thread(target=thread, name="kopf", daemon=True).start()
        try:
            return await ended
        finally:
            self._stop = None
