"""Breaks for F22: every field, set and unset."""

from collections.abc import Iterator
from typing import Any

from coxswain.control import child
from coxswain.kube.compare import Difference
from faults.breaks import broken


@broken("a field that is no longer wanted, but is still owned, is no difference")
def gives_nothing_up() -> None:
    compare = child.differences  # type: ignore[attr-defined]

    def lenient(*arguments: Any) -> list[Difference]:
        return [found for found in compare(*arguments) if found.wanted is not None]

    child.differences = lenient  # type: ignore[attr-defined, assignment]


@broken("lists are compared as sets: their order is no difference")
def ignores_the_order() -> None:
    compare = child.differences  # type: ignore[attr-defined]

    def unordered(*arguments: Any) -> list[Difference]:
        return [found for found in compare(*arguments) if not _same_items(found.wanted, found.found)]

    child.differences = unordered  # type: ignore[attr-defined, assignment]


def _same_items(wanted: Any, found: Any) -> bool:
    if not isinstance(wanted, list) or not isinstance(found, list):
        return False
    return sorted(_texts(wanted)) == sorted(_texts(found))


def _texts(items: list[Any]) -> Iterator[str]:
    for item in items:
        yield str(item.get("name", item)) if isinstance(item, dict) else str(item)
