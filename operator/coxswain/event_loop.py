"""Event loops that end without waiting for threads, and event loops in threads of their own.

The executor of an event loop resolves host names in threads with getaddrinfo. This call cannot be interrupted and takes
up to 30 s with an unresponsive DNS server. asyncio.run would wait for it.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class _Executor(ThreadPoolExecutor):
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - part of the interface
        super().shutdown(wait=False, cancel_futures=True)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine like asyncio.run, but do not join the executor's threads at the end."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(body)


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for their ends. Their errors are dropped."""
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


async def run_in_thread(
    name: str, body: Callable[[asyncio.Event], Coroutine[Any, Any, None]], stop: asyncio.Event
) -> None:
    """Run a coroutine in a new thread with its own event loop, and wait for its end.

    Args:
        name: the name of the thread, for messages.
        body: returns the coroutine, for an event of its loop that is set after `stop`.
        stop: an event of the calling loop.

    Raises:
        Exception: the error that ended the coroutine.
    """
    main = asyncio.get_running_loop()
    ended: asyncio.Future[BaseException | None] = main.create_future()
    request = _StopRequest()

    async def stoppable() -> None:
        await body(request.event())

    def thread() -> None:
        error: BaseException | None = None
        try:
            run(stoppable())
        # Any error belongs to the caller, not to the thread.
        except BaseException as caught:  # noqa: BLE001
            error = caught
        # The main loop may already be closed.
        with contextlib.suppress(RuntimeError):
            main.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(error))

    threading.Thread(target=thread, name=name, daemon=True).start()
    stopping = asyncio.create_task(stop.wait(), name=f"stop {name}")
    stopping.add_done_callback(lambda _: request.make())
    try:
        error = await ended
    finally:
        stopping.cancel()
    if isinstance(error, Exception):
        raise error
    if error is not None:  # CancelledError would look like a cancellation of the awaiting task.
        raise RuntimeError(f"the thread {name} ended with {error!r}") from error


class _StopRequest:
    """Passes a stop request to the loop of another thread, even if that loop does not run yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made = False
        self._target: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def event(self) -> asyncio.Event:
        """Return the event for the stop request. Call this in the loop of the thread."""
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
            # The thread may have ended by itself, and its loop may be closed.
            with contextlib.suppress(RuntimeError):
                target[0].call_soon_threadsafe(target[1].set)


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Executor(thread_name_prefix="lookup"))
    return loop
