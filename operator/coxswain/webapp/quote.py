"""What others said, quoted in a message of ours: bounded, on one line, and compared without its numbers.

A quotation is the end of a message. A program's last words hold times, ports and addresses that differ each time, and
so do those of a kubelet; a status must not be written again for these.
"""

import re

MARK = "; message: "
LOG_LIMIT = 300
"""Characters of a container's last words that are quoted."""
TEXT_LIMIT = 600
"""Characters of a message of Kubernetes that are quoted: the longest have the image's name three times."""

_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WITH_A_DIGIT = re.compile(r"\w*\d\w*")


def quoted(text: str, quotation: str) -> str:
    """Return a message that ends in a quotation, if there is one."""
    return f"{text}{MARK}{quotation}" if quotation else text


def last_lines(log: str) -> str:
    """Return the last whole lines of a log within the limit, on one line; of one that is longer its end."""
    lines = [line for line in map(_plain, log.splitlines()) if line]
    kept: list[str] = []
    for line in reversed(lines):
        if len(" | ".join([line, *kept])) > LOG_LIMIT:
            break
        kept.insert(0, line)
    return " | ".join(kept) or "".join(lines[-1:])[-LOG_LIMIT:]


def abridged(text: str) -> str:
    """Return a text on one line, without its middle if it is longer than the limit: both ends matter."""
    line = _plain(text)
    half = TEXT_LIMIT // 2
    return line if len(line) <= TEXT_LIMIT else f"{line[:half]} ... {line[-half:]}"


def without_numbers(message: str) -> str:
    """Return a message in a form that is the same for two whose quotations differ only in words with a digit."""
    text, mark, quotation = message.partition(MARK)
    return text + mark + _WITH_A_DIGIT.sub("0", quotation)


def _plain(text: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in _TERMINAL_SEQUENCE.sub("", text))
    return " ".join(shown.split())
