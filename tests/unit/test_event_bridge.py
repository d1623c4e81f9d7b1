"""The events that cross from Kopf's thread into the main loop."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.watching.event_bridge import Activity, EventBridge
from coxswain.webapp.kinds import SERVICE, WEBAPP
from coxswain.webapp.workload import WORKLOAD
from unit.objects import raw_webapp


class Wakes(asyncio.SelectorEventLoop):
    """A loop that counts its wake-ups by other threads."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = 0

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Any:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


class Taken:
    """Keeps the arrived events, in order."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.versions: list[int] = []
        self.activities: list[Activity] = []
        self.bridge = EventBridge(
            loop, WORKLOAD.projector, event=self._event, watch_started=lambda *_: None, watch_activity=self._alive
        )

    def _event(self, observed: Projection, _: bool) -> None:
        self.versions.append(observed.version)

    def _alive(self, _: Kind, __: str | None, activity: Activity) -> None:
        self.activities.append(activity)


def bring(bridge: EventBridge, versions: range) -> None:
    for version in versions:
        bridge.event(WEBAPP, "MODIFIED", raw_webapp(version=version))


def run_once(loop: asyncio.AbstractEventLoop) -> None:
    """Process everything that has arrived, and its effects."""
    for _ in range(4):
        loop.run_until_complete(asyncio.sleep(0))


def test_an_event_whose_handler_fails_does_not_stop_the_others() -> None:
    loop = Wakes()
    failures: list[str] = []
    loop.set_exception_handler(lambda _, context: failures.append(str(context["exception"])))

    def fail(*_: object) -> None:
        raise ValueError("a defect")

    try:
        taken = Taken(loop)
        bridge = EventBridge(
            loop, WORKLOAD.projector, event=taken._event, watch_started=fail, watch_activity=taken._alive
        )
        bridge.watch_started(WEBAPP, None)
        bring(bridge, range(1, 3))
        run_once(loop)
        assert (taken.versions, failures) == ([1, 2], ["a defect"])
    finally:
        loop.close()


def test_events_that_arrive_while_the_loop_sleeps_cause_one_wake_up() -> None:
    loop = Wakes()
    try:
        taken = Taken(loop)
        bring(taken.bridge, range(1, 51))
        taken.bridge.watch_activity(WEBAPP, None, Activity.BOOKMARK)
        run_once(loop)
        assert (taken.versions, taken.activities, loop.woken) == (list(range(1, 51)), [Activity.BOOKMARK], 1)
        bring(taken.bridge, range(51, 53))
        run_once(loop)
        assert (taken.versions[50:], loop.woken) == ([51, 52], 2)
    finally:
        loop.close()


def test_no_event_is_lost_while_both_threads_run() -> None:
    loop = Wakes()
    try:
        taken, count = Taken(loop), 5000
        thread = threading.Thread(target=bring, args=(taken.bridge, range(1, count + 1)))

        async def all_taken() -> None:
            thread.start()
            async with asyncio.timeout(60):
                while len(taken.versions) < count:
                    await asyncio.sleep(0.001)

        loop.run_until_complete(all_taken())
        thread.join()
        assert taken.versions == list(range(1, count + 1))
    finally:
        loop.close()


def test_an_event_after_the_queue_was_drained_wakes_the_loop_again() -> None:
    loop = Wakes()

    class Late(deque[Any]):
        """A queue that is filled right after it was found empty."""

        def __bool__(self) -> bool:
            found = len(self) > 0
            if not found and loop.woken == 1:
                bring(taken.bridge, range(2, 3))
            return found

    try:
        taken = Taken(loop)
        taken.bridge._pending = Late()
        bring(taken.bridge, range(1, 2))
        run_once(loop)
        assert (taken.versions, loop.woken) == ([1, 2], 2)
    finally:
        loop.close()


def test_a_closed_bridge_delivers_nothing_that_is_on_its_way_or_comes_later() -> None:
    loop = Wakes()
    try:
        taken = Taken(loop)
        bring(taken.bridge, range(1, 3))
        taken.bridge.close()
        bring(taken.bridge, range(3, 5))
        run_once(loop)
        assert taken.versions == []
    finally:
        loop.close()


def test_a_closed_loop_is_not_woken() -> None:
    loop = Wakes()
    taken = Taken(loop)
    loop.close()
    bring(taken.bridge, range(1, 3))
    assert (taken.versions, loop.woken) == ([], 0)


def test_a_loop_that_closes_during_the_wake_up_is_no_error() -> None:
    """K27: Kopf's thread could fail if the loop was closed between the check and the call."""

    class Closing(Wakes):
        def is_closed(self) -> bool:
            return False

    loop = Closing()
    taken = Taken(loop)
    asyncio.SelectorEventLoop.close(loop)
    loop._closed = True  # type: ignore[attr-defined]
    bring(taken.bridge, range(1, 3))
    assert (taken.versions, loop.woken) == ([], 1)


@pytest.mark.parametrize(
    "odd", [{}, {"metadata": None}, {"metadata": {"name": "odd"}}, raw_webapp(version=7) | {"metadata": 7}]
)
@pytest.mark.parametrize("change", ["ADDED", "DELETED"])
def test_an_unreadable_event_is_skipped_and_the_next_is_handled(odd: Any, change: str) -> None:
    loop = Wakes()
    try:
        taken = Taken(loop)
        taken.bridge.event(WEBAPP, change, odd)
        bring(taken.bridge, range(2, 3))
        run_once(loop)
        assert taken.versions == [2]
    finally:
        loop.close()


def test_the_deletion_of_an_unreadable_object_is_handled() -> None:
    loop = Wakes()
    try:
        gone: list[tuple[str, bool]] = []
        bridge = EventBridge(
            loop,
            WORKLOAD.projector,
            event=lambda observed, is_gone: gone.append((observed.name, is_gone)),
            watch_started=lambda *_: None,
            watch_activity=lambda *_: None,
        )
        raw = raw_webapp(version=7)
        raw["metadata"]["managedFields"] = raw["metadata"]["labels"] = 7
        bridge.event(SERVICE, "DELETED", raw)
        run_once(loop)
        assert gone == [("web", True)]
    finally:
        loop.close()
