"""Decodes any JSON of the API server, also JSON that Python's parser refuses.

The API server stores fieldsV1 and the data of a ControllerRevision as raw JSON: with up to 10000 levels of nesting and
with strings that are not UTF-8 (measured with 1.36), and with integers of any length. Python's parser fails at about
980 levels, from 3.12 on at a limit that no setting raises, and at an integer of more than 4300 digits. One such object
must not prevent the LIST or the watch of its whole kind.
"""

import json
import re
from typing import Any

LEVELS_KEPT = 500
"""Deeper values are left out. More than `projection.LEVELS_LIMIT`: the projector refuses such an object by its name."""

DIGITS_KEPT = 400
"""Longer integers are left out: no float is so large. The limit of the parser stays, because its time is quadratic."""

_LONG_INTEGER = rf"(?<![\d.eE+-])-?\d{{{DIGITS_KEPT + 1},}}+(?![.eE])"
_TOKENS = re.compile(rf'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{{}}]|{_LONG_INTEGER}', re.DOTALL | re.ASCII)
"""Strings, brackets and long integers."""
_SAMPLE = DIGITS_KEPT // 10
_MANY_DIGITS = re.compile("[0-9]{10}")


def loads(payload: bytes) -> Any:
    """Return a JSON value; if the parser refuses it, without values below `LEVELS_KEPT` levels and long integers.

    Raises:
        ValueError: it is not JSON.
    """
    text = _decoded(payload)
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return json.loads(_reduced(text))


def parsable(line: bytes) -> bytes:
    """Return a line of a watch for another parser: UTF-8, with at most `LEVELS_KEPT` levels, without long integers."""
    text = _decoded(line)
    # Counting is cheap, and few objects have so many brackets.
    if text.count("{") + text.count("[") > LEVELS_KEPT or _may_have_long_integers(text):
        text = _reduced(text)
    return text.encode()


def _decoded(payload: bytes) -> str:
    # Go replaces invalid bytes as well when it decodes a string.
    return payload.decode(errors="replace")


def _may_have_long_integers(text: str) -> bool:
    # A search in the whole text takes longer than its parser. Samples find each long integer, and few other texts.
    return _MANY_DIGITS.search(text[::_SAMPLE]) is not None


def _reduced(text: str) -> str:
    """Replace objects and lists below `LEVELS_KEPT` levels, and integers of more than `DIGITS_KEPT` digits, by null."""
    kept, begin, level = [], 0, 0
    for token in _TOKENS.finditer(text):
        first = text[token.start()]
        if first in "[{":
            level += 1
            if level == LEVELS_KEPT + 1:
                kept.append(text[begin : token.start()] + "null")
        elif first in "]}":
            level -= 1
            if level == LEVELS_KEPT:
                begin = token.end()
        elif first != '"' and level <= LEVELS_KEPT:
            kept.append(text[begin : token.start()] + "null")
            begin = token.end()
    # An unclosed deep value stays out.
    return "".join(kept) + (text[begin:] if level <= LEVELS_KEPT else "")
