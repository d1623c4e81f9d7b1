"""`fieldsV1`, the language of managedFields: which fields, items and atomic parts of an object an entry owns.

Elements are f:<field>, k:<merge keys of an item>, v:<item of a set>, and `.` for the thing itself
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#fieldsv1).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Fields = Mapping[str, Any]
"""A `fieldsV1`."""

Path = tuple[str, ...]
"""A place in an object, in elements of `fieldsV1`."""


class Entry(NamedTuple):
    """An entry of managedFields."""

    manager: str
    fields: Fields
    operation: str = "Update"


def text(path: Path) -> str:
    """Return the place as a person writes it: spec.containers[name=app].image."""
    return "".join(_shown(element) for element in path).removeprefix(".")


def inner(spelled: Iterable[Fields], element: str) -> list[Fields]:
    """Return what these fields say below an element."""
    return [fields[element] for fields in spelled if element in fields]


def spelling(spelled: Iterable[Fields]) -> list[str]:
    """Return the elements of all these fields, each once."""
    return list(dict.fromkeys(element for fields in spelled for element in fields if element != "."))


def matches(element: str, item: Any) -> bool:
    """Tell whether an element means this item of a list."""
    kind, _, spelled = element.partition(":")
    if kind not in ("k", "v"):
        return False
    value = _spelled(spelled)
    if kind == "k":
        return isinstance(item, Mapping) and all(item.get(key) == part for key, part in value.items())
    return bool(item == value)


def is_key(element: str, place: Path) -> bool:
    """Tell whether a place inside an item is one of the merge keys that its element names."""
    kind, _, spelled = element.partition(":")
    return kind == "k" and len(place) == 1 and place[0].removeprefix("f:") in _spelled(spelled)


def element_of(item: Any, known: Sequence[str]) -> str:
    """Return the element of an item, after the keys of items that are known."""
    kind, _, spelled = known[0].partition(":")
    if kind == "k" and isinstance(item, Mapping):
        return "k:" + json.dumps({key: item.get(key) for key in _spelled(spelled)}, separators=(",", ":"))
    return "v:" + json.dumps(item)


def owns(fields: Fields, path: Path) -> bool:
    """Tell whether fields hold the place, or something in it.

    A map or an item that is held without anything in it is not what is in it: `f:annotations: {}` is all that is left
    to a manager whose annotation was taken. No place leads into what is atomic.
    """
    return at(fields, path) is not None


def minus(fields: Fields, taken: Fields) -> dict[str, Any]:
    """Return `fields` without those that `taken` holds too; what is emptied by it goes as well."""
    left: dict[str, Any] = {}
    for element, below in fields.items():
        if element not in taken:
            left[element] = below
        elif rest := minus(below, taken[element]):
            left[element] = rest
    return left if left.keys() - {"."} else {}


def minus_place(fields: Fields, path: Path) -> dict[str, Any]:
    """Return `fields` without a place and all that is in it."""
    if not path or at(fields, path) is None:
        return dict(fields) if path else {}
    rest = {element: below for element, below in fields.items() if element != path[0]}
    below = minus_place(fields[path[0]], path[1:])
    left = {**rest, path[0]: below} if below else rest
    return left if left.keys() - {"."} else {}


def at(fields: Fields, path: Path) -> Fields | None:
    """Return what these fields hold at a place and in it; None if nothing."""
    for element in path:
        if element not in fields:
            return None
        fields = fields[element]
    return fields


def plus(fields: Fields, path: Path, held: Fields) -> dict[str, Any]:
    """Return `fields` with what is held at a place added."""
    if not path:
        return _merged(fields, held)
    return {**fields, path[0]: plus(fields.get(path[0], {}), path[1:], held)}


def _merged(one: Fields, other: Fields) -> dict[str, Any]:
    keys = dict.fromkeys([*one, *other])
    return {key: _merged(one.get(key, {}), other.get(key, {})) for key in keys}


@lru_cache(maxsize=4096)
def _spelled(text: str) -> Any:
    """Return the keys or the value that an element spells: few elements, each asked for at every comparison."""
    return json.loads(text)


def _shown(element: str) -> str:
    kind, _, spelled = element.partition(":")
    if kind == "f":
        return f"[{spelled}]" if "/" in spelled or "." in spelled else f".{spelled}"
    if kind == "k":
        return "[" + ",".join(f"{key}={value}" for key, value in json.loads(spelled).items()) + "]"
    return f"[{spelled}]"
