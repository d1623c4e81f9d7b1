"""Deliberately broken operators: each test and each oracle must fail on one.

A break is not part of the product. `faults.launch` imports the unchanged operator, and then removes one mechanism. Each
module here has the breaks of one or more test files.

A break proves something only if the operator survives the same script without its faults (`fault_engine.proof`). If
the script has no removable fault, the break names another script (`passes`). A break that one oracle rejects in every
script has the flag `always`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from fault_engine.proof import Break
from fault_engine.script import Script

_BREAKS: dict[str, Break] = {}
_ORIGINALS: list[tuple[Any, str, Any]] = []


def known() -> Mapping[str, Break]:
    """Return the breaks of all modules here, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _BREAKS


def broken(what: str, *, passes: Script | None = None, always: bool = False) -> Callable[[Callable[[], None]], Break]:
    """Register a function that removes a mechanism from the operator. Its name with dashes is that of the break."""

    def register(function: Callable[[], None]) -> Break:
        name = function.__name__.replace("_", "-")
        if name in _BREAKS:
            raise ValueError(f"two breaks have the name {name}")
        _BREAKS[name] = Break(name, what, function, passes, always)
        return _BREAKS[name]

    return register


def put(owner: Any, **parts: Any) -> None:
    """Replace attributes of a class or module by others with the same signature.

    Raises:
        LookupError: there is no such attribute, so the break has no effect on the current operator.
        TypeError: the replacement does not accept the arguments of the original.
    """
    for name, part in parts.items():
        if not hasattr(owner, name):
            raise LookupError(f"{owner.__name__} has no {name}, so the break has no effect")
        original = inspect.getattr_static(owner, name)
        if inspect.isfunction(original):
            _hold_alike(f"{owner.__name__}.{name}", original, part)
        _ORIGINALS.append((owner, name, original))
        setattr(owner, name, part)


def undo() -> None:
    """Restore all replaced attributes."""
    while _ORIGINALS:
        owner, name, original = _ORIGINALS.pop()
        setattr(owner, name, original)


def _hold_alike(name: str, original: Any, part: Any) -> None:
    if inspect.iscoroutinefunction(original) != inspect.iscoroutinefunction(part):
        raise TypeError(f"{name}: only one of the original and the replacement is a coroutine function")
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
        raise TypeError(f"{name} does not accept the arguments of the original: {error}") from None
