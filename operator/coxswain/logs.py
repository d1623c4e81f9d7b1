"""Structured logs: each line of a reconcile names its WebApp.

Texts of the API server, of pods and of other tenants reach the log. Control characters and bidirectional marks in them
are escaped, so that no text can forge an entry or steer a terminal. In the text form each entry is one line; the lines
of a traceback follow it, indented.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_INDENT = "    "

_webapp: ContextVar[str | None] = ContextVar("webapp", default=None)


@contextmanager
def about(webapp: str) -> Iterator[None]:
    """Name the WebApp, as namespace/name, in every line that is logged inside."""
    token = _webapp.set(webapp)
    try:
        yield
    finally:
        _webapp.reset(token)


def configure(level: str, form: str) -> None:
    """Log to standard error at a level (debug, info, warning, error), in a form (text, json)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    if level != "debug":
        handler.addFilter(_tersely)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Kopf tells at info level of each login and each start; ours say it in fewer words.
    logging.getLogger("kopf").setLevel(logging.WARNING if level != "debug" else logging.DEBUG)


def _tersely(record: logging.LogRecord) -> bool:
    """Shorten what Kopf logs: supervision says what ended it, so no task of Kopf's needs a traceback for that too."""
    if record.name.partition(".")[0] == "kopf":
        record.exc_info = None
        # Its warning that it leaves the signals alone says that it works as meant.
        return not str(record.msg).startswith("OS signals are ignored")
    return True


def _escaped(text: str) -> str:
    """Return a text with all characters that do not print as JSON escapes, so both forms look alike."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _entries(record: logging.LogRecord, message: str) -> dict[str, str]:
    webapp = _webapp.get()
    return {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        **({"webapp": webapp} if webapp else {}),
        "logger": record.name,
        "message": message,
    }


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        # JSON escapes the characters below U+0020 itself; all others that do not print are none of its syntax.
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
