"""The recorded traffic between a client and the API server: all requests, responses and watch lines."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass
class Request:
    """One request and its outcome. Times are of the monotonic clock, in seconds."""

    number: int
    at: float
    verb: str
    resource: str
    """The plural, with the subresource if any (`webapps/status`)."""
    namespace: str
    name: str
    query: dict[str, str]
    agent: str
    path: str = ""
    body: Any = None
    """The parsed body of a write; None if it is not JSON."""
    forwarded: bool = False
    """Whether the server received the request."""
    status: int | None = None
    """The status code sent to the client; None without a response."""
    server_status: int | None = None
    """The server's status code; None if the server did not respond or was not asked."""
    answer: Any = None
    """The parsed response to the client; None for a watch."""
    server_answer: Any = None
    """The server's parsed response if the client got another one."""
    fault: str = ""
    """The action of the plan; empty if no rule matched."""
    ended: float | None = None

    @property
    def is_write(self) -> bool:
        """Whether the verb is a write."""
        return self.verb in WRITES

    @property
    def delivered(self) -> bool:
        """Whether the client got a response."""
        return self.status is not None


@dataclass
class Line:
    """One line of a watch as sent to the client."""

    at: float
    request: int
    """The number of the watch request."""
    type: str
    """The event's type: ADDED, MODIFIED, DELETED, BOOKMARK, ERROR or another; empty if the line is not JSON."""
    object: Any
    fault: str = ""


@dataclass
class Mark:
    """An action of the test: `operator started`, `operator killed`, `faults end`."""

    at: float
    what: str


@dataclass
class History:
    """All entries in chronological order."""

    requests: list[Request] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def request(self, number: int) -> Request:
        """Return a request by its number."""
        return self.requests[number - 1]

    def writes(self, since: float = 0.0) -> list[Request]:
        """Return the write requests from a time on."""
        return [request for request in self.requests if request.is_write and request.at >= since]

    def write(self, path: Path) -> None:
        """Write the history as readable JSON lines, in chronological order, with seconds since the first entry."""
        entries: list[Request | Line | Mark] = sorted(
            [*self.requests, *self.lines, *self.marks], key=lambda one: one.at
        )
        start = entries[0].at if entries else 0.0
        with path.open("w", encoding="utf-8") as file:
            for entry in entries:
                said = {"seconds": round(entry.at - start, 3), "entry": type(entry).__name__}
                file.write(json.dumps({**said, **_fields(entry, start)}, ensure_ascii=False) + "\n")


def _fields(entry: Request | Line | Mark, start: float) -> dict[str, Any]:
    """Return the fields of an entry that are set."""
    fields = {each.name: getattr(entry, each.name) for each in dataclasses.fields(entry) if each.name != "at"}
    if fields.get("ended") is not None:
        fields["ended"] = round(fields["ended"] - start, 3)
    return {name: value for name, value in fields.items() if value not in (None, "", {})}
