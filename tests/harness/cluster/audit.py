"""Reads the API server's audit log as events: user, request and response code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_CREDENTIAL = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True)
class AuditEvent:
    """One request, as recorded by the API server.

    The policy writes one event for each request: `ResponseStarted` when a watch is opened, `ResponseComplete` for all
    other requests, and `Panic` if the server fails. `resource` is the plural. Fields that do not apply are empty, such
    as all fields of the object for a non-resource path. `time` is the arrival of the request, in RFC 3339. `credential`
    identifies the token of a ServiceAccount.
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
    credential: str = ""


def parse_event(line: str | bytes) -> AuditEvent:
    """Parse one line of the log. Raises ValueError if the line is no event."""
    document = json.loads(line)
    if not isinstance(document, dict) or document.get("kind") != "Event":
        raise ValueError(f"not an audit event: {line[:120]!r}")
    target: Mapping[str, Any] = document.get("objectRef") or {}
    user: Mapping[str, Any] = document.get("user") or {}
    return AuditEvent(
        user=user.get("username", ""),
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
        credential=next(iter(user.get("extra", {}).get(_CREDENTIAL, ())), ""),
    )


def read_audit(path: Path, since: int = 0) -> tuple[list[AuditEvent], int]:
    """Return the events of all lines from the byte offset `since`, and the offset for the next call.

    An incomplete last line is left for the next call. A missing log has no events.
    """
    if not path.exists():
        return [], since
    start = max(0, since - 1)
    with path.open("rb") as log:
        log.seek(start)
        data = log.read()
    # The first line was incomplete when `since` was taken; it is empty if `since` is at the start of a line.
    begin = data.find(b"\n") + 1 if since else 0
    end = data.rfind(b"\n") + 1
    return [parse_event(line) for line in data[begin:end].splitlines() if line.strip()], max(since, start + end)


@dataclass
class AuditLog:
    """A position in the audit log: `events()` returns each request that arrived after it once.

    The server writes the event of a request after its response. So the log can contain, after this position, the
    event of an earlier request. The arrival time identifies such requests, and they are skipped.
    """

    path: Path
    offset: int = field(default=-1)
    _made: str = ""

    def __post_init__(self) -> None:
        if self.offset < 0:
            self._made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self.offset = self.path.stat().st_size if self.path.exists() else 0

    def events(self) -> list[AuditEvent]:
        """Return the events since the last call, in the order of the log."""
        events, self.offset = read_audit(self.path, self.offset)
        return [event for event in events if event.time >= self._made]
