"""The API server's validation of a status against the CRD's schema, as a list of violations."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from yaml_files import webapp_schema

_TYPES: Mapping[Any, tuple[type, ...]] = {"object": (dict,), "array": (list,), "string": (str,), "integer": (int,)}


def schema(part: str) -> dict[str, Any]:
    """Return the schema of `spec` or `status`."""
    found: dict[str, Any] = webapp_schema()[part]
    return found


def violations(value: Any, rules: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Yield each violation of the schema, with its path."""
    kind = rules.get("type")
    if kind in _TYPES and not isinstance(value, _TYPES[kind]):
        yield f"{place} is no {kind}: {value!r}"
    elif isinstance(value, dict):
        yield from (f"{place}.{name} is missing" for name in rules.get("required", []) if name not in value)
        for name, item in value.items():
            known = rules.get("properties", {}).get(name)
            yield from [f"{place}.{name} is unknown"] if known is None else violations(item, known, f"{place}.{name}")
    elif isinstance(value, list):
        yield from _of_list(value, rules, place)
    elif isinstance(value, str):
        yield from _of_text(value, rules, place)
    elif value < rules.get("minimum", value) or value > rules.get("maximum", value):
        yield f"{place} is out of range: {value}"


def _of_list(value: list[Any], rules: Mapping[str, Any], place: str) -> Iterator[str]:
    if len(value) > rules.get("maxItems", len(value)):
        yield f"{place} has {len(value)} items"
    keys = rules.get("x-kubernetes-list-map-keys", [])
    named = [tuple(item.get(key) for key in keys) for item in value] if keys else []
    if len(set(named)) < len(named):
        yield f"{place} has the same item twice"
    for index, item in enumerate(value):
        yield from violations(item, rules["items"], f"{place}[{index}]")


def _of_text(value: str, rules: Mapping[str, Any], place: str) -> Iterator[str]:
    if not rules.get("minLength", 0) <= len(value) <= rules.get("maxLength", len(value)):
        yield f"{place} has {len(value)} characters"
    if "pattern" in rules and not re.search(rules["pattern"].replace("$", r"\Z"), value, re.ASCII):
        yield f"{place} does not match: {value!r}"
    if "enum" in rules and value not in rules["enum"]:
        yield f"{place} is none of the values: {value!r}"
    try:
        value.encode()
    except UnicodeEncodeError:
        yield f"{place} is no UTF-8"
