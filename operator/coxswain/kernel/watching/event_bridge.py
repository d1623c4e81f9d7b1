"""What the watches hand over: objects, that a watch has started over, and signs that one is alive."""

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
    """A sign of life of one watch."""

    FAILED = auto()
    """An attempt to list or to watch came back: refused by the server, or by the network."""
    LISTED = auto()
    """A LIST that comes before the watch was answered."""
    OPENED = auto()
    """The watch was opened."""
    HEARD = auto()
    """Something came through it."""
    BOOKMARK = auto()
    """A bookmark came through it: the server sends them without any change to tell of."""


class EventSink(Protocol):
    """Takes what the watches bring; unable to fail, since Kopf drops the exceptions of such handlers."""

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        """Take an object: `change` is ADDED, MODIFIED or DELETED."""

    def started_over(self, kind: Kind, namespace: str | None) -> None:
        """Take that a watch now runs from a new LIST: what vanished before that, no event will tell."""

    def alive(self, kind: Kind, namespace: str | None, sign: Activity) -> None:
        """Take a sign of life of a watch."""


class EventBridge:
    """Carries what the watches bring from Kopf's thread into the main loop."""

    def __init__(
        self,
        main: asyncio.AbstractEventLoop,
        projector: Projector,
        *,
        event: Callable[["EventBridge", Projection, bool], None],
        started_over: Callable[["EventBridge", Kind, str | None], None],
        alive: Callable[["EventBridge", Kind, str | None, Activity], None],
    ) -> None:
        """Call these in the main loop: with this feed, since an older one may still bring something."""
        self._main = main
        self._projector = projector
        self._event = event
        self._started_over = started_over
        self._alive = alive
        self._waiting: deque[tuple[Callable[..., None], tuple[object, ...]]] = deque()
        self._called = False

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        """Take an object, or that it is gone."""
        gone = change == "DELETED"
        observed = read_identity(kind, raw) if gone else read(self._projector, kind, raw)
        if observed is not None:
            self._call(self._event, observed, gone)

    def started_over(self, kind: Kind, namespace: str | None) -> None:
        """Take that a watch now runs from a new LIST."""
        self._call(self._started_over, kind, namespace)

    def alive(self, kind: Kind, namespace: str | None, sign: Activity) -> None:
        """Take a sign of life."""
        self._call(self._alive, kind, namespace, sign)

    def _call(self, take: Callable[..., None], *arguments: object) -> None:
        # Waking the main loop is a system call on either side: one for all that has come until it is awake.
        self._waiting.append((take, arguments))
        if not self._called and not self._main.is_closed():
            self._called = True
            # It may be closed in this very moment.
            with contextlib.suppress(RuntimeError):
                self._main.call_soon_threadsafe(self._take_all)

    def _take_all(self) -> None:
        self._called = False  # first: what is put in from here on calls again
        while self._waiting:
            take, arguments = self._waiting.popleft()
            # Each a call of its own: one that fails holds up no other.
            self._main.call_soon(take, self, *arguments)
