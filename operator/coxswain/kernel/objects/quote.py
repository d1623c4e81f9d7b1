"""Texts of others in statuses and Events: valid, bounded, on one line, and compared without their numbers.

The API server refuses a whole status for one reason that is no word. Control and bidirectional characters would change
what a terminal shows.

A quotation is the end of a message. A program's last words hold times, ports and addresses that differ each time, and
so do those of a kubelet; a status must not be written again for these.
"""

import re

MARK = "; message: "
LOG_LIMIT = 300
"""Characters of a container's last words that are quoted."""
TEXT_LIMIT = 600
"""Characters of a message of Kubernetes that are quoted: the longest have the image's name three times."""

MESSAGE_LIMIT = 32768 - 512
"""Characters of a message: the schema's limit, less room for a child's kind and name."""
REASON_LIMIT = 128
"""Characters of a reason: the limit of events.k8s.io/v1."""

_REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WITH_A_DIGIT = re.compile(r"\w*\d\w*")


def quoted(text: str, quotation: str) -> str:
    """Return a message that ends in a quotation, if there is one."""
    return f"{text}{MARK}{quotation}" if quotation else text


def last_lines(log: str) -> str:
    """Return the last whole lines of a log within the limit, on one line; of one that is longer its end."""
    lines = [line for line in map(clean, log.splitlines()) if line]
    kept: list[str] = []
    for line in reversed(lines):
        if len(" | ".join([line, *kept])) > LOG_LIMIT:
            break
        kept.insert(0, line)
    return " | ".join(kept) or "".join(lines[-1:])[-LOG_LIMIT:]


def abridged(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return a text on one line, without its middle if it is longer than the limit: both ends matter."""
    line = clean(text)
    half = limit // 2
    return line if len(line) <= limit else f"{line[:half]} ... {line[-half:]}"


def clean(text: str, limit: int | None = None) -> str:
    """Return a text on one line, of printable characters, cut to `limit` characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in _TERMINAL_SEQUENCE.sub("", text))
    return " ".join(text.split())[:limit]


def reason(text: str, otherwise: str) -> str:
    """Return a text if it is a valid reason of a condition and of an Event: one word, of limited length."""
    return text if len(text) <= REASON_LIMIT and _REASON.fullmatch(text) else otherwise


def without_numbers(message: str) -> str:
    """Return a message in a form that is the same for two whose quotations differ only in words with a digit."""
    text, mark, quotation = message.partition(MARK)
    return text + mark + _WITH_A_DIGIT.sub("0", quotation)
