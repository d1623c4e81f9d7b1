"""Sanitize text from other sources before it is written to statuses and Events.

Such text is reduced to one printable line of limited length. The API server rejects a whole status if one reason has an
invalid format. Control and bidirectional characters would change the output of a terminal.

A quotation comes last in a message. Log lines and kubelet messages contain times, ports and addresses. Messages are
compared without them, so that a new address alone does not cause a status update.
"""

import re
from collections.abc import Sequence

MARK = "; message: "
LOG_LIMIT = 300
"""Maximum characters quoted from a container's log."""
TEXT_LIMIT = 600
"""Maximum characters quoted from a message of Kubernetes; the longest repeat the image name three times."""

MESSAGE_LIMIT = 32768 - 512
"""Maximum characters of a message: the limit in the CRD schema, less room for the kind and name of a child."""
REASON_LIMIT = 128
"""Maximum characters of a reason: the limit of events.k8s.io/v1."""

_REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WITH_A_DIGIT = re.compile(r"\w*\d\w*")


def quoted(text: str, quotation: str) -> str:
    """Append a quotation to a message; an empty quotation is left out."""
    return f"{text}{MARK}{quotation}" if quotation else text


def enumerated(texts: Sequence[str], limit: int, separator: str = ", ") -> str:
    """Join the first `limit` texts, and append the number of the others."""
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return separator.join(texts[:limit]) + more


def last_lines(log: str) -> str:
    """Return the last lines of a log that fit the limit, joined to one line.

    Lines are not split, unless the last line alone exceeds the limit: then its end is returned.
    """
    lines = [line for line in map(clean, log.splitlines()) if line]
    kept: list[str] = []
    for line in reversed(lines):
        if len(" | ".join([line, *kept])) > LOG_LIMIT:
            break
        kept.insert(0, line)
    return " | ".join(kept) or "".join(lines[-1:])[-LOG_LIMIT:]


def abridged(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return a text on one line, with the middle cut out if it exceeds the limit: both ends matter."""
    line = clean(text)
    half = limit // 2
    return line if len(line) <= limit else f"{line[:half]} ... {line[-half:]}"


def clean(text: str, limit: int | None = None) -> str:
    """Return a text on one line, without unprintable characters, cut to `limit` characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in _TERMINAL_SEQUENCE.sub("", text))
    return " ".join(text.split())[:limit]


def reason(text: str, otherwise: str) -> str:
    """Return `text` if it is a valid reason for conditions and Events, else `otherwise`.

    A reason is one word of at most `REASON_LIMIT` characters.
    """
    return text if len(text) <= REASON_LIMIT and _REASON.fullmatch(text) else otherwise


def without_numbers(message: str) -> str:
    """Replace words with digits in the quotation of a message, to compare messages regardless of numbers."""
    text, mark, quotation = message.partition(MARK)
    return text + mark + _WITH_A_DIGIT.sub("0", quotation)
