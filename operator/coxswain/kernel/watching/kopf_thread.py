"""Kopf in a thread and event loop of its own.

When its operator ends Kopf cancels every task of its loop, and in the main thread it would take the signals. The main
loop owns signals, store, queue and HTTP.
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
    """Runs Kopf, once for each call of `run`."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        kinds: Sequence[Kind],
        scopes: Sequence[str | None],
        settings: WatchSettings,
    ) -> None:
        """Watch these kinds in these scopes; `connect` makes a connection for each run."""
        self._connect = connect
        self._kinds = kinds
        self._scopes = scopes
        self._settings = settings

    async def run(self, feed: EventSink, stop: asyncio.Event) -> None:
        """Run Kopf until `stop` is set.

        Raises:
            Exception: what ended Kopf.
        """
        main = asyncio.get_running_loop()
        ended: asyncio.Future[BaseException | None] = main.create_future()
        request = _StopRequest()

        async def body() -> None:
            await watch(
                await self._connect(), self._kinds, self._scopes, self._settings, feed=feed, stop=request.event()
            )

        def thread() -> None:
            error: BaseException | None = None
            try:
                event_loop.run(body())
            # Whatever ends Kopf must end this run and not the operator.
            except BaseException as caught:  # noqa: BLE001
                error = caught
            # The main loop may be closed, perhaps in this very moment.
            with contextlib.suppress(RuntimeError):
                main.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(error))

        threading.Thread(target=thread, name="kopf", daemon=True).start()
        stopping = asyncio.create_task(stop.wait(), name="stop of kopf")
        stopping.add_done_callback(lambda _: request.make())
        try:
            error = await ended
        finally:
            stopping.cancel()
        if isinstance(error, Exception):
            raise error
        if error is not None:  # such as CancelledError, which would look like the end of the task that waits here
            raise RuntimeError(f"Kopf ended with {error!r}") from error


class _StopRequest:
    """A request to stop that crosses from the main thread to Kopf's; it may be made before Kopf's loop runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made = False
        self._target: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def event(self) -> asyncio.Event:
        """Return the event that is set when the request is made; call it in Kopf's loop."""
        event = asyncio.Event()
        with self._lock:
            self._target = asyncio.get_running_loop(), event
            if self._made:
                event.set()
        return event

    def make(self) -> None:
        """Make the request, from the main thread."""
        with self._lock:
            self._made = True
            target = self._target
        if target is not None:
            # Kopf may have ended by itself a moment ago, or in this one.
            with contextlib.suppress(RuntimeError):
                target[0].call_soon_threadsafe(target[1].set)
