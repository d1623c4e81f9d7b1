"""Canonical forms of desired values, as the API server stores them, so that a comparison finds no false drift."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quantity import canonical
from coxswain.webapp.spec.container import IntOrString

_EMPTY: tuple[Any, ...] = (None, "", [], {})
_SELECTORS = ("labelSelector", "namespaceSelector")
"""An empty selector matches everything, and the API server stores it."""


def without_empty(value: Mapping[str, Any]) -> Manifest:
    """Return a deep copy without None, "", [] and {}, because the API server does not store these. Selectors stay.

    Do not use it for maps with possible values of "", such as labels and config.
    """
    # The API server stores headers and labels with an empty value.
    verbatim = ("httpHeaders", *_SELECTORS)
    cleaned = {key: item if key in verbatim else _cleaned(item) for key, item in value.items()}
    return {
        key: item for key, item in cleaned.items() if item not in _EMPTY or (key in _SELECTORS and item is not None)
    }


def _cleaned(value: object) -> object:
    if isinstance(value, Mapping):
        return without_empty(value)
    if isinstance(value, (list, tuple)):
        return [_cleaned(item) for item in value]
    return value


def quantities(values: Mapping[str, IntOrString]) -> dict[str, str]:
    """Return quantities in canonical form."""
    return {name: canonical(value) for name, value in values.items()}
