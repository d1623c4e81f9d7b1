"""Manifests: objects as the API takes them, in plain JSON values."""

from collections.abc import Mapping
from typing import Any

Manifest = dict[str, Any]
"""An object in plain JSON values: a golden file shows exactly what is applied."""


def kind_and_name(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and name."""
    return manifest["kind"], manifest["metadata"]["name"]


def child_key(manifest: Mapping[str, Any]) -> str:
    """Return kind/name: the key of a child among the children of its parent."""
    return "/".join(kind_and_name(manifest))


def condition(live: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a condition of a live object; an empty one if it has none of that type."""
    conditions = live.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found.get("type") == name), {})
