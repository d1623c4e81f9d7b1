"""O1: at the end, every object and field equals the end of the run without faults."""

from collections.abc import Iterator, Mapping
from typing import Any

from fault_engine.evidence import Evidence, Violation
from fault_engine.oracles.masking import end_state

_ABSENT = object()


def check(evidence: Evidence, reference: Evidence) -> list[Violation]:
    """Compare the final objects of two runs."""
    return compare(evidence, end_state(reference))


def compare(evidence: Evidence, expected: Mapping[str, Any]) -> list[Violation]:
    """Compare the final objects of a run with the state of another one, as `masking.end_state` returns it."""
    found = end_state(evidence)
    return [
        Violation("O1", sentence)
        for key in sorted({*found, *expected})
        for sentence in _differences(key, found.get(key, _ABSENT), expected.get(key, _ABSENT), "")
    ]


def _differences(thing: str, found: Any, expected: Any, path: str) -> Iterator[str]:
    if found == expected:
        return
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        for key in sorted({*found, *expected}):
            deeper = f"{path}.{key}" if path else key
            yield from _differences(thing, found.get(key, _ABSENT), expected.get(key, _ABSENT), deeper)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for place, (part, other) in enumerate(zip(found, expected, strict=True)):
            yield from _differences(thing, part, other, f"{path}[{place}]")
    elif not path and expected is _ABSENT:
        yield f"at the end there is {thing}, unlike in the reference"
    elif not path and found is _ABSENT:
        yield f"at the end {thing} is missing, unlike in the reference"
    else:
        where = path if path.startswith("[") or not path else f" {path}"
        yield f"at the end {thing}{where} is {_shown(found)}; the reference has {_shown(expected)}"


def _shown(value: Any) -> str:
    text = "absent" if value is _ABSENT else repr(value)
    return text if len(text) <= 400 else f"{text[:400]}..."
