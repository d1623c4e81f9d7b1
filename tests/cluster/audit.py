"""The API server's audit log, read as events: who asked for what, and with which result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class AuditEvent:
    """One request, as the API server saw it.

    The policy writes exactly one event for each: `ResponseStarted` for a watch (when it was opened), `ResponseComplete`
    for every other (`Panic` besides, should the server fail). `resource` is the plural; fields that do not apply are
    empty, as all of the object's are for a path outside of the API. `time` is when the request arrived, in RFC 3339.
    """

    user: str
    agent: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    stage: str
    uri: str
    time: str
    group: str = ""
    audit_id: str = ""


def parse_event(line: str | bytes) -> AuditEvent:
    """One line of the log as an event. Raises ValueError for a line that is no event."""
    document = json.loads(line)
    if not isinstance(document, dict) or document.get("kind") != "Event":
        raise ValueError(f"no audit event: {line[:120]!r}")
    target: Mapping[str, Any] = document.get("objectRef") or {}
    return AuditEvent(
        user=document.get("user", {}).get("username", ""),
        agent=document.get("userAgent", ""),
        verb=document.get("verb", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=int(document.get("responseStatus", {}).get("code", 0)),
        stage=document.get("stage", ""),
        uri=document.get("requestURI", ""),
        time=document.get("requestReceivedTimestamp", ""),
        group=target.get("apiGroup", ""),
        audit_id=document.get("auditID", ""),
    )


def read_audit(path: Path, since: int = 0) -> tuple[list[AuditEvent], int]:
    """The events whose lines begin after the byte offset `since`, and the offset to go on from.

    A last line that is still being written is left for the next call. A log that does not exist yet has no events.
    """
    if not path.exists():
        return [], since
    with path.open("rb") as log:
        log.seek(max(0, since - 1))
        if since:
            # To the end of a line that was being written when its log was that long.
            since += len(log.readline()) - 1
        data = log.read()
    whole = data[: data.rfind(b"\n") + 1]
    return [parse_event(line) for line in whole.splitlines() if line.strip()], since + len(whole)


@dataclass
class AuditLog:
    """A mark in the audit log: `events()` returns the requests that arrived after it, each once.

    The server writes a request's event after its answer, so the event of a request that was answered before the mark
    may be written behind it. Such a request is not one of the mark's: its time of arrival says so.
    """

    path: Path
    offset: int = field(default=-1)
    _made: str = ""

    def __post_init__(self) -> None:
        if self.offset < 0:
            self._made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self.offset = self.path.stat().st_size if self.path.exists() else 0

    def events(self) -> list[AuditEvent]:
        """The events since the last call, in the order in which they were written."""
        events, self.offset = read_audit(self.path, self.offset)
        return [event for event in events if event.time >= self._made]
