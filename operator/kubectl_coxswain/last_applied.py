"""The fields restored by an undo: those that a later apply removes, and those that it leaves. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.edit import without
from coxswain.kernel.objects.field_paths import Fields, Path, at, text
from kubectl_coxswain.fields import leaves
from kubectl_coxswain.kubectl import MANAGER, Json

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The manifest of the last client-side apply. The next one removes the fields that only this manifest has."""

_MOST_BYTES = 256 * 1024 - 1024
"""The limit of the API server for all annotations of an object (ValidateAnnotationsSize), less the change cause."""
_LIMIT = 5
_MISSING: Any = object()
_ANNOTATION: Path = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")


def last_applied(webapp: Json, spec: Json) -> dict[str, str]:
    """Return the annotation of the last client-side apply after a change to another spec.

    A later `kubectl apply` then removes the fields that the undo brings back, and keeps those that the undo does not
    change and the last apply did not set. Nothing is returned without a valid annotation, and if all annotations would
    exceed the limit of the API server.
    """
    last = last_manifest(webapp)
    if last is None:
        return {}
    merged = _merged(last["spec"], webapp.get("spec") or {}, spec)
    made = {LAST_APPLIED: json.dumps({**last, "spec": merged}, separators=(",", ":")) + "\n"}
    annotations = {**webapp["metadata"]["annotations"], **made}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items())
    return made if size <= _MOST_BYTES else {}


def last_manifest(webapp: Json) -> Json | None:
    """Return the manifest of the last client-side apply; None without a valid annotation."""
    try:
        last = json.loads((webapp["metadata"].get("annotations") or {}).get(LAST_APPLIED, ""))
    except ValueError:
        return None
    return last if isinstance(last, dict) and isinstance(last.get("spec"), dict) else None


def _merged(last: Any, present: Any, restored: Any) -> Any:
    """Return a value of the last apply after the undo: it changes where the undo changes the WebApp."""
    if restored == present:
        return last
    if not (isinstance(present, Mapping) and isinstance(restored, Mapping)):
        return restored
    known = last if isinstance(last, Mapping) else {}
    found = {
        key: _merged(*(each.get(key, _MISSING) for each in (known, present, restored))) for key in (*known, *restored)
    }
    merged = {key: value for key, value in found.items() if value is not _MISSING}
    # With an empty map that the last apply lacks, the next one would remove the whole map.
    return merged if merged or last is known else last


def note_before_undo(webapp: Json, spec: Json) -> list[str]:
    """Return a note about the fields that a later apply does not remove after the undo.

    With the annotation of `last_applied`, a later apply removes all fields that the undo brings back: the first
    `kubectl apply --server-side` migrates the fields of the manager that wrote the annotation, now kubectl-coxswain.
    It then no longer migrates those of kubectl-client-side-apply (`migrateToSSAIfNecessary` of kubectl).
    """
    last, remove = last_manifest(webapp), f"To remove such a field then: {_edit(webapp)}"
    if last is not None:
        merged = _merged(last["spec"], webapp["spec"], spec)
        fields = [text(path) for path in _added(last["spec"], merged, ("f:spec",))]
        if not fields or last_applied(webapp, spec):
            return []
        why = "the annotation of the last apply would exceed the limit of the API server"
        lacks = f"if its manifest lacks {_them(fields)}"
        return [f"a later kubectl apply does not remove {_listed(fields)} {lacks}: {why}. {remove}"]
    fields = [place for place, _, after in leaves("spec", webapp["spec"], spec) if after is not None]
    if not fields or not _is_applied_by_server(webapp):
        return []
    effect = "needs --force-conflicts, and does not remove a field that its manifest lacks"
    return [f"only {MANAGER} will own {_listed(fields)}. A later kubectl apply --server-side {effect}. {remove}"]


def _added(last: Mapping[str, Any], merged: Mapping[str, Any], path: Path) -> Iterator[Path]:
    """Yield the highest paths outside of the last apply. A list is one value: kubectl replaces or removes all of it."""
    for name, value in sorted(merged.items()):
        place = (*path, f"f:{name}")
        if name not in last:
            yield place
        elif isinstance(value, Mapping) and isinstance(last[name], Mapping):
            yield from _added(last[name], value, place)


def note_before_apply(live: Json, proposed: Json, manifest: Json) -> list[str]:
    """Return a note about fields of an earlier undo: an apply leaves them, because its manifest lacks them.

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
    it = _them(found)
    note = (
        f"{MANAGER} owns {_listed(found)}, and the manifest lacks {it}: this apply does not remove {it}. "
        f"To remove {it}: {_edit(live)}"
    )
    return [note] if found else []


def _lacking(fields: Fields, proposed: Any, manifest: Any, path: Path) -> Iterator[Path]:
    """Yield the highest paths of a field set in the proposed value, but not in the manifest."""
    for element, below in fields.items():
        stored, given = _at(proposed, element), _at(manifest, element)
        if element in (".", "f:paused") or stored is _MISSING:
            continue
        if given is _MISSING:
            yield (*path, element)
        else:
            yield from _lacking(below, stored, given, (*path, element))


def after_server_side(live: Json, spec: Json, manifest: Json, applier: str) -> Json:
    """Return a spec without the fields that a server-side apply removes, because the manifest lacks them.

    kubectl first takes over the fields of the managers that wrote the annotation (`migrateToSSAIfNecessary`). A dry-run
    stores nothing between both steps, so its answer still has these fields.

    Args:
        live: the present WebApp.
        spec: its spec with the values of the manifest.
        manifest: the spec of the manifest.
        applier: the field manager of the apply.
    """
    ours: list[Fields] = []
    others: list[Fields] = []
    for entry in live["metadata"].get("managedFields") or []:
        fields = entry.get("fieldsV1") or {}
        is_apply = entry.get("operation") == "Apply"
        counts = entry.get("manager") == applier if is_apply else at(fields, _ANNOTATION) is not None
        (ours if counts and "subresource" not in entry else others).append(fields)
    whole = {"spec": spec}
    for fields in ours:
        for path in _given_up(fields.get("f:spec") or {}, whole["spec"], manifest, others, ("f:spec",)):
            whole = without(whole, path)
    return whole["spec"]


def _given_up(fields: Fields, stored: Any, manifest: Any, others: Sequence[Fields], path: Path) -> Iterator[Path]:
    """Yield the highest paths of a field set that the manifest lacks and no other manager owns."""
    for element, below in fields.items():
        place, value, given = (*path, element), _at(stored, element), _at(manifest, element)
        if element == "." or value is _MISSING:
            continue
        if given is _MISSING and not any(at(each, place) is not None for each in others):
            yield place
        else:
            yield from _given_up(below, value, None if given is _MISSING else given, others, place)


def _at(value: Any, element: str) -> Any:
    """Return the field or the item of an element. A manifest may leave out a merge key with a default."""
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


def _them(fields: Sequence[str]) -> str:
    return "it" if len(fields) == 1 else "them"


def _edit(webapp: Json) -> str:
    return f"kubectl edit webapp {webapp['metadata']['name']} -n {webapp['metadata']['namespace']}"
