"""The bridge that delivers watch events and watch activity from Kopf's thread to the main loop."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Protocol

from coxswain.kernel.cache.decode import read, read_identity
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection, Projector


class Activity(Enum):
    """An observed step of one watch: evidence for liveness and coverage."""

    FAILED = auto()
    """A LIST or watch request failed: an HTTP error or a network error, not a timeout."""
    LISTED = auto()
    """The LIST before a watch succeeded."""
    OPENED = auto()
    """The watch was opened."""
    RECEIVED = auto()
    """Data without a bookmark arrived."""
    BOOKMARK = auto()
    """A bookmark arrived. The server sends bookmarks even if no object changes."""


class EventSink(Protocol):
    """Receives watch events. Implementations must not raise: Kopf drops the exceptions of event handlers."""

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        """Receive an object as JSON. `change` is ADDED, MODIFIED or DELETED, or None for an object from a LIST."""

    def watch_started(self, kind: Kind, namespace: str | None) -> None:
        """Receive the start of a watch after a new LIST.

        No event reports objects that were deleted before that LIST. The receiver must relist.
        """

    def watch_activity(self, kind: Kind, namespace: str | None, activity: Activity) -> None:
        """Receive the activity of a watch."""


class EventBridge:
    """Delivers watch events from Kopf's threads to callbacks in the main loop."""

    def __init__(
        self,
        main: asyncio.AbstractEventLoop,
        projector: Projector,
        *,
        event: Callable[[Projection, bool], None],
        watch_started: Callable[[Kind, str | None], None],
        watch_activity: Callable[[Kind, str | None, Activity], None],
    ) -> None:
        """Deliver to callbacks in the loop `main`, until `close` is called there."""
        self._main = main
        self._projector = projector
        self._event = event
        self._watch_started = watch_started
        self._watch_activity = watch_activity
        self._pending: deque[tuple[Callable[..., None], tuple[object, ...]]] = deque()
        self._called = False
        self._closed = False

    def close(self) -> None:
        """Drop everything that is not delivered yet, and what Kopf still reports."""
        self._closed = True

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        """Project an object and deliver it. Skip it if it cannot be decoded."""
        gone = change == "DELETED"
        observed = read_identity(kind, raw) if gone else read(self._projector, kind, raw)
        if observed is not None:
            self._call(self._event, observed, gone)

    def watch_started(self, kind: Kind, namespace: str | None) -> None:
        """Deliver the start of a watch after a new LIST."""
        self._call(self._watch_started, kind, namespace)

    def watch_activity(self, kind: Kind, namespace: str | None, activity: Activity) -> None:
        """Deliver the activity of a watch."""
        self._call(self._watch_activity, kind, namespace, activity)

    def _call(self, take: Callable[..., None], *arguments: object) -> None:
        # Waking the main loop costs a system call on both sides. One wake-up serves all calls until the loop runs. Two
        # threads may both see False here and wake the loop twice, which is harmless.
        self._pending.append((take, arguments))
        if not self._called and not self._main.is_closed():
            self._called = True
            # The main loop may close after the check above.
            with contextlib.suppress(RuntimeError):
                self._main.call_soon_threadsafe(self._take_all)

    def _take_all(self) -> None:
        self._called = False  # First: later calls must wake the loop again.
        while self._pending:
            take, arguments = self._pending.popleft()
            # One callback per call_soon: an exception in one does not prevent the others.
            self._main.call_soon(self._deliver, take, *arguments)

    def _deliver(self, take: Callable[..., None], *arguments: object) -> None:
        if not self._closed:
            take(*arguments)
