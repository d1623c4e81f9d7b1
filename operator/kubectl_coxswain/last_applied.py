"""The fields that an undo brings back: those that a later apply removes, and those that it leaves. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, Path, text
from kubectl_coxswain.fields import leaves
from kubectl_coxswain.kubectl import MANAGER, Json
from kubectl_coxswain.revisions import OF_THE_PRESENT

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The manifest of the last client-side apply. The next one removes the fields that only this manifest has."""

_LIMIT = 5
_MISSING: Any = object()


def last_applied(webapp: Json, spec: Json) -> dict[str, str]:
    """Return the annotation of the last client-side apply, with another spec.

    A later `kubectl apply` then removes the fields that the undo brings back. Without a valid annotation there is
    nothing to change. `replicas` and `paused` stay as they were applied, unless the undo changes them.
    """
    try:
        last = json.loads((webapp["metadata"].get("annotations") or {}).get(LAST_APPLIED, ""))
    except ValueError:
        return {}
    if not isinstance(last, dict) or not isinstance(last.get("spec"), dict):
        return {}
    present = webapp.get("spec") or {}
    unchanged = {name for name in OF_THE_PRESENT if spec.get(name) == present.get(name)}
    restored = {name: value for name, value in spec.items() if name not in unchanged}
    kept = {name: value for name, value in last["spec"].items() if name in unchanged}
    return {LAST_APPLIED: json.dumps({**last, "spec": {**restored, **kept}}, separators=(",", ":")) + "\n"}


def note_before_undo(webapp: Json, spec: Json) -> list[str]:
    """Return a note about the fields that a later server-side apply does not remove after the undo.

    With a last-applied annotation there is no such field: kubectl moves the fields of the annotation's manager to its
    own manager.
    """
    if last_applied(webapp, spec) or not _is_applied_by_server(webapp):
        return []
    fields = [place for place, _, after in leaves("spec", webapp["spec"], spec) if after is not None]
    note = (
        f"only {MANAGER} will own {_listed(fields)}. A later kubectl apply --server-side needs --force-conflicts, and "
        f"does not remove a field that its manifest lacks. To remove such a field then: {_edit(webapp)}"
    )
    return [note] if fields else []


def note_before_apply(live: Json, proposed: Json, manifest: Json) -> list[str]:
    """Return a note about fields of an earlier undo that an apply leaves, because its manifest lacks them.

    Args:
        live: the present WebApp.
        proposed: the WebApp after the apply.
        manifest: the applied manifest.
    """
    found = [
        text(path)
        for entry in live["metadata"].get("managedFields") or []
        if entry.get("manager") == MANAGER and "subresource" not in entry
        for path in _lacking(_of_spec(entry), proposed["spec"], manifest["spec"], ("f:spec",))
    ]
    it = "it" if len(found) == 1 else "them"
    note = (
        f"{MANAGER} owns {_listed(found)}, and the manifest lacks {it}: this apply does not remove {it}. "
        f"To remove {it}: {_edit(live)}"
    )
    return [note] if found else []


def _lacking(fields: Fields, proposed: Any, manifest: Any, path: Path) -> Iterator[Path]:
    """Yield the highest paths of a field set that are in the proposed value, but not in the manifest."""
    for element, below in fields.items():
        stored, given = _at(proposed, element), _at(manifest, element)
        if element in (".", "f:paused") or stored is _MISSING:
            continue
        if given is _MISSING:
            yield (*path, element)
        else:
            yield from _lacking(below, stored, given, (*path, element))


def _at(value: Any, element: str) -> Any:
    """Return the field or the item of an element. A manifest may leave out a merge key that has a default."""
    kind, _, literal = element.partition(":")
    if kind == "f":
        return value.get(literal, _MISSING) if isinstance(value, Mapping) else _MISSING
    items = value if isinstance(value, list) and kind in ("k", "v") else []
    wanted = json.loads(literal) if items else None
    return next((item for item in items if _is_item(item, wanted)), _MISSING)


def _is_item(item: Any, wanted: Any) -> bool:
    if isinstance(item, Mapping) and isinstance(wanted, Mapping):
        return all(item.get(key, part) == part for key, part in wanted.items())
    return bool(item == wanted)


def _is_applied_by_server(webapp: Json) -> bool:
    entries = webapp["metadata"].get("managedFields") or []
    return any(entry.get("operation") == "Apply" and _of_spec(entry) for entry in entries)


def _of_spec(entry: Mapping[str, Any]) -> Fields:
    fields: Fields = (entry.get("fieldsV1") or {}).get("f:spec") or {}
    return fields


def _listed(fields: Sequence[str]) -> str:
    more = len(fields) - _LIMIT
    return ", ".join(fields[:_LIMIT]) + (f" and {more} more fields" if more > 0 else "")


def _edit(webapp: Json) -> str:
    return f"kubectl edit webapp {webapp['metadata']['name']} -n {webapp['metadata']['namespace']}"
