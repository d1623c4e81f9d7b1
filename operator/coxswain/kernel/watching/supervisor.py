"""Supervises the watches: restarts them with backoff when they end, or on request."""

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
"""Runs all watches until the event is set and delivers to the sink. Raises an exception if they end earlier."""

_SOUND_SECONDS = 60.0
"""Seconds after which a run of the watches counts as successful and resets the backoff."""


class Supervisor:
    """Keeps the watches running while the API server serves every watched kind."""

    def __init__(
        self,
        client: Client,
        kinds: Sequence[Kind],
        watches: Watches,
        settings: WatchSettings,
        new_sink: Callable[[], EventSink],
    ) -> None:
        """Supervise `watches`.

        Args:
            client: Queries discovery.
            kinds: Kinds that the API server must serve before the watches start.
            watches: Runs all watches once.
            settings: Backoff of restarts.
            new_sink: Returns a new sink for each run of the watches.
        """
        self._client = client
        self._kinds = kinds
        self._watches = watches
        self._settings = settings
        self._new_sink = new_sink
        self._run_stop: asyncio.Event | None = None
        self._stopping = asyncio.Event()
        self.obstacle: str | None = "the watches have not been started"
        """The reason why no watch runs, for the readiness probe. None if the watches run."""

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
            self.obstacle = f"the watches ended: {error or 'a restart was requested'}"
            if loop.time() - started > _SOUND_SECONDS or error is None:
                delay = self._settings.restart_backoff
            log.warning("%s; restarting them in %.0f s", self.obstacle, delay)
            await self._pause(delay)
            delay = min(delay * 2, self._settings.restart_backoff_limit)

    def restart(self) -> None:
        """Stop the current run of the watches. `run` then starts a new one."""
        if self._run_stop is not None:
            self._run_stop.set()

    def stop(self) -> None:
        """Stop the supervisor and the watches."""
        self._stopping.set()
        self.restart()

    async def _wait_for_discovery(self) -> None:
        """Wait until the API server serves every kind: Kopf never watches a kind that is missing at its start."""
        delay = self._settings.restart_backoff
        while not self._stopping.is_set():
            try:
                missing = await self._client.missing(self._kinds)
            # No error may end the operator, for example invalid output of a credentials plugin.
            except Exception as error:  # noqa: BLE001
                self.obstacle = f"discovery failed: {str(error) or repr(error)}"
            else:
                if not missing:
                    return
                names = ", ".join(f"{kind.plural}.{kind.group}" for kind in missing)
                self.obstacle = f"the API server doesn't serve {names}: install the CRDs with kubectl apply -f crds/"
            log.warning("%s; retrying in %.0f s", self.obstacle, delay)
            await self._pause(delay)
            delay = min(delay * 2, self._settings.restart_backoff_limit)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _watch(self) -> Exception | None:
        """Run the watches once. Return the error that ended them, or None after a restart or stop."""
        # Set this first, so that a restart ends this run even if it is requested before the watches run.
        self._run_stop = asyncio.Event()
        try:
            await self._watches(self._new_sink(), self._run_stop)
        # An error in the watches must end only this run, not the operator.
        except Exception as error:  # noqa: BLE001
            return error
        finally:
            self._run_stop = None
        return None
