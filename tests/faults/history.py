"""What passed between a client and the API server, kept whole: every request, every answer, every line of a watch."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass
class Request:
    """One request, and what became of it. Times are of the monotonic clock, in seconds."""

    number: int
    at: float
    verb: str
    resource: str
    """The plural, with the subresource if there is one (`webapps/status`)."""
    namespace: str
    name: str
    query: dict[str, str]
    agent: str
    path: str = ""
    body: Any = None
    """Of a write: what was sent, parsed; None if it is no JSON."""
    forwarded: bool = False
    """Whether the server heard of it."""
    status: int | None = None
    """What the client was answered; None if it was not."""
    server_status: int | None = None
    """What the server answered; None if it was not asked, or did not answer."""
    answer: Any = None
    """What the client was answered, parsed; None of a watch."""
    server_answer: Any = None
    """What the server answered where that is not what the client got."""
    fault: str = ""
    """What the plan did to it; empty for nothing."""
    ended: float | None = None

    @property
    def is_write(self) -> bool:
        """Whether it would change something."""
        return self.verb in WRITES

    @property
    def delivered(self) -> bool:
        """Whether the client got an answer."""
        return self.status is not None


@dataclass
class Line:
    """One line of a watch as the client got it."""

    at: float
    request: int
    """The number of the watch's request."""
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or what else the line says; empty if it is no JSON."""
    object: Any
    fault: str = ""


@dataclass
class Mark:
    """Something that the test did: `operator started`, `operator killed`, `faults end`."""

    at: float
    what: str


@dataclass
class History:
    """In the order in which it happened."""

    requests: list[Request] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def request(self, number: int) -> Request:
        """Return a request by its number."""
        return self.requests[number - 1]

    def writes(self, since: float = 0.0) -> list[Request]:
        """Return what would have changed something, from a time on."""
        return [request for request in self.requests if request.is_write and request.at >= since]

    def write(self, path: Path) -> None:
        """Write it for a person to read: JSON lines in the order of time, with seconds since the first of them."""
        entries: list[Request | Line | Mark] = sorted(
            [*self.requests, *self.lines, *self.marks], key=lambda one: one.at
        )
        start = entries[0].at if entries else 0.0
        with path.open("w", encoding="utf-8") as file:
            for entry in entries:
                said = {"seconds": round(entry.at - start, 3), "entry": type(entry).__name__}
                file.write(json.dumps({**said, **_fields(entry, start)}, ensure_ascii=False) + "\n")


def _fields(entry: Request | Line | Mark, start: float) -> dict[str, Any]:
    """Return what an entry says, without what it leaves open."""
    fields = {each.name: getattr(entry, each.name) for each in dataclasses.fields(entry) if each.name != "at"}
    if fields.get("ended") is not None:
        fields["ended"] = round(fields["ended"] - start, 3)
    return {name: value for name, value in fields.items() if value not in (None, "", {})}
