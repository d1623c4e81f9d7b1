"""Operators broken on purpose: what each oracle and each fault must be seen to fail on.

A switch of the tests, not of the product: `faults.launch` starts the operator as it is and then takes one thing from
it. Each module here holds the breaks of one file of tests.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Break:
    """One thing that an operator might have been written without."""

    name: str
    what: str
    """How it is broken, in half a sentence, for docs/faults.md."""
    apply: Callable[[], None]


_BREAKS: dict[str, Break] = {}


def known() -> Mapping[str, Break]:
    """Return all breaks of all modules here, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _BREAKS


def broken(what: str) -> Callable[[Callable[[], None]], Break]:
    """Register a function that takes something from the operator, under the function's name with dashes."""

    def register(function: Callable[[], None]) -> Break:
        name = function.__name__.replace("_", "-")
        if name in _BREAKS:
            raise ValueError(f"there are two breaks called {name}")
        _BREAKS[name] = Break(name, what, function)
        return _BREAKS[name]

    return register
