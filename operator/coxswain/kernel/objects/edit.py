"""Read, set and remove the value at a field path of a manifest."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import ORDER, ElementIndex, Fields, Path, matches


def value_at(value: Any, path: Path) -> Any:
    """Return the value at a path, the whole list for an order; None if the path does not exist."""
    for element in path:
        if element == ORDER:
            return value
        if isinstance(value, Mapping):
            value = value.get(element.removeprefix("f:"))
        elif isinstance(value, list):
            value = next((item for item in value if matches(element, item)), None)
        else:
            return None
    return value


def contains(value: Any, part: Any) -> bool:
    """Report whether a value equals `part`, apart from more entries of maps: of others, or defaults."""
    if isinstance(value, Mapping) and isinstance(part, Mapping):
        return all(key in value and contains(value[key], below) for key, below in part.items())
    if isinstance(value, list) and isinstance(part, list):
        return len(value) == len(part) and all(map(contains, value, part))
    return bool(value == part)


def with_value(value: Any, path: Path, new: Any) -> Any:
    """Return a copy with `new` at a path, creating the missing maps, lists and items on the way."""
    if not path:
        return new
    element, rest = path[0], path[1:]
    if element.startswith("f:"):
        key, mapping = element.removeprefix("f:"), value or {}
        return {**mapping, key: with_value(mapping.get(key), rest, new)}
    items = list(value or [])
    index = next((index for index, item in enumerate(items) if matches(element, item)), None)
    if index is None:
        return [*items, with_value(_keys(element), rest, new)]
    items[index] = with_value(items[index], rest, new)
    return items


def without(value: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a copy of a map without the field at a path; parents left empty are removed as well."""
    element, rest = path[0], path[1:]
    key = element.removeprefix("f:")
    if key not in value:
        return dict(value)
    if not rest:
        return {name: item for name, item in value.items() if name != key}
    child = value[key]
    remaining = _without_item(child, rest) if isinstance(child, list) else without(child, rest)
    return {name: remaining if name == key else item for name, item in value.items() if name != key or remaining}


def owned_part(value: Any, fields: Fields) -> Any:
    """Return the part of a value owned by `fields`, whose paths start at this value.

    An atomic field is owned as a whole.
    """
    elements = [element for element in fields if element != "."]
    if not elements and "." not in fields:
        return value
    if isinstance(value, Mapping):
        subfields = {element.removeprefix("f:"): below for element, below in fields.items() if element != "."}
        return {name: owned_part(value[name], below) for name, below in subfields.items() if name in value}
    if isinstance(value, list):
        index = ElementIndex(elements)
        owned_items = [(element, item) for item in value for element in index.elements(item)]
        return [_owned_item(element, item, fields[element]) for element, item in owned_items]
    return value


def in_order_of(model: Sequence[Any], items: Sequence[Any], elements: Iterable[str]) -> list[Any]:
    """Return list items in the order of their counterparts in `model`, and then those without one.

    `elements` are path elements of the list: they tell which items are counterparts.
    """
    index = ElementIndex(elements)
    positions = index.positions(model)
    last = len(model)
    return sorted(
        items, key=lambda item: min([positions.get(each, last) for each in index.elements(item)], default=last)
    )


def _owned_item(element: str, item: Any, fields: Fields) -> Any:
    return {**_keys(element), **owned_part(item, fields)} if isinstance(item, Mapping) else item


def _keys(element: str) -> Any:
    """Return a list item with its merge keys, or its value in a set, parsed from the path element."""
    return json.loads(element.partition(":")[2])


def _without_item(items: list[Any], path: Path) -> list[Any]:
    element, rest = path[0], path[1:]
    if not rest:
        return [item for item in items if not matches(element, item)]
    return [without(item, rest) if matches(element, item) else item for item in items]
