"""Writes without effect: not repeated for the same manifest and live object."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Health


@dataclass(frozen=True)
class Attempt:
    """A write without effect: refused for good, or accepted without a change. Manifest and live object are digests."""

    manifest: str
    live: str | None
    refused: Health | None
    """The health for the refusal. None if the server accepted the apply and stored another value because of a
    mutating admission policy."""

    @classmethod
    def of(cls, manifest: Manifest, live: Projection | None, refused: Health | None) -> Self:
        """Remember the write of a manifest over an object; `live` is None for a create."""
        return cls(digest(manifest), _state(live), refused)

    def matches(self, manifest: Manifest, live: Projection | None) -> bool:
        """Tell whether this is the same write over the same object."""
        return (self.manifest, self.live) == (digest(manifest), _state(live))


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _state(live: Projection | None) -> str | None:
    """Return a digest of the parts with an influence on an apply: not status and generation."""
    if live is None:
        return None
    content = {key: value for key, value in live.content.items() if key not in ("status", "metadata")}
    metadata = {key: value for key, value in live.content["metadata"].items() if key != "generation"}
    return digest({"uid": live.uid, "metadata": metadata, "content": content, "owned": live.owned})
