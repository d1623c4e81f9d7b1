"""Placeholders in scripts: names that differ from run to run and from workload to workload."""

import dataclasses
from collections.abc import Mapping
from typing import Any


def filled(value: Any, words: Mapping[str, str]) -> Any:
    """Return a copy of a value with each `{word}` replaced, in all strings of its containers and dataclasses."""
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(f"{{{word}}}", text)
        return value
    if isinstance(value, Mapping):
        return {filled(key, words): filled(part, words) for key, part in value.items()}
    if isinstance(value, list):
        return [filled(part, words) for part in value]
    if isinstance(value, tuple):
        return tuple(filled(part, words) for part in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return dataclasses.replace(value, **{each.name: filled(getattr(value, each.name), words) for each in fields})
    return value
