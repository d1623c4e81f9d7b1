"""Writes that led nowhere: remembered, and not sent again while manifest and live object are the same."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.retention import retain
from coxswain.webapp.health import Health
from coxswain.webapp.spec import Manifest


@dataclass(frozen=True)
class Attempt:
    """A write that led nowhere, its manifest and the live object, whose status is left out, kept as digests."""

    manifest: str
    live: str | None
    refused: Health | None
    """None if the server accepted the apply and stored something else: a mutating policy holds the value."""


class Attempts:
    """The last write of each child that led nowhere."""

    def __init__(self) -> None:
        self._of_webapp: dict[Key, dict[str, Attempt]] = {}
        self._failures: dict[Key, dict[str, int]] = {}

    def look_again(self) -> None:
        """Forget what was refused, so that it is tried once more; an apply without effect is not."""
        for key, children in self._of_webapp.items():
            self._of_webapp[key] = {place: found for place, found in children.items() if found.refused is None}

    def clear(self) -> None:
        """Forget all WebApps."""
        self._of_webapp.clear()
        self._failures.clear()

    def forget(self, key: Key) -> None:
        """Forget all about the children of a WebApp that is gone."""
        self._of_webapp.pop(key, None)
        self._failures.pop(key, None)

    def retain(self, key: Key, children: Collection[str]) -> None:
        """Forget all children of a WebApp but these, each given as kind/name."""
        retain(self._of_webapp, key, lambda child: child in children)
        retain(self._failures, key, lambda child: child in children)

    def failed(self, key: Key, child: str) -> int:
        """Count a failed reconcile of a child; return how many have failed in a row."""
        failures = self._failures.setdefault(key, {})
        failures[child] = failures.get(child, 0) + 1
        return failures[child]

    def succeeded(self, key: Key, child: str) -> None:
        """Forget the failed reconciles of a child."""
        self._failures.get(key, {}).pop(child, None)

    def known(self, key: Key, manifest: Manifest, observed: Projection | None) -> Attempt | None:
        """Return the attempt to write this manifest over this object, if it led nowhere."""
        found = self._of_webapp.get(key, {}).get(_child(manifest))
        same = found is not None and (found.manifest, found.live) == (_digest(manifest), _state(observed))
        return found if same else None

    def remember(self, key: Key, manifest: Manifest, observed: Projection | None, refused: Health | None) -> None:
        """Remember a write that led nowhere over the object that it was sent for, None to create one.

        `refused` is the health that tells of a refusal.
        """
        attempt = Attempt(_digest(manifest), _state(observed), refused)
        self._of_webapp.setdefault(key, {})[_child(manifest)] = attempt


def _child(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def _state(observed: Projection | None) -> str | None:
    """Return a digest of what decides how the server takes an apply: all but status and generation."""
    if observed is None:
        return None
    content = {key: value for key, value in observed.content.items() if key not in ("status", "metadata")}
    metadata = {key: value for key, value in observed.content["metadata"].items() if key != "generation"}
    return _digest({"uid": observed.uid, "metadata": metadata, "content": content, "owned": observed.owned})


def _digest(value: Manifest) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
