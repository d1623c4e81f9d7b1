"""Drift of a child: each field that the operator owns, changed or removed by another writer.

The list of fields comes from the operator's entry in the child's managedFields.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fault_engine.objects import Object
from fault_engine.script import Edit
from fault_engine.workload import Workload

_OTHER_VALUES: dict[str, tuple[Any, ...]] = {
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "sessionAffinity": ("None", "ClientIP"),
    "scheme": ("HTTP", "HTTPS"),
    "operator": ("Exists", "Equal"),
    "fieldPath": ("metadata.name", "metadata.namespace"),
    "path": ("/other", "/another"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "dnsPolicy": ("Default", "ClusterFirst"),
    "fsGroupChangePolicy": ("OnRootMismatch", "Always"),
    "mountPath": ("/other", "/another"),
    "subPath": ("other", "another"),
    "nameservers": (["192.0.2.1"], ["192.0.2.2"]),
    "workingDir": ("/tmp", "/srv"),  # noqa: S108 - a path in a container that never runs
}
"""Two valid values of each field with few valid values."""

_SKIPPED = {
    "type": "on a Service it allocates node ports; elsewhere it selects a union member: see fault_engine.switches",
    "serviceAccountName": "the server also sets serviceAccount for the other manager, and that field stays with it",
    "apiVersion": "it belongs to a reference to an owner or a field",
    "kind": "the garbage collector deletes a child whose owner does not exist",
}


@dataclass(frozen=True)
class Place:
    """One field that the operator owns."""

    path: str
    """The readable path."""
    pointer: str
    """The path as a JSON Pointer."""
    value: Any
    skipped: str = ""
    """Why the field is not tested; empty if it is."""


def places(thing: Object, workload: Workload) -> list[Place]:
    """Return all fields of an object that the operator has applied."""
    return list(_places(workload.applied(thing) or {}, thing, "", "", ()))


def edit(resource: str, thing: Object, place: Place, operation: str) -> Edit:
    """Return the edit that changes (`replace`) or removes (`remove`) a field. The server may refuse it."""
    step: dict[str, Any] = {"op": operation, "path": place.pointer}
    if operation == "replace":
        step["value"] = another(place.pointer.rpartition("/")[2], place.value)
    return Edit(resource, thing["metadata"]["name"], [step], "json", refusable=True)


def _places(fields: Mapping[str, Any], live: Any, path: str, pointer: str, keys: tuple[str, ...]) -> Iterator[Place]:
    for element, inner in fields.items():
        kind, _, text = element.partition(":")
        if kind == "f" and isinstance(live, Mapping) and text in live:
            deeper = f"{pointer}/{text.replace('~', '~0').replace('/', '~1')}"
            shown = f"{path}.{text}".removeprefix(".")
            if inner and inner.keys() != {"."}:
                yield from _places(inner, live[text], shown, deeper, ())
            else:
                yield Place(shown, deeper, live[text], _reason(shown, text, keys))
        elif kind == "k" and isinstance(live, list):
            wanted = json.loads(text)
            index = next(number for number, item in enumerate(live) if _has(item, wanted))
            shown = f"{path}[{','.join(str(value) for value in wanted.values())}]"
            yield from _places(inner, live[index], shown, f"{pointer}/{index}", tuple(wanted))


def _has(item: Any, keys: Mapping[str, Any]) -> bool:
    return all(item.get(key) == value for key, value in keys.items())


def _reason(path: str, name: str, keys: tuple[str, ...]) -> str:
    if name in keys:
        return "merge key: see fault_engine.switches"
    if path.startswith("metadata.ownerReferences") and name == "name":
        return _SKIPPED["kind"]
    if name in _SKIPPED and not path.startswith("metadata.labels"):
        return _SKIPPED[name]
    return ""


def another(name: str, value: Any) -> Any:
    """Return a different, most likely valid, value for a field."""
    if name in _OTHER_VALUES:
        return next(other for other in _OTHER_VALUES[name] if other != value)
    if isinstance(value, int):
        return not value if isinstance(value, bool) else value + 1
    if isinstance(value, str):
        return _another_text(value)
    if isinstance(value, list):
        return [*value[:-1], another(name, value[-1])] if value else ["other"]
    key = next((key for key, inner in value.items() if isinstance(inner, str) and key not in _SKIPPED), None)
    return {**value, "other": "value"} if key is None else {**value, key: another(key, value[key])}


def _another_text(value: str) -> str:
    number = re.fullmatch(r"(\d+)(.*)", value)
    if number and number[2] in ("", "%", "m", "Ki", "Mi", "Gi"):
        return f"{int(number[1]) + 1}{number[2]}"
    return f"{value}x"
