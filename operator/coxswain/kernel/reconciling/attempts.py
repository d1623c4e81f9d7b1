"""Writes without effect: not repeated while manifest and live object stay the same."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Health


@dataclass(frozen=True)
class Attempt:
    """A write that was refused for good, or that changed nothing; manifest and live object are kept as digests."""

    manifest: str
    live: str | None
    refused: Health | None
    """The health that reports the refusal. None if the server accepted the apply and stored another value: a mutating
    admission policy holds it."""

    @classmethod
    def of(cls, manifest: Manifest, live: Projection | None, refused: Health | None) -> Self:
        """Remember the write of a manifest over an object; `live` is None for a create."""
        return cls(digest(manifest), _state(live), refused)

    def matches(self, manifest: Manifest, live: Projection | None) -> bool:
        """Tell whether the same write over the same object would be repeated."""
        return (self.manifest, self.live) == (digest(manifest), _state(live))


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _state(live: Projection | None) -> str | None:
    """Return a digest of everything that decides how the server handles an apply: not status and generation."""
    if live is None:
        return None
    content = {key: value for key, value in live.content.items() if key not in ("status", "metadata")}
    metadata = {key: value for key, value in live.content["metadata"].items() if key != "generation"}
    return digest({"uid": live.uid, "metadata": metadata, "content": content, "owned": live.owned})
