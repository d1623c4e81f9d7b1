"""Decodes objects of a LIST or a watch to projections. Invalid objects are logged, counted and skipped."""

import logging
from collections.abc import Mapping
from typing import Any

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import UNREADABLE, Projection, Projector
from coxswain.metrics import unreadable

log = logging.getLogger(__name__)


def read(projector: Projector, kind: Kind, raw: Mapping[str, Any]) -> Projection | None:
    """Return the projection of an object, or None if it cannot be decoded."""
    try:
        return projector.observe(kind, raw)
    except UNREADABLE as error:
        unreadable(kind.collection)
        log.warning("%s %s cannot be read and is skipped: %r", kind, place(raw) or "without a name", error)
        return None


def read_identity(kind: Kind, raw: Mapping[str, Any]) -> Projection | None:
    """Return a projection of a deleted object with its identity only, or None if it cannot be decoded."""
    try:
        metadata = raw["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        return Projection(kind, namespace, name, metadata["uid"], int(metadata["resourceVersion"]), True, {})
    except UNREADABLE as error:
        unreadable(kind.collection)
        log.warning("the deletion of %s %s cannot be read and is skipped: %r", kind, place(raw), error)
        return None


def place(raw: object) -> tuple[str, str] | None:
    """Return the namespace and the name of an object, or None if it has no name."""
    metadata = raw.get("metadata") if isinstance(raw, Mapping) else None
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        return None
    return str(metadata.get("namespace") or ""), str(metadata["name"])
