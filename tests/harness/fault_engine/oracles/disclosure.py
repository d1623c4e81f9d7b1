"""O8: the value of a Secret appears only in its Secret, and the operator reads no Secrets."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from fault_engine.evidence import Evidence, Violation


def check(evidence: Evidence) -> list[Violation]:
    """Search all stored, sent, logged and served data for the secret values. Violations do not contain the values.

    Raises:
        ValueError: there is no value to search for.
    """
    values = [value for value in evidence.secrets if value]
    if not values:
        raise ValueError("O8 needs values in evidence.secrets")
    found = [
        Violation("O8", f"secret value {number} of {len(values)} is in {place}")
        for number, value in enumerate(values, start=1)
        for place in dict.fromkeys(_places(evidence, _spellings(value)))
    ]
    return [*found, *_readings(evidence)]


def _spellings(value: str) -> set[str]:
    """Return the spellings of a value: plain, in JSON and Python text, in Base64, in a URL."""
    encoded = base64.b64encode(value.encode()).decode()
    escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    return {value, encoded, quote(value, safe=""), *escaped}


def _places(evidence: Evidence, spellings: set[str]) -> Iterator[str]:
    stored = [(change.resource, change.object) for change in evidence.changes]
    stored += [(resource, thing) for resource, things in evidence.end.items() for thing in things]
    for resource, thing in stored:
        for path in _paths(thing, spellings):
            yield f"{resource}/{thing['metadata']['name']}: {path}"
    for request in evidence.history.requests:
        for path in _paths({"body": request.body, "query": request.query, "name": request.name}, spellings):
            yield f"the body or query of {request.verb} of {request.resource} {request.name}: {path}"
    if _holds(evidence.logs, spellings):
        yield "the log"
    for number, page in enumerate(evidence.pages, start=1):
        if _holds(page, spellings):
            yield f"page {number} that the operator served"


def _paths(value: Any, spellings: set[str], path: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            deeper = f"{path}.{key}" if path else str(key)
            if _holds(str(key), spellings):
                yield f"a key of {path or 'the object'}"
            else:
                yield from _paths(part, spellings, deeper)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _paths(part, spellings, f"{path}[{place}]")
    elif isinstance(value, str) and _holds(value, spellings):
        yield path


def _holds(text: str, spellings: set[str]) -> bool:
    return any(spelling in text for spelling in spellings)


def _readings(evidence: Evidence) -> Iterator[Violation]:
    asked = {
        f"{event.verb} of secrets {event.name}, status {event.code}"
        for event in evidence.audit
        if event.user == evidence.user and event.resource == "secrets"
    }
    asked |= {
        f"{request.verb} of secrets {request.name}, sent to the proxy"
        for request in evidence.history.requests
        if request.resource.split("/")[0] == "secrets" and not request.forwarded
    }
    for what in sorted(asked):
        yield Violation("O8", f"the operator read Secrets: {what}")
