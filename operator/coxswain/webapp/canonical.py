"""Canonical forms: what `desired` says is written as the API server would write it, so that equal means equal."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quantity import canonical
from coxswain.webapp.spec import IntOrString


def without_empty(value: Mapping[str, Any]) -> Manifest:
    """Return a deep copy without what the server would not store: no value, "", [] and {}.

    Not for maps whose values may be "" (labels, config): those are passed on as they are.
    """
    # An empty header is one that the server keeps.
    cleaned = {key: item if key == "httpHeaders" else _cleaned(item) for key, item in value.items()}
    return {key: item for key, item in cleaned.items() if item not in (None, "", [], {})}


def _cleaned(value: object) -> object:
    if isinstance(value, Mapping):
        return without_empty(value)
    if isinstance(value, (list, tuple)):
        return [_cleaned(item) for item in value]
    return value


def quantities(values: Mapping[str, IntOrString]) -> dict[str, str]:
    """Return the quantities in their canonical form."""
    return {name: canonical(value) for name, value in values.items()}
