"""Decodes any JSON of the API server, also JSON that Python's parser refuses.

The API server stores fieldsV1 and the data of a ControllerRevision as raw JSON: with up to 10000 levels of nesting, and
with strings that are not UTF-8 (measured with 1.36). Python's parser fails at about 980 levels, from 3.12 on at a limit
that no setting raises. One such object must not prevent the LIST or the watch of its whole kind.
"""

import json
import re
from typing import Any

LEVELS_KEPT = 500
"""Deeper values are left out. More than `projection.LEVELS_LIMIT`: the projector refuses such an object by its name."""

_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{}]', re.DOTALL)
"""Strings and brackets."""


def loads(payload: bytes) -> Any:
    """Return a JSON value without the values below `LEVELS_KEPT` levels, if the parser cannot decode these.

    Raises:
        ValueError: it is not JSON.
    """
    text = _decoded(payload)
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(_without_deep_values(text))


def parsable(line: bytes) -> bytes:
    """Return a line of a watch for another parser. It has UTF-8 only, and at most `LEVELS_KEPT` levels."""
    text = _decoded(line)
    # Counting is cheap, and few objects have so many brackets.
    if text.count("{") + text.count("[") > LEVELS_KEPT:
        text = _without_deep_values(text)
    return text.encode()


def _decoded(payload: bytes) -> str:
    # Go replaces invalid bytes as well when it decodes a string.
    return payload.decode(errors="replace")


def _without_deep_values(text: str) -> str:
    """Replace each object and list below `LEVELS_KEPT` levels by null."""
    kept, begin, level = [], 0, 0
    for token in _TOKENS.finditer(text):
        bracket = text[token.start()]
        if bracket in "[{":
            level += 1
            if level == LEVELS_KEPT + 1:
                kept.append(text[begin : token.start()] + "null")
        elif bracket in "]}":
            level -= 1
            if level == LEVELS_KEPT:
                begin = token.end()
    # An unclosed deep value stays out.
    return "".join(kept) + (text[begin:] if level <= LEVELS_KEPT else "")
