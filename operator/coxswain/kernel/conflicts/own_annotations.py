"""Annotations of children in which the operator records its decisions. Values that others set do not count."""

from collections.abc import Collection

from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.objects.field_paths import owns
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection


def own_annotation(observed: Projection, name: str) -> str | None:
    """Return the value of an annotation; None if it is not set, or not by this operator.

    It counts without our ownership if another tool has cleared managedFields: then nobody owns it, and after the next
    apply the API server's `before-first-apply` does.
    """
    path = ("f:metadata", "f:annotations", f"f:{name}")
    owners = {entry.manager for entry in observed.others if owns(entry.fields, path)}
    is_cleared = owners == {BEFORE_FIRST_APPLY} or (observed.owned is None and not owners)
    if not is_cleared and not owns(observed.owned or {}, path):
        return None
    value: str | None = observed.content["metadata"].get("annotations", {}).get(name)
    return value


def without_notes(manifest: Manifest, notes: Collection[str]) -> Manifest:
    """Return a manifest without some annotations.

    Notes may contain the present time. So two manifests with the same intent are compared without them.
    """
    metadata = manifest["metadata"]
    annotations = metadata.get("annotations", {})
    if annotations.keys().isdisjoint(notes):
        return manifest
    rest = {name: value for name, value in annotations.items() if name not in notes}
    return {**manifest, "metadata": {**metadata, "annotations": rest}}
