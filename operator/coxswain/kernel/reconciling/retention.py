"""Bounds of what is remembered: by the children that a WebApp has now."""

from collections.abc import Callable
from typing import TypeVar

from coxswain.kernel.cache.store import Key

K = TypeVar("K")
V = TypeVar("V")


def retain(table: dict[Key, dict[K, V]], key: Key, is_kept: Callable[[K], bool]) -> None:
    """Drop all entries of a WebApp from a table but those that are kept, and the WebApp if none is."""
    entries = table.get(key, {})
    for entry in [entry for entry in entries if not is_kept(entry)]:
        del entries[entry]
    if not entries:
        table.pop(key, None)
