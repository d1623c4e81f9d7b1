"""Hashes of a spec, and the data of its ConfigMap, from `config` and `files`."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

UNRECORDED = ("paused", "replicas")
"""Fields that make no revision: scaling and pausing deploy nothing, and an autoscaler may scale at any time."""


def data(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the ConfigMap's data."""
    files = {file_key(file["path"]): file["content"] for file in spec.get("files", [])}
    return {**spec.get("config", {}), **files}


def content_hash(spec: Mapping[str, Any]) -> str:
    """Return a hash of the data. It is costly: the data may be one megabyte."""
    content = json.dumps(data(spec), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:10]


def file_key(path: str) -> str:
    """Return the ConfigMap key of a file: a hash, because a path is no valid key and list positions may change."""
    return f"file-{hashlib.sha256(path.encode()).hexdigest()[:10]}"


def recorded_fields(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec that make its revision."""
    return {name: value for name, value in spec.items() if name not in UNRECORDED}


def spec_hash(spec: Mapping[str, Any]) -> str:
    """Return the hash of a spec, for the name of its revision."""
    text = json.dumps(recorded_fields(spec), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]
