"""Writes without effect: not repeated for the same manifest and live object."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

from coxswain.kernel.conflicts.own_annotations import without_notes
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
    deleting: bool = False
    """Whether it was the deletion of an object to be replaced, rather than an apply."""

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        live: Projection | None,
        refused: Health | None,
        notes: Collection[str],
        *,
        deleting: bool = False,
    ) -> Self:
        """Remember a write.

        Args:
            manifest: the written manifest.
            live: the object before; None for a create.
            refused: as in the field.
            deleting: as in the field.
            notes: annotations of the operator, as in `ChildType.notes`. Other notes alone do not end a refusal.
        """
        return cls(_compared(manifest, refused, notes), _state(live), refused, deleting)

    def matches(
        self, manifest: Manifest, live: Projection | None, notes: Collection[str], *, deleting: bool = False
    ) -> bool:
        """Tell whether this is the same write over the same object. The arguments are those of `of`."""
        write = (_compared(manifest, self.refused, notes), _state(live), deleting)
        return (self.manifest, self.live, self.deleting) == write


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _compared(manifest: Manifest, refused: Health | None, notes: Collection[str]) -> str:
    return digest(manifest if refused is None else without_notes(manifest, notes))


def _state(live: Projection | None) -> str | None:
    """Return a digest of the parts with an influence on an apply: not status and generation."""
    if live is None:
        return None
    content = {key: value for key, value in live.content.items() if key not in ("status", "metadata")}
    metadata = {key: value for key, value in live.content["metadata"].items() if key != "generation"}
    return digest({"uid": live.uid, "metadata": metadata, "content": content, "owned": live.owned})
