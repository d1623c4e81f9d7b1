"""managedFields written by hand: what an apply can't do, since it never takes a field away from another manager.

The patch names the resourceVersion that it was computed from, so it is refused with 409 if the object has changed
since; a failed `test` would be a 422, which means other things too
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, Path, at, minus, minus_place, plus

BEFORE_FIRST_APPLY = "before-first-apply"
"""The entry that the API server makes of all fields when an object without managedFields is applied."""

UNKNOWN = "unknown"
"""The manager of a change of which managedFields say nothing."""

ANOTHER_COXSWAIN = "another coxswain"
"""The manager of a change that was written under our own name, but not by this process."""

_Entry = Mapping[str, Any]


def taken_over(
    entries: Sequence[_Entry], paths: Sequence[Path], manager: str, *, api_version: str, now: str
) -> list[_Entry]:
    """Return managedFields in which these places are ours and nobody else's, so that the next apply decides on them."""
    held: Fields = {}
    for path in paths:
        for entry in entries:
            below = at(entry.get("fieldsV1", {}), path)
            held = plus(held, path, below if below is not None else {})
    rest = [
        _changed(entry, lambda fields: _minus_places(fields, paths)) for entry in entries if not _is_by(manager, entry)
    ]
    ours = next((entry for entry in entries if _is_by(manager, entry)), None) or {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
    }
    return [
        *(entry for entry in rest if entry is not None),
        {**ours, "fieldsV1": plus(ours.get("fieldsV1", {}), (), held)},
    ]


def released(entries: Sequence[_Entry], is_released: Callable[[str, str], bool], manager: str) -> list[_Entry]:
    """Return managedFields in which some managers, by name and operation, hold no field that is ours.

    What they hold beyond our fields stays theirs: nothing of the object changes, now or with the next apply, but once a
    field of ours is no longer desired it can go.
    """
    owned: Fields = next((entry["fieldsV1"] for entry in entries if _is_by(manager, entry)), {})
    changed = [
        _changed(entry, lambda fields: minus(fields, owned))
        if _is_of_the_spec(entry) and is_released(str(entry.get("manager", "")), str(entry.get("operation", "")))
        else entry
        for entry in entries
    ]
    return [entry for entry in changed if entry is not None]


def patch(entries: Sequence[_Entry], version: str) -> list[dict[str, Any]]:
    """Return the JSON Patch that sets managedFields of the object with this resourceVersion."""
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": list(entries)},
    ]


def _minus_places(fields: Fields, paths: Sequence[Path]) -> Fields:
    for path in paths:
        fields = minus_place(fields, path)
    return fields


def _changed(entry: _Entry, change: Callable[[Fields], Fields]) -> _Entry | None:
    """Return an entry with other fields; None if it is left without any."""
    fields = change(entry.get("fieldsV1", {}))
    return {**entry, "fieldsV1": fields} if fields else None


def _is_by(manager: str, entry: _Entry) -> bool:
    return (entry.get("manager"), entry.get("operation")) == (manager, "Apply") and _is_of_the_spec(entry)


def _is_of_the_spec(entry: _Entry) -> bool:
    return entry.get("subresource") != "status"
