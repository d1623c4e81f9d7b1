"""Operators broken on purpose: what each oracle and each fault must be seen to fail on.

A switch of the tests, not of the product: `faults.launch` starts the operator as it is and then takes one thing from
it. Each module here holds the breaks of one file of tests.

A break proves something only if the operator survives the same script without its faults (`faults.proof`). Where the
script has no fault that could be left out, because what users do is the fault, the break names what it survives:
`passes`. A break that is wrong in any life says so: `always`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from faults.lives import CHANGE, CREATE, DELETE
from faults.script import Script, Settle

PEACE: Script = (*CREATE, Settle(), *CHANGE, Settle(), *DELETE, Settle())
"""A WebApp that is created, changed and deleted, while nobody else writes and nothing fails."""


@dataclass(frozen=True)
class Break:
    """One thing that an operator might have been written without."""

    name: str
    what: str
    """How it is broken, in half a sentence, for docs/faults.md."""
    apply: Callable[[], None]
    passes: Script | None = None
    """The script that it survives; None for the test's own without its faults."""
    always: bool = False
    """Whether one oracle finds it in any life: without faults all others must pass it."""


_BREAKS: dict[str, Break] = {}
_ORIGINALS: list[tuple[Any, str, Any]] = []


def known() -> Mapping[str, Break]:
    """Return all breaks of all modules here, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _BREAKS


def broken(what: str, *, passes: Script | None = None, always: bool = False) -> Callable[[Callable[[], None]], Break]:
    """Register a function that takes something from the operator, under the function's name with dashes."""

    def register(function: Callable[[], None]) -> Break:
        name = function.__name__.replace("_", "-")
        if name in _BREAKS:
            raise ValueError(f"there are two breaks called {name}")
        _BREAKS[name] = Break(name, what, function, passes, always)
        return _BREAKS[name]

    return register


def put(owner: Any, **parts: Any) -> None:
    """Replace parts of a class or module by others that can be used in the same way.

    Raises:
        LookupError: there is no such part: the operator was rewritten, and the break takes nothing from it.
        TypeError: the other part can't be called as the part is called.
    """
    for name, part in parts.items():
        if not hasattr(owner, name):
            raise LookupError(f"{owner.__name__} has no {name}: the break takes nothing from the operator")
        original = inspect.getattr_static(owner, name)
        if inspect.isfunction(original):
            _hold_alike(f"{owner.__name__}.{name}", original, part)
        _ORIGINALS.append((owner, name, original))
        setattr(owner, name, part)


def undo() -> None:
    """Give back what was taken."""
    while _ORIGINALS:
        owner, name, original = _ORIGINALS.pop()
        setattr(owner, name, original)


def _hold_alike(name: str, original: Any, part: Any) -> None:
    if inspect.iscoroutinefunction(original) != inspect.iscoroutinefunction(part):
        raise TypeError(f"{name}: one of the original and the break's is a coroutine function, and the other is not")
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(original).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = None
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(None)
    try:
        inspect.signature(part).bind(*positional, **named)
    except TypeError as error:
        raise TypeError(f"{name} can't be called as the original is: {error}") from None
