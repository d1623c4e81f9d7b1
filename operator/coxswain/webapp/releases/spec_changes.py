"""The last change of a WebApp's spec, read from managedFields."""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.content import UNRECORDED
from coxswain.webapp.identity import CHANGE_CAUSE_ANNOTATION, RENDER_ANNOTATION
from coxswain.webapp.releases.render import LATEST
from coxswain.webapp.spec import Change

_OF_NO_REVISION = {".", *(f"f:{name}" for name in UNRECORDED)}


def last_change(entries: Sequence[Mapping[str, Any]]) -> Manifest:
    """Return the manager and the time of the latest entry that owns fields of the spec: not those of no revision."""
    owning = [
        (str(entry.get("time") or ""), str(entry.get("manager") or ""))
        for entry in entries
        if (entry.get("fieldsV1") or {}).get("f:spec", {}).keys() - _OF_NO_REVISION
    ]
    at, by = max(owning, default=("", ""))
    return {"changed": {"by": by, "at": at}}


def change_of(observed: Projection) -> Change:
    """Return the last change of a cached WebApp."""
    changed, annotations = observed.content.get("changed", {}), observed.content["metadata"].get("annotations", {})
    return Change(changed.get("by", ""), changed.get("at", ""), annotations.get(CHANGE_CAUSE_ANNOTATION, ""))


def asks_for_newest_render(observed: Projection) -> bool:
    """Tell whether a cached WebApp asks for the newest render version by its annotation."""
    return bool(observed.content["metadata"].get("annotations", {}).get(RENDER_ANNOTATION) == LATEST)
