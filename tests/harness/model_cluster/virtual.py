"""An asyncio event loop in virtual time: it never waits, and a seed decides the order in which tasks wake up.

The clock moves only if no callback is ready, and then to the next timer. Callbacks run in the order of `call_soon`, as
asyncio guarantees. A task's step may be deferred by a few rounds, because asyncio does not guarantee when a task runs.
"""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from model_cluster.chance import Chance

_T = TypeVar("_T")

_MOST_ROUNDS = 8_000
_MOMENT = 0.01
"""Seconds: `_MOST_ROUNDS` rounds of callbacks within this time mean a busy loop, also one of the shortest timers."""


GROUP: contextvars.ContextVar[int] = contextvars.ContextVar("group", default=0)
"""The group of tasks created from here on; tasks of one operator process have the same group and die together."""


_TICK = 1e-6
"""The minimum seconds of a timer: a delay below the precision of a float would end before it began."""


class Deadlock(Exception):
    """No callback is ready and no timer is set, so nothing can ever happen again."""


class Spinning(Exception):
    """Callbacks follow each other endlessly while the clock hardly moves."""


class SimulatedTask(asyncio.Task[Any]):
    """A task with its number as its hash, so that sets of tasks have the same order in each process."""

    _numbers = itertools.count()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._number = next(self._numbers)
        super().__init__(*arguments, **options)
        self.group = GROUP.get()
        self.created = self.get_loop().time()
        """The creation time of the task, in virtual seconds."""

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class _Timer(asyncio.TimerHandle):
    """A timer: timers of the same moment fire in the order of creation, as with a real clock."""

    _numbers = itertools.count()
    _when: float
    _scheduled: bool

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.number = next(self._numbers)

    def __lt__(self, other: Any) -> bool:
        return bool(self._when < other._when or (self._when == other._when and self.number < other.number))


class _Paused:
    """The callbacks of a paused group."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.ready: list[asyncio.Handle] = []
        self.timers: list[_Timer] = []


class VirtualLoop(asyncio.BaseEventLoop):
    """The event loop, without a waiting selector, threads and sockets."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[_Timer]
    _timer_cancelled_count: int
    _check_closed: Callable[[], None]

    def __init__(self, chance: Chance, *, defer: float = 0.0) -> None:
        """Defer the step of a task with the probability `defer`."""
        super().__init__()
        self._now = 0.0
        self._clock_resolution = 1e-9
        self._selector = self
        self._chance = chance
        self._defer = defer
        self._deferred: list[list[Any]] = []
        self._paused: dict[int, _Paused] = {}
        self._rounds = 0
        self._counted_from = 0.0
        self.steps = 0
        """Rounds of callbacks so far."""
        self.at_rest: Callable[[], None] = lambda: None
        """Called when no callback is ready, before the clock advances."""
        SimulatedTask._numbers = itertools.count()
        self.set_task_factory(_new_task)

    def time(self) -> float:
        """Return virtual seconds since the start."""
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Schedule a callback for the next round; a task's step possibly some rounds later."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        if self._paused and (paused := self._paused.get(_group(handle))) is not None:
            paused.ready.append(handle)
            return handle
        if self._defer and isinstance(getattr(callback, "__self__", None), asyncio.Task):
            draw = self._chance.draw("defer")
            if draw < self._defer:
                self._deferred.append([1 + int(draw / self._defer * 3), handle])
                return handle
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Schedule a callback at a virtual time, always later than now, because a real clock would have moved on."""
        when = max(when, self._now + _TICK)
        timer = _Timer(when, callback, args, self, context)
        if self._paused and (paused := self._paused.get(_group(timer))) is not None:
            paused.timers.append(timer)
            return timer
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def pause(self, group: int) -> None:
        """Run no callback of a group any more, neither tasks nor timers, until `resume`."""
        if group in self._paused:
            return
        paused = self._paused[group] = _Paused(self._now)
        paused.ready += [handle for handle in self._ready if _group(handle) == group]
        paused.ready += [handle for _, handle in self._deferred if _group(handle) == group]
        paused.timers += [timer for timer in self._scheduled if _group(timer) == group]
        for timer in paused.timers:
            timer._scheduled = False
            self._timer_cancelled_count -= timer.cancelled()
        # asyncio is in the middle of a round, and counts on the number of ready callbacks.
        nothing = asyncio.Handle(lambda: None, (), self)
        nothing.cancel()
        self._ready = deque(nothing if _group(handle) == group else handle for handle in self._ready)
        self._deferred = [each for each in self._deferred if _group(each[1]) != group]
        self._scheduled = [timer for timer in self._scheduled if _group(timer) != group]
        heapq.heapify(self._scheduled)

    def resume(self, group: int, *, suspended: bool = False) -> None:
        """Run the callbacks of a paused group again.

        Overdue timers fire at once, after the callbacks that were ready. If `suspended`, they are late by the pause,
        because the clock of an event loop excludes the time during which the machine was suspended.
        """
        paused = self._paused.pop(group, None)
        if paused is None:
            return
        self._ready.extend(paused.ready)
        for timer in paused.timers:
            if not timer.cancelled():
                timer._when += (self._now - paused.since) * suspended
                heapq.heappush(self._scheduled, timer)
                timer._scheduled = True

    def select(self, timeout: float | None) -> list[Any]:
        """Advance the clock instead of waiting; asyncio calls this once in each round."""
        self.steps += 1
        if self._deferred:
            self._wake_deferred(at_once=timeout != 0)
        elif timeout is None or timeout > 0:
            self.at_rest()
            if not self._ready:
                self._advance()
            return []
        self._rounds += 1
        if self._rounds > _MOST_ROUNDS:
            raise Spinning(f"{_MOST_ROUNDS} rounds of callbacks within a moment at {self._now:.3f} s")
        return []

    def _wake_deferred(self, *, at_once: bool) -> None:
        waiting = self._deferred
        self._deferred = []
        least = min(rounds for rounds, _ in waiting) if at_once else 1
        for rounds, handle in waiting:
            if rounds <= least:
                self._ready.append(handle)
            else:
                self._deferred.append([rounds - least, handle])

    def _advance(self) -> None:
        if self._scheduled and self._scheduled[0].cancelled():
            return  # at_rest cancelled it; asyncio removes it in the next round
        if not self._scheduled:
            tasks = sorted(task.get_name() for task in asyncio.all_tasks(self) if not task.done())
            raise Deadlock(f"nothing is ready and no timer is set at {self._now:.3f} s; tasks: {', '.join(tasks)}")
        self._now = max(self._now, self._scheduled[0].when())
        if self._now >= self._counted_from + _MOMENT:
            self._rounds, self._counted_from = 0, self._now

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass  # for call_soon_threadsafe, but there is no other thread


def _group(handle: asyncio.Handle) -> int:
    context: contextvars.Context | None = handle._context  # type: ignore[attr-defined]
    return 0 if context is None else context.get(GROUP, 0)


def run(loop: VirtualLoop, main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in virtual time, then cancel its remaining tasks."""
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.at_rest = lambda: None
        loop._defer = 0.0
        for group in list(loop._paused):
            loop.resume(group)
        _cancel_all(loop)
        asyncio.set_event_loop(None)
        loop.close()


def _cancel_all(loop: VirtualLoop) -> None:
    left = sorted((task for task in asyncio.all_tasks(loop) if isinstance(task, SimulatedTask)), key=hash)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _new_task(loop: asyncio.AbstractEventLoop, coroutine: Any, context: Any = None) -> SimulatedTask:
    return SimulatedTask(coroutine, loop=loop, context=context)
