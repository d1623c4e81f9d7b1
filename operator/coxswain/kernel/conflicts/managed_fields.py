"""Edit managedFields directly, because an apply never removes another manager's ownership of a field.

The patch contains the resourceVersion of the object that it was computed from. If the object has changed since, the API
server rejects the patch with 409. A failed `test` operation would return 422, which has other causes as well
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, Path, at, minus, minus_path, plus
from coxswain.kernel.objects.quote import clean

BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager of all fields after the first apply to an object without managedFields, set by the API server."""

UNKNOWN = "unknown"
"""The manager of a change not recorded in managedFields."""

MANAGER_LIMIT = 128
"""Maximum length of a manager's name, as in the CRD."""

ANOTHER_OPERATOR = "another operator"
"""The manager of a change made under our manager name, but by another process."""

_Entry = Mapping[str, Any]


def shown_manager(manager: str) -> str:
    """Return the name of a field manager for the status.

    Its owner chooses it. In messages a command follows a colon and a space, so that no name has them.
    """
    return clean(manager, MANAGER_LIMIT).replace(": ", ":") or UNKNOWN


def reassigned(
    entries: Sequence[_Entry], paths: Sequence[Path], manager: str, *, api_version: str, now: str
) -> list[_Entry]:
    """Return managedFields with these paths owned by our manager alone.

    The next apply then removes or keeps the fields, regardless of their former owners.
    """
    combined: Fields = {}
    for path in paths:
        for entry in entries:
            below = at(entry.get("fieldsV1", {}), path)
            combined = plus(combined, path, below if below is not None else {})
    others = [
        _changed(entry, lambda fields: _minus_paths(fields, paths))
        for entry in entries
        if not _is_apply_entry_of(manager, entry)
    ]
    ours = next((entry for entry in entries if _is_apply_entry_of(manager, entry)), None) or {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
    }
    return [
        *(entry for entry in others if entry is not None),
        {**ours, "fieldsV1": plus(ours.get("fieldsV1", {}), (), combined)},
    ]


def released(entries: Sequence[_Entry], is_former: Callable[[str, str], bool], manager: str) -> list[_Entry]:
    """Return managedFields in which the former managers no longer own our fields.

    The managers keep their other fields. Neither this patch nor the next apply changes a value, but our fields can be
    removed once they are no longer desired.

    Args:
        entries: the managedFields of the object.
        is_former: tells whether a manager, by name and operation, must give up our fields.
        manager: our field manager.
    """
    owned: Fields = next((entry["fieldsV1"] for entry in entries if _is_apply_entry_of(manager, entry)), {})
    changed = [
        _changed(entry, lambda fields: minus(fields, owned))
        if is_former(str(entry.get("manager", "")), str(entry.get("operation", "")))
        else entry
        for entry in entries
    ]
    return [entry for entry in changed if entry is not None]


def patch(entries: Sequence[_Entry], version: str) -> list[dict[str, Any]]:
    """Return the JSON Patch to set managedFields of the object with this resourceVersion."""
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": list(entries)},
    ]


def _minus_paths(fields: Fields, paths: Sequence[Path]) -> Fields:
    for path in paths:
        fields = minus_path(fields, path)
    return fields


def _changed(entry: _Entry, change: Callable[[Fields], Fields]) -> _Entry | None:
    """Return an entry with changed fields; None if no field is left."""
    fields = change(entry.get("fieldsV1", {}))
    return {**entry, "fieldsV1": fields} if fields else None


def _is_apply_entry_of(manager: str, entry: _Entry) -> bool:
    is_for_status = entry.get("subresource") == "status"
    return not is_for_status and (entry.get("manager"), entry.get("operation")) == (manager, "Apply")
