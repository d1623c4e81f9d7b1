"""Reduces a script to the steps needed for the same failure: delta debugging (Zeller, ddmin)."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def shrunk(items: Sequence[_T], fails: Callable[[Sequence[_T]], bool], *, seconds: float = 60.0) -> list[_T]:
    """Return a part of the items, in order, that still fails and cannot lose any single item.

    Args:
        items: the failing input.
        fails: returns whether a part fails in the same way.
        seconds: limit in real seconds, after which the best result so far is returned.
    """
    best, parts = list(items), 2
    until = time.monotonic() + seconds
    while len(best) > 1 and time.monotonic() < until:
        size = max(1, len(best) // parts)
        for start in range(0, len(best), size):
            rest = best[:start] + best[start + size :]
            if rest and fails(rest):
                best, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(len(best), parts * 2)
    return best
