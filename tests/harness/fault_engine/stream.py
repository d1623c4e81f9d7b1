"""Filters for the lines of a watch: pure, one instance for each stream."""

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from fault_engine.plan import Doubled, Hide, Stream
from fault_engine.plan import Line as Injected

_CHANGES = ("ADDED", "MODIFIED", "DELETED")


@dataclass(frozen=True)
class Event:
    """One line of a watch: its bytes with the newline, and its parsed content."""

    text: bytes
    type: str = ""
    object: Any = None
    fault: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the object's metadata; empty if missing."""
        metadata = self.object.get("metadata") if isinstance(self.object, dict) else None
        return metadata if isinstance(metadata, dict) else {}

    @property
    def version(self) -> int | None:
        """Return the object's resourceVersion; None if missing."""
        text = str(self.metadata.get("resourceVersion", ""))
        return int(text) if text.isdecimal() else None


class End(Enum):
    """The end of a stream."""

    CLOSE = "close"
    """The server closes it normally."""
    RESET = "reset"
    """The connection is reset."""


Step = Event | End


def read_event(text: bytes, fault: str = "") -> Event:
    """Parse a line."""
    try:
        said = json.loads(text)
    except ValueError:
        return Event(text, fault=fault)
    if not isinstance(said, dict):
        return Event(text, fault=fault)
    return Event(text, str(said.get("type", "")), said.get("object"), fault)


class Unchanged:
    """Forwards everything."""

    def opened(self) -> list[Step]:
        """Return the steps before the first line of the server."""
        return []

    def took(self, event: Event) -> list[Step]:
        """Return the steps for an event of the server."""
        return [event]

    def ended(self, end: End) -> list[Step]:
        """Return the steps for the end of the server's stream."""
        return [end]

    def lifted(self) -> list[Step]:
        """Return the held steps. All later events are forwarded unchanged."""
        return []


class Faulty(Unchanged):
    """Executes a `Stream` action."""

    def __init__(self, fault: Stream) -> None:
        self._fault = fault
        self._passed = 0
        self._begun = False
        self._frozen = False
        self._held: list[Step] = []

    def opened(self) -> list[Step]:
        """Begin at once if `after` is 0."""
        return self._begin() if self._fault.after == 0 else []

    def took(self, event: Event) -> list[Step]:
        """Forward, hold, drop or cut."""
        if not self._begun:
            self._passed += 1
            return [event, *(self._begin() if self._passed == self._fault.after else [])]
        if event.type in self._fault.drop:
            return []
        if self._frozen:
            self._held.append(replace(event, fault="held until lifted"))
            return []
        if self._fault.then == "truncate":
            return [Event(event.text[: len(event.text) // 2], fault="truncated"), End.CLOSE]
        return [event]

    def ended(self, end: End) -> list[Step]:
        """Keep a frozen stream open."""
        if not self._frozen:
            return [end]
        self._held.append(end)
        return []

    def lifted(self) -> list[Step]:
        """Return the events held while frozen, and the end of the stream."""
        return self._held

    def _begin(self) -> list[Step]:
        self._begun = True
        steps: list[Step] = [_injected(line) for line in self._fault.inject]
        if self._fault.then == "close":
            steps.append(End.CLOSE)
        elif self._fault.then == "reset":
            steps.append(End.RESET)
        self._frozen = self._fault.then == "freeze"
        return steps


class AsOf(Unchanged):
    """Holds all events from the first one with a newer resourceVersion."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._held: list[Step] = []

    def took(self, event: Event) -> list[Step]:
        """Forward old events until the first held one, so the order stays."""
        if self._held or (event.version is not None and event.version > self._version):
            self._held.append(replace(event, fault="held until lifted"))
            return []
        return [event]

    def lifted(self) -> list[Step]:
        """Return the held events in their order."""
        return self._held


@dataclass
class Hidden:
    """The state of a `Hide` action. Reopened watches share it, so they hide the same events."""

    hide: Hide
    object: tuple[str, str] | None = None
    """Namespace and name, after the first hidden event."""
    events: set[tuple[str, int | None]] = field(default_factory=set)
    over: bool = False

    def hides(self, event: Event) -> bool:
        """Tell whether to hide the next event."""
        identity = (str(event.metadata.get("namespace", "")), str(event.metadata.get("name", "")))
        key = (event.type, event.version)
        if event.type not in _CHANGES or self.object not in (None, identity):
            return False
        if self.over or key in self.events:
            return key in self.events
        if not self.events:
            hidden = fnmatchcase(identity[1], self.hide.name) and fnmatchcase(event.type, self.hide.event)
        else:
            self.over = len(self.events) >= self.hide.events and fnmatchcase(event.type, self.hide.until)
            hidden = not self.over
        if hidden:
            self.object = identity
            self.events.add(key)
        return hidden


class Hiding(Unchanged):
    """Executes a `Hide` action."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden

    def took(self, event: Event) -> list[Step]:
        """Forward or hide an event."""
        return [] if self._hidden.hides(event) else [event]


class Repeating(Unchanged):
    """Sends each change twice, or each pair of changes swapped."""

    def __init__(self, doubled: Doubled) -> None:
        self._swapped = doubled.swapped
        self._first: Event | None = None

    def took(self, event: Event) -> list[Step]:
        """Repeat a change, or hold it for the swap; no other event overtakes it."""
        if event.type not in _CHANGES:
            return [*self.lifted(), event]
        if not self._swapped:
            return [event, replace(event, fault="doubled")]
        if self._first is None:
            self._first = event
            return []
        return [replace(event, fault="swapped"), *self.lifted()]

    def ended(self, end: End) -> list[Step]:
        """Send an unpaired change before a normal end."""
        return [*(self.lifted() if end is End.CLOSE else []), end]

    def lifted(self) -> list[Step]:
        """Return the held change."""
        kept, self._first = self._first, None
        return [] if kept is None else [replace(kept, fault="swapped")]


def _injected(line: Injected) -> Event:
    text = line if isinstance(line, str) else json.dumps(line) + "\n"
    return read_event(text.encode(), fault="injected")
