"""The ConfigMap with `config` and `files`: immutable, with a hash of its data in its name.

A change of the data causes a rollout, and pods of the old revision keep their ConfigMap. The cache holds hashes of the
data.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.field_paths import Fields
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Rules, whole
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.content import data
from coxswain.webapp.identity import metadata
from coxswain.webapp.kinds import CONFIG_MAP
from coxswain.webapp.releases.revisions import kept
from coxswain.webapp.spec import WebApp

_MANY_KEYS = 1024
_HASH = re.compile(r"-[0-9a-f]{10}$")
"""Suffix of a ConfigMap's name, after the WebApp's name."""


def config_map(webapp: WebApp) -> Manifest | None:
    """Return the ConfigMap, or None without `config` and `files`."""
    content = data(webapp.spec)
    if not content:
        return None
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(webapp, name=config_map_name(webapp)),
        "immutable": True,
        "data": content,
    }


def config_map_name(webapp: WebApp) -> str:
    """Return the name, with a hash of the data."""
    return f"{webapp.name}-{webapp.content_hash}"


def hashed(config_map: Mapping[str, Any]) -> Manifest:
    """Return a ConfigMap with its values replaced by hashes."""
    fields = {
        field: {key: hashlib.sha256(value.encode()).hexdigest() for key, value in (config_map.get(field) or {}).items()}
        for field in ("data", "binaryData")
        if field == "data" or field in config_map
    }
    return {**config_map, **fields}


def _desired(webapp: WebApp, _: World) -> Desired | None:
    manifest = config_map(webapp)
    return None if manifest is None else Desired(manifest)


def _retained(webapp: WebApp, world: World) -> list[str]:
    """Return the names of the ConfigMaps of kept revisions: pods of their ReplicaSets need them to start."""
    return [f"{webapp.name}-{each.config}" for each in kept(webapp, world) if each.config is not None]


def _bounded(config_map: Mapping[str, Any], owned: Fields | None) -> Mapping[str, Any]:
    """Return a ConfigMap with a limited number of keys, preferably those owned by the operator.

    A WebApp has at most 320 keys. A hostile ConfigMap of 1 MB may have 100,000, and their hashes take several MB.
    """
    cut = dict(config_map)
    for field in ("data", "binaryData"):
        entries = config_map.get(field) or {}
        if len(entries) > _MANY_KEYS:
            ours = (owned or {}).get(f"f:{field}") or {}
            kept = [key for key in entries if f"f:{key}" in ours][:_MANY_KEYS]
            cut[field] = {key: entries[key] for key in kept}
    return cut


def _has_data(wanted: Manifest, live: Mapping[str, Any]) -> bool:
    return all(live.get("data", {}).get(key) == value for key, value in wanted.get("data", {}).items())


def _obstacle(wanted: Manifest, live: Mapping[str, Any], adopting: bool) -> Obstacle | None:
    """Return an obstacle if the live ConfigMap is immutable and has other data."""
    if not live.get("immutable") or _has_data(wanted, live):
        return None
    # Replacement is safe: pods read a ConfigMap at their start and wait for it.
    return Obstacle("data", Remedy.BY_HAND if adopting else Remedy.REPLACE)


TYPE = ChildType(
    CONFIG_MAP,
    _desired,
    rules=Rules(lambda raw: hashed(whole(CONFIG_MAP)(raw)), trim=_bounded, namesake=lambda name: _HASH.sub("", name)),
    comparable=hashed,
    obstacle=_obstacle,
    is_usable=_has_data,
    removal=Removal.WHEN_UNUSED,
    retained=_retained,
)
