"""Output for programs: JSON, and YAML in block style from the same values."""

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/][\w ./@+-]*", re.ASCII)
_NOT_TEXT = re.compile(r"(?i)(y|n|yes|no|on|off|true|false|null|nan|\.inf)")
"""Texts that YAML 1.1 or 1.2 reads as something else."""


def as_json(value: Any) -> str:
    """Return JSON in ASCII: it is the same in each encoding, and an encoding without a character cannot break it."""
    return json.dumps(value, indent=2) + "\n"


def as_yaml(value: Any) -> str:
    """Return YAML; texts that could be read as something else are quoted as in JSON, which YAML 1.2 contains."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_scalar(key)}:", item, indent="  ")
    elif isinstance(value, list) and value:
        for item in value:
            yield from _item(item)
    else:
        yield _scalar(value)


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, dict | list) and item:
        yield head
        pad = "" if isinstance(item, list) else indent
        yield from (pad + line for line in _lines(item))
    else:
        yield f"{head} {_scalar(item)}"


def _item(item: Any) -> Iterator[str]:
    lines = _lines(item)
    yield f"- {next(lines)}"
    yield from (f"  {line}" for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value == value.strip() and not _NOT_TEXT.fullmatch(value):
        return value
    if not isinstance(value, str):
        return json.dumps(value)
    # JSON writes characters outside of the basic plane as surrogates, which YAML does not know.
    return '"' + "".join(json.dumps(c)[1:-1] if ord(c) <= 0xFFFF else f"\\U{ord(c):08x}" for c in value) + '"'
