"""Work with `fieldsV1`, the field sets in managedFields.

A path element is f:<field>, k:<merge keys of a list item>, v:<value in a set>, or `.` for the object itself
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#fieldsv1).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Fields = Mapping[str, Any]
"""A field set in `fieldsV1` form."""

Path = tuple[str, ...]
"""A field path: a sequence of `fieldsV1` elements."""

ORDER = "order:"
"""The last element of the path of an order: the order of our items in the list before it. `fieldsV1` has no owner of an
order, so no field set contains such a path.
"""


class ManagedFieldsEntry(NamedTuple):
    """An entry of managedFields: a field manager, its fields and its operation."""

    manager: str
    fields: Fields
    operation: str = "Update"
    api_version: str = ""
    """The version that the manager wrote. The fields have their names in it: autoscaling/v1 has no spec.metrics."""


def text(path: Path) -> str:
    """Format a path for people: spec.containers[name=app].image."""
    return "".join(_readable(element) for element in path).removeprefix(".")


def subfields(field_sets: Iterable[Fields], element: str) -> list[Fields]:
    """Return the subfields below an element, one for each of the field sets with this element."""
    return [fields[element] for fields in field_sets if element in fields]


def distinct_elements(field_sets: Iterable[Fields]) -> list[str]:
    """Return the distinct elements at the top level of some field sets."""
    return list(dict.fromkeys(element for fields in field_sets for element in fields if element != "."))


def matches(element: str, item: Any) -> bool:
    """Report whether a path element selects this list item."""
    kind, _, literal = element.partition(":")
    if kind not in ("k", "v"):
        return False
    value = _parsed(literal)
    if kind == "k":
        return isinstance(item, Mapping) and all(item.get(key) == part for key, part in value.items())
    return bool(item == value)


class ElementIndex:
    """Finds the path elements that select a list item, as `matches` does, but without a look at each element."""

    def __init__(self, elements: Iterable[str]) -> None:
        """Index the elements of one list."""
        self._elements: dict[Any, str] = {}
        for element in elements:
            kind, _, literal = element.partition(":")
            if kind in ("k", "v"):
                value = _parsed(literal)
                keys = tuple(value) if kind == "k" else None
                self._elements.setdefault((keys, _identity(keys, value)), element)
        self._merge_keys = list(dict.fromkeys(keys for keys, _ in self._elements))

    def elements(self, item: Any) -> list[str]:
        """Return the elements that select an item: one, or none; more if managers know different merge keys."""
        identities = [(keys, _identity(keys, item)) for keys in self._merge_keys]
        return [self._elements[each] for each in identities if each in self._elements]

    def positions(self, items: Sequence[Any]) -> dict[str, int]:
        """Return the position of the first item that each element selects."""
        found: dict[str, int] = {}
        for position, item in enumerate(items):
            for element in self.elements(item):
                found.setdefault(element, position)
        return found


def _identity(keys: tuple[str, ...] | None, item: Any) -> str:
    """Return the values of an item's merge keys, or the item of a set, in a form that can be a key of a dict."""
    if keys is None:
        return repr(item)
    return repr([item.get(key) for key in keys]) if isinstance(item, Mapping) else ""


def is_key(element: str, path: Path) -> bool:
    """Report whether a path within a list item is one of the merge keys in its element."""
    kind, _, literal = element.partition(":")
    return kind == "k" and len(path) == 1 and path[0].removeprefix("f:") in _parsed(literal)


def missing_keys(element: str) -> list[str]:
    """Return the merge keys without a value in the path element of a list item."""
    kind, _, literal = element.partition(":")
    return [key for key, value in _parsed(literal).items() if value is None] if kind == "k" else []


def element_of(item: Any, known: Sequence[str]) -> str:
    """Return the path element of an item, in the form (keys or value) of the known elements."""
    kind, _, literal = known[0].partition(":")
    if kind == "k" and isinstance(item, Mapping):
        return "k:" + _literal({key: item.get(key) for key in _parsed(literal)})
    return "v:" + _literal(item)


def owns(fields: Fields, path: Path) -> bool:
    """Report whether a field set contains this path or a path below it.

    An empty map or item does not count as ownership of its content: `f:annotations: {}` remains in a manager's entry
    after another manager took its only annotation. Atomic fields have no paths below them.
    """
    return at(fields, path) is not None


def minus(fields: Fields, taken: Fields) -> dict[str, Any]:
    """Return `fields` without the fields in `taken`; parents left empty are removed as well."""
    remaining: dict[str, Any] = {}
    for element, below in fields.items():
        if element not in taken:
            remaining[element] = below
        elif rest := minus(below, taken[element]):
            remaining[element] = rest
    return remaining if remaining.keys() - {"."} else {}


def minus_path(fields: Fields, path: Path) -> dict[str, Any]:
    """Return `fields` without a path and everything below it."""
    if not path or at(fields, path) is None:
        return dict(fields) if path else {}
    rest = {element: below for element, below in fields.items() if element != path[0]}
    below = minus_path(fields[path[0]], path[1:])
    remaining = {**rest, path[0]: below} if below else rest
    return remaining if remaining.keys() - {"."} else {}


def at(fields: Fields, path: Path) -> Fields | None:
    """Return the field set below a path; None if `fields` does not contain the path."""
    for element in path:
        if element not in fields:
            return None
        fields = fields[element]
    return fields


def plus(fields: Fields, path: Path, held: Fields) -> dict[str, Any]:
    """Return `fields` with the field set `held` added at a path."""
    if not path:
        return _merged(fields, held)
    return {**fields, path[0]: plus(fields.get(path[0], {}), path[1:], held)}


def _merged(one: Fields, other: Fields) -> dict[str, Any]:
    keys = dict.fromkeys([*one, *other])
    return {key: _merged(one.get(key, {}), other.get(key, {})) for key in keys}


_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def _literal(value: Any) -> str:
    """Return a value as the API server writes it in managedFields: Go's encoder escapes <, > and &, but no letters."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_ESCAPES)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Any:
    """Parse the keys or the value of an element. Cached, because each comparison parses the same few elements."""
    return json.loads(text)


def _readable(element: str) -> str:
    if element == ORDER:
        return " (order)"
    kind, _, literal = element.partition(":")
    if kind == "f":
        return f"[{literal}]" if "/" in literal or "." in literal else f".{literal}"
    if kind == "k":
        return "[" + ",".join(f"{key}={value}" for key, value in json.loads(literal).items()) + "]"
    return f"[{literal}]"
