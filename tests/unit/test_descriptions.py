"""The descriptions in the CRD, which `kubectl explain` shows."""

import re
from collections.abc import Iterator
from typing import Any

from yaml_files import webapp_schema

LIMITS = {"maxItems": "minItems", "maxProperties": "minProperties"}


def fields(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema below a field, with its path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from fields(child, f"{path}.{name}")
    for name, more in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(name), dict):
            yield from fields(schema[name], path + more)


def test_each_list_and_map_of_the_spec_describes_its_limits() -> None:
    limited = [
        (path, schema.get(least, 0), schema[most], schema["description"])
        for path, schema in fields(webapp_schema()["spec"], "spec")
        for most, least in LIMITS.items()
        if most in schema
    ]
    assert len(limited) > 100
    silent = [
        path
        for path, least, most, text in limited
        if not re.search(rf"\b{least} to {most}\b" if least else rf"\b[Aa]t most {most}\b", text)
    ]
    assert silent == []
