"""Structured logging in text or JSON. Each entry of a reconcile contains its parent, such as a WebApp.

The log contains text from the API server, from pods and from other tenants. Control characters and bidirectional marks
are escaped, so that no text can forge an entry or control a terminal. In the text format each entry is one line; the
lines of a traceback follow with an indent.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_INDENT = "    "

_parent: ContextVar[tuple[str, str] | None] = ContextVar("parent", default=None)


@contextmanager
def about(controller: str, parent: str) -> Iterator[None]:
    """Add a parent to every log entry within the context.

    Args:
        controller: The key in the entry: the parent's kind in lower case, as in the metrics.
        parent: Its namespace/name.
    """
    token = _parent.set((controller, parent))
    try:
        yield
    finally:
        _parent.reset(token)


def configure(level: str, form: str) -> None:
    """Configure logging to standard error.

    Args:
        level: debug, info, warning or error.
        form: text or json.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    if level != "debug":
        handler.addFilter(_tersely)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Kopf logs each login and start at info level, and the supervisor reports the same.
    logging.getLogger("kopf").setLevel(logging.WARNING if level != "debug" else logging.DEBUG)


def _tersely(record: logging.LogRecord) -> bool:
    """Remove tracebacks from Kopf's log entries, because the supervisor logs the error that ended Kopf."""
    if record.name.partition(".")[0] == "kopf":
        record.exc_info = None
        # Kopf warns that it does not handle signals. The main loop handles them.
        return not str(record.msg).startswith("OS signals are ignored")
    return True


def _escaped(text: str) -> str:
    """Replace unprintable characters with JSON escapes, in both formats."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _entries(record: logging.LogRecord, message: str) -> dict[str, str]:
    parent = _parent.get()
    return {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        **dict([parent] if parent else []),
        "logger": record.name,
        "message": message,
    }


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # json.dumps escapes characters below U+0020. Other unprintable characters are not part of JSON syntax.
        return _escaped(json.dumps(_entries(record, super().format(record)), ensure_ascii=False))


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entries = _entries(record, _escaped(record.getMessage()))
        message = entries.pop("message")
        time, level = entries.pop("time"), entries.pop("level")
        named = " ".join(f"{key}={_escaped(value)}" for key, value in entries.items())
        traces = [self.formatException(record.exc_info)] if record.exc_info else []
        traces += [self.formatStack(record.stack_info)] if record.stack_info else []
        lines = [_INDENT + _escaped(line) for trace in traces for line in trace.splitlines()]
        return "\n".join([f"{time} {level:<7} {named} {message}", *lines])
