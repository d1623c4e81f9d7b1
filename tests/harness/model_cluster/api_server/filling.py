"""Defaults for missing fields. A complete object is returned as the same object."""

from collections.abc import Callable
from typing import Any

from model_cluster.api_server.schema import Json, Object


def filled(value: Object, defaults: Object) -> Object:
    """Return a map with defaults for its missing keys."""
    missing = {name: default for name, default in defaults.items() if value.get(name) is None}
    return {**value, **missing} if missing else value


def at(value: Object, name: str, change: Callable[[Any], Json]) -> Object:
    """Return a map with one value changed, if the map has it."""
    if value.get(name) is None:
        return value
    changed = change(value[name])
    return value if changed is value[name] else {**value, name: changed}


def each(change: Callable[[Object], Object]) -> Callable[[list[Object]], list[Object]]:
    """Return a function that changes each item of a list."""

    def changed(items: list[Object]) -> list[Object]:
        found = [change(item) for item in items]
        same = all(one is other for one, other in zip(items, found, strict=True))
        return items if same else found

    return changed
