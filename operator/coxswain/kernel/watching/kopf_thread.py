"""Runs Kopf in a separate thread with its own event loop.

Kopf cancels every task of its event loop when its operator ends, and in the main thread it installs signal handlers.
The main loop therefore stays separate: it owns signals, store, workqueue and HTTP requests.
"""

import asyncio
import contextlib
import threading
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
        kinds: Sequence[Kind],
        scopes: Sequence[str | None],
        settings: WatchSettings,
    ) -> None:
        """Watch `kinds` in `scopes`: namespaces, or None for the cluster.

        `connect` returns a new connection for each run.
        """
        self._connect = connect
        self._kinds = kinds
        self._scopes = scopes
        self._settings = settings

    async def run(self, sink: EventSink, stop: asyncio.Event) -> None:
        """Run Kopf until `stop` is set.

        Raises:
            Exception: Kopf ended by itself with this error.
        """
        main = asyncio.get_running_loop()
        ended: asyncio.Future[BaseException | None] = main.create_future()
        request = _StopRequest()

        async def body() -> None:
            await watch(
                await self._connect(), self._kinds, self._scopes, self._settings, sink=sink, stop=request.event()
            )

        def thread() -> None:
            error: BaseException | None = None
            try:
                event_loop.run(body())
            # An error in Kopf must end only this run, not the operator.
            except BaseException as caught:  # noqa: BLE001
                error = caught
            # The main loop may already be closed.
            with contextlib.suppress(RuntimeError):
                main.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(error))

        threading.Thread(target=thread, name="kopf", daemon=True).start()
        stopping = asyncio.create_task(stop.wait(), name="stop kopf")
        stopping.add_done_callback(lambda _: request.make())
        try:
            error = await ended
        finally:
            stopping.cancel()
        if isinstance(error, Exception):
            raise error
        if error is not None:  # CancelledError would look like a cancellation of the awaiting task.
            raise RuntimeError(f"Kopf ended with {error!r}") from error


class _StopRequest:
    """Passes a stop request from the main thread to Kopf's thread, even if Kopf's loop does not run yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made = False
        self._target: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def event(self) -> asyncio.Event:
        """Return the event for the stop request. Call this in Kopf's loop."""
        event = asyncio.Event()
        with self._lock:
            self._target = asyncio.get_running_loop(), event
            if self._made:
                event.set()
        return event

    def make(self) -> None:
        """Request the stop. Call this in the main thread."""
        with self._lock:
            self._made = True
            target = self._target
        if target is not None:
            # Kopf may have ended by itself, and its loop may be closed.
            with contextlib.suppress(RuntimeError):
                target[0].call_soon_threadsafe(target[1].set)
