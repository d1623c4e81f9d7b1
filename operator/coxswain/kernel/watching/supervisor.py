"""Supervises the watches: restarts them with backoff when they end, or on request."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from coxswain.kernel.api.client import Client
from coxswain.kernel.objects.commands import APPLY_CRDS
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.metrics import watches_restarted
from coxswain.settings import WatchSettings

log = logging.getLogger(__name__)

Watches = Callable[[Sequence[Kind], EventSink, asyncio.Event], Awaitable[None]]
"""Runs the watches of all kinds until the event is set and delivers to the sink. Raises an exception if they end
earlier."""

_SOUND_SECONDS = 60.0
"""Seconds after which a run of the watches counts as successful and resets the backoff."""


class Supervisor:
    """Keeps the watches running while the API server serves every watched kind that is not optional."""

    def __init__(
        self,
        client: Client,
        kinds: Kinds,
        watches: Watches,
        settings: WatchSettings,
        new_sink: Callable[[Sequence[Kind]], EventSink],
        *,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Supervise `watches`.

        Args:
            client: Queries discovery.
            kinds: Kinds to watch. The API server must serve those that are not optional before the watches start.
            watches: Runs all watches once.
            settings: Backoff of restarts, interval of discovery.
            new_sink: Returns a new sink for each run of the watches, given the served kinds.
            ended: Called when a run of the watches has ended, before the discovery for the next run.
        """
        self._client = client
        self._kinds = kinds
        self._watches = watches
        self._settings = settings
        self._new_sink = new_sink
        self._ended = ended
        self._run_stop: asyncio.Event | None = None
        self._stopping = asyncio.Event()
        self.obstacle: str | None = "the watches have not been started"
        """The reason why no watch runs, for the readiness probe. None if the watches run."""

    async def run(self) -> None:
        """Run until `stop` is called."""
        loop = asyncio.get_running_loop()
        delay = self._settings.restart_backoff
        while not self._stopping.is_set():
            kinds = await self._wait_for_discovery()
            if self._stopping.is_set():
                return
            self.obstacle = None
            started = loop.time()
            error = await self._watch(kinds)
            if self._stopping.is_set():
                return
            self.obstacle = f"the watches ended: {error or 'a restart was requested'}"
            self._ended()
            if loop.time() - started > _SOUND_SECONDS or error is None:
                delay = self._settings.restart_backoff
            watches_restarted()
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

    async def _wait_for_discovery(self) -> Sequence[Kind]:
        """Wait until the API server serves every kind that is not optional, and return the served kinds.

        Kopf never watches a kind that is missing at its start.
        """
        delay = self._settings.restart_backoff
        while not self._stopping.is_set():
            try:
                missing = await self._client.missing(self._kinds.watched)
            # No error may end the operator, for example invalid output of a credentials plugin.
            except Exception as error:  # noqa: BLE001
                self.obstacle = f"discovery failed: {str(error) or repr(error)}"
            else:
                needed = [kind for kind in missing if kind not in self._kinds.optional]
                if not needed:
                    return [kind for kind in self._kinds.watched if kind not in missing]
                names = _names(needed)
                self.obstacle = f"the API server does not serve {names}. Install the CRDs, {APPLY_CRDS}"
            log.warning("%s; retrying in %.0f s", self.obstacle, delay)
            await self._pause(delay)
            delay = min(delay * 2, self._settings.restart_backoff_limit)
        return ()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _watch(self, kinds: Sequence[Kind]) -> Exception | None:
        """Run the watches once. Return the error that ended them, or None after a restart or stop."""
        absent = [kind for kind in self._kinds.optional if kind not in kinds]
        discovery = asyncio.create_task(self._restart_when_served(absent), name="discovery of optional kinds")
        # Set this first, so that a restart ends this run even if it is requested before the watches run.
        self._run_stop = asyncio.Event()
        try:
            await self._watches(kinds, self._new_sink(kinds), self._run_stop)
        # An error in the watches must end only this run, not the operator.
        except Exception as error:  # noqa: BLE001
            return error
        finally:
            discovery.cancel()
            self._run_stop = None
        return None

    async def _restart_when_served(self, absent: Sequence[Kind]) -> None:
        """Restart the watches when the API server serves one of the `absent` kinds.

        A kind that goes needs no discovery: its watch answers 404, which ends all watches.
        """
        if absent:
            log.info("not watched, because the API server does not serve them: %s", _names(absent))
        while absent:
            await asyncio.sleep(self._settings.discovery_interval)
            try:
                missing = await self._client.missing(absent)
            # No error may end the operator. The next attempt follows anyway.
            except Exception as error:  # noqa: BLE001
                log.debug("discovery of optional kinds failed: %s", error)
                continue
            served = [kind for kind in absent if kind not in missing]
            if served:
                log.info("the API server now serves %s", _names(served))
                self.restart()
                return


def _names(kinds: Sequence[Kind]) -> str:
    return ", ".join(f"{kind.plural}.{kind.group}" for kind in kinds)
