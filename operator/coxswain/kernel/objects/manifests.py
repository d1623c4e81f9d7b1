"""Manifests: API objects as plain JSON values."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.status_fields import condition_of

Manifest = dict[str, Any]
"""An API object in plain JSON values; golden files contain the applied form."""


def kind_and_name(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind and the name."""
    return manifest["kind"], manifest["metadata"]["name"]


def child_key(kind: str, name: str) -> str:
    """Return kind/name, the key of a child among the children of its parent."""
    return f"{kind}/{name}"


def condition(live: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """Return the condition of this type of a live object; an empty mapping if there is none."""
    return condition_of(live.get("status", {}), type_)
