"""What becomes of a watch's lines on their way to the client: pure, one object a stream."""

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from faults.plan import Doubled, Hide, Stream
from faults.plan import Line as Injected

_CHANGES = ("ADDED", "MODIFIED", "DELETED")


@dataclass(frozen=True)
class Event:
    """One line of a watch, with its line end, and what it says."""

    text: bytes
    type: str = ""
    object: Any = None
    fault: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the object's metadata, empty if it has none."""
        metadata = self.object.get("metadata") if isinstance(self.object, dict) else None
        return metadata if isinstance(metadata, dict) else {}

    @property
    def version(self) -> int | None:
        """Return the object's resourceVersion, None if it has none."""
        text = str(self.metadata.get("resourceVersion", ""))
        return int(text) if text.isdecimal() else None


class End(Enum):
    """How a stream ends."""

    CLOSE = "close"
    """As the server ends it."""
    RESET = "reset"
    """The connection breaks."""


Step = Event | End


def read_event(text: bytes, fault: str = "") -> Event:
    """Return what a line says."""
    try:
        said = json.loads(text)
    except ValueError:
        return Event(text, fault=fault)
    if not isinstance(said, dict):
        return Event(text, fault=fault)
    return Event(text, str(said.get("type", "")), said.get("object"), fault)


class Unchanged:
    """Passes everything on."""

    def opened(self) -> list[Step]:
        """Return what the client gets before any line of the server."""
        return []

    def took(self, event: Event) -> list[Step]:
        """Return what the client gets now that the server has sent an event."""
        return [event]

    def ended(self, end: End) -> list[Step]:
        """Return what the client gets now that the server's stream has ended."""
        return [end]

    def lifted(self) -> list[Step]:
        """Return what was held; all that comes later is passed on unchanged."""
        return []


class Faulty(Unchanged):
    """Does what a Stream says."""

    def __init__(self, fault: Stream) -> None:
        self._fault = fault
        self._passed = 0
        self._begun = False
        self._frozen = False
        self._held: list[Step] = []

    def opened(self) -> list[Step]:
        """Begin at once if no line is to pass first."""
        return self._begin() if self._fault.after == 0 else []

    def took(self, event: Event) -> list[Step]:
        """Pass on, hold, drop or cut."""
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
        """Return what came while it was frozen, its end too."""
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
    """Holds everything from the first event on that is later than a version."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._held: list[Step] = []

    def took(self, event: Event) -> list[Step]:
        """Pass on what is old enough, as long as nothing is held: the order stays."""
        if self._held or (event.version is not None and event.version > self._version):
            self._held.append(replace(event, fault="held until lifted"))
            return []
        return [event]

    def lifted(self) -> list[Step]:
        """Return what came since, in its order."""
        return self._held


@dataclass
class Hidden:
    """How far a Hide has come; it outlives the streams, and a watch opened again is not shown what was hidden."""

    hide: Hide
    object: tuple[str, str] | None = None
    """Namespace and name, once an event was hidden."""
    events: set[tuple[str, int | None]] = field(default_factory=set)
    over: bool = False

    def hides(self, event: Event) -> bool:
        """Whether an event that comes now is hidden."""
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
    """Leaves out what a Hide hides."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden

    def took(self, event: Event) -> list[Step]:
        """Pass on or leave out."""
        return [] if self._hidden.hides(event) else [event]


class Repeating(Unchanged):
    """Sends each change twice, or each pair of changes swapped."""

    def __init__(self, doubled: Doubled) -> None:
        self._swapped = doubled.swapped
        self._first: Event | None = None

    def took(self, event: Event) -> list[Step]:
        """Repeat a change, or keep it for the next one; nothing else may overtake it."""
        if event.type not in _CHANGES:
            return [*self.lifted(), event]
        if not self._swapped:
            return [event, replace(event, fault="doubled")]
        if self._first is None:
            self._first = event
            return []
        return [replace(event, fault="swapped"), *self.lifted()]

    def ended(self, end: End) -> list[Step]:
        """Send what has found no partner before a proper end."""
        return [*(self.lifted() if end is End.CLOSE else []), end]

    def lifted(self) -> list[Step]:
        """Return the change that was kept."""
        kept, self._first = self._first, None
        return [] if kept is None else [replace(kept, fault="swapped")]


def _injected(line: Injected) -> Event:
    text = line if isinstance(line, str) else json.dumps(line) + "\n"
    return read_event(text.encode(), fault="injected")
