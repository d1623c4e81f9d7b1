"""Supervision: the watches are started again whenever they end, and ended when they are to start anew."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from coxswain.kernel.api.client import Client
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.settings import WatchSettings

log = logging.getLogger(__name__)

Watches = Callable[[EventSink, asyncio.Event], Awaitable[None]]
"""Runs all watches until the event is set, handing over to the feed; raises what ended them before that."""

_SOUND_SECONDS = 60.0
"""A run of the watches that lasted so long is no failed start: the next one is not put off for it."""


class Supervisor:
    """Keeps the watches running while every kind that is to be watched is served."""

    def __init__(
        self,
        client: Client,
        kinds: Sequence[Kind],
        watches: Watches,
        settings: WatchSettings,
        new_feed: Callable[[], EventSink],
    ) -> None:
        """Ask discovery through `client` for these kinds; start `watches` with a feed of its own each time."""
        self._client = client
        self._kinds = kinds
        self._watches = watches
        self._settings = settings
        self._new_feed = new_feed
        self._run_stop: asyncio.Event | None = None
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
        """End the present run of the watches, so that a new one starts."""
        if self._run_stop is not None:
            self._run_stop.set()

    def stop(self) -> None:
        """End supervision, and the watches with it."""
        self._stopping.set()
        self.restart()

    async def _wait_for_discovery(self) -> None:
        """Wait until every kind is served: Kopf never watches one that is missing when it starts, not even later."""
        delay = self._settings.restart_backoff
        while not self._stopping.is_set():
            try:
                missing = await self._client.missing(self._kinds)
            # Whatever it is, such as a credentials plugin that prints nonsense, must not end the operator.
            except Exception as error:  # noqa: BLE001
                self.obstacle = f"discovery failed: {str(error) or repr(error)}"
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

    async def _watch(self) -> Exception | None:
        """Run the watches once; return what ended them, or None if they were told to end."""
        # Before anything else: a restart that is asked for from here on ends this run, however early it comes.
        self._run_stop = asyncio.Event()
        try:
            await self._watches(self._new_feed(), self._run_stop)
        # Whatever ends the watches must end this run and not the operator.
        except Exception as error:  # noqa: BLE001
            return error
        finally:
            self._run_stop = None
        return None
