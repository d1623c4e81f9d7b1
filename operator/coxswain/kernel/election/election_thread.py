"""The thread of an election. A blocked main loop neither loses a Lease nor extends its own right to write."""

import asyncio
import os
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

RunInThread = Callable[
    [str, Callable[[asyncio.Event], Coroutine[Any, Any, None]], asyncio.Event], Coroutine[Any, Any, None]
]
"""The type of `event_loop.run_in_thread`."""

_HUNG_SECONDS = 30.0
"""Seconds without a request or a pause until the thread counts as hung. Reading the credentials may take 20 s, and a
request 5 s."""

_SHORTEST_END = 1.0
"""Seconds for the release after a drain that used its whole time. Usually some milliseconds are enough."""


def new_identity() -> str:
    """Return the name of the pod and a random part, new in each process."""
    return f"{os.uname().nodename}_{uuid.uuid4()}"


class ElectionThread:
    """Runs a coroutine in a thread with a loop of its own, until it is stopped."""

    def __init__(self, run: RunInThread, clock: Callable[[], float]) -> None:
        """Prepare a thread. `run` starts it, as `event_loop.run_in_thread`; `clock` returns monotonic seconds."""
        self._run = run
        self._clock = clock
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._begun = self._clock()
        self._ending: float | None = None

    @property
    def running(self) -> bool:
        """Whether the thread has been started and has not ended."""
        return self._task is not None and not self._task.done()

    def start(self, compete: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> None:
        """Run `compete` in the thread. Its argument is an event of the thread that is set by `end`."""
        self._begun = self._clock()
        running = self._run("leader election", compete, self._stop)
        self._task = asyncio.create_task(running, name="leader election")

    async def ended(self) -> None:
        """Wait for the end of the thread.

        Raises:
            Exception: the error that ended it.
        """
        if self._task is not None:
            await asyncio.shield(self._task)

    def ending(self) -> None:
        """Called when the process ends: the seconds of `end` count from now."""
        self._ending = self._clock()

    async def end(self, seconds: float) -> None:
        """Stop the thread, and wait for its end. Its errors are raised by `ended`.

        A drain since `ending` shortens the wait, but not below a second.
        """
        self._stop.set()
        if self._task is not None:
            drained = 0.0 if self._ending is None else self._clock() - self._ending
            await asyncio.wait([self._task], timeout=max(seconds - drained, _SHORTEST_END))
            if not self._task.cancel() and not self._task.cancelled():
                self._task.exception()

    def dead(self, heartbeat: float | None) -> list[str]:
        """Return that the thread is hung, as one line; empty while it is alive.

        `heartbeat` is None before the first one.
        """
        silence = self._clock() - (self._begun if heartbeat is None else heartbeat)
        return [f"leader election: hung for {silence:.0f} s"] if silence > _HUNG_SECONDS else []


async def until_stopped(competing: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
    """Run a coroutine until `stop` is set, and raise its errors. Call this in the thread."""
    running, stopped = asyncio.create_task(competing), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([running, stopped], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    finally:
        stopped.cancel()
