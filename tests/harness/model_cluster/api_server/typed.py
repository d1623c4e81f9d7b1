"""Typed values: their fields, the difference between two, the merge of two, and the removal of fields.

After the package `typed` of sigs.k8s.io/structured-merge-diff, which the API server uses.
"""

from dataclasses import dataclass

from model_cluster.api_server.fieldset import MEMBER, Fields, node
from model_cluster.api_server.schema import (
    LEAF,
    Json,
    KeyedList,
    Malformed,
    Map,
    Object,
    SetList,
    Struct,
    Type,
    element_of,
)


@dataclass(frozen=True)
class Comparison:
    """The difference made by a change."""

    changed: Fields
    """Added or modified fields."""
    removed: Fields


def undeclared(kind: Struct, value: Object, path: str = "") -> str | None:
    """Return the first field unknown to the type."""
    for name, below in value.items():
        inside = kind.fields.get(name)
        if inside is None:
            return f"{path}.{name}"
        found = _undeclared_below(inside, below, f"{path}.{name}")
        if found is not None:
            return found
    return None


def _undeclared_below(kind: Type, value: Json, path: str) -> str | None:
    if isinstance(kind, Struct) and isinstance(value, dict):
        return undeclared(kind, value, path)
    if isinstance(kind, KeyedList) and isinstance(kind.item, Struct) and isinstance(value, list):
        for item in value:
            found = undeclared(kind.item, item, f"{path}[{element_of(kind, item)[2:]}]")
            if found is not None:
                return found
    return None


def field_set(kind: Type, value: Json) -> Fields:
    """Return the fields of a value that an apply owns: non-empty maps and lists are not among them."""
    found: Fields = {}
    if isinstance(kind, Struct | Map) and isinstance(value, dict):
        named = kind.fields if isinstance(kind, Struct) else {}
        for name, below in value.items():
            inside = named.get(name, LEAF)
            children = field_set(inside, below)
            member = type(inside) is Type or below is None or below == {} or name not in named
            each = node(children, member=member)
            if each is not None:
                found[f"f:{name}"] = each
    elif isinstance(kind, KeyedList | SetList) and isinstance(value, list):
        for item in value:
            element = element_of(kind, item)
            if element in found:
                raise Malformed(f"duplicate entries for key {element}")
            children = field_set(kind.item, item) if isinstance(kind, KeyedList) else {}
            found[element] = node(children, member=True) or MEMBER
    return found


def all_fields(kind: Type, value: Json) -> Fields:
    """Return the fields of an added or removed value: every node is a member."""
    found: Fields = {}
    if isinstance(kind, Struct | Map) and isinstance(value, dict):
        named = kind.fields if isinstance(kind, Struct) else {}
        for name, below in value.items():
            found[f"f:{name}"] = node(all_fields(named.get(name, LEAF), below), member=True) or MEMBER
    elif isinstance(kind, KeyedList) and isinstance(value, list):
        for item in value:
            found[element_of(kind, item)] = node(all_fields(kind.item, item), member=True) or MEMBER
    elif isinstance(kind, SetList) and isinstance(value, list):
        for item in value:
            found[element_of(kind, item)] = MEMBER
    return found


def compare(kind: Type, old: Object, new: Object) -> Comparison:
    """Return the difference between two objects."""
    changed, removed = _compared(kind, old, new)
    return Comparison(changed or {}, removed or {})


_Compared = tuple[Fields | None, Fields | None]
_SAME: _Compared = (None, None)


def _compared(kind: Type, old: Json, new: Json) -> _Compared:
    """Return the added or changed fields, and the removed fields, of a value present in both."""
    if old is new:
        return _SAME
    if old is None or new is None:
        old, new = _emptied(old, new), _emptied(new, old)
    if isinstance(kind, Struct | Map) and isinstance(old, dict) and isinstance(new, dict):
        named = kind.fields if isinstance(kind, Struct) else {}
        lefts = {f"f:{name}": (named.get(name, LEAF), below) for name, below in old.items()}
        rights = {f"f:{name}": (named.get(name, LEAF), below) for name, below in new.items()}
        return _zipped(lefts, rights)
    if isinstance(kind, KeyedList | SetList) and isinstance(old, list) and isinstance(new, list):
        item = kind.item if isinstance(kind, KeyedList) else LEAF
        return _zipped(
            {element_of(kind, each): (item, each) for each in old},
            {element_of(kind, each): (item, each) for each in new},
        )
    return _SAME if old == new and type(old) is type(new) else (MEMBER, None)


def _emptied(value: Json, other: Json) -> Json:
    """Return an empty map or list in place of a null."""
    return type(other)() if value is None and isinstance(other, dict | list) else value


def _zipped(lefts: dict[str, tuple[Type, Json]], rights: dict[str, tuple[Type, Json]]) -> _Compared:
    changed: Fields = {}
    removed: Fields = {}
    for element, (inside, left) in lefts.items():
        if element not in rights:
            removed[element] = node(all_fields(inside, left), member=True) or MEMBER
            continue
        more, less = _compared(inside, left, rights[element][1])
        if more is not None:
            changed[element] = more
        if less is not None:
            removed[element] = less
    for element, (inside, right) in rights.items():
        if element not in lefts:
            changed[element] = node(all_fields(inside, right), member=True) or MEMBER
    return changed or None, removed or None


def merge(kind: Type, live: Json, applied: Json) -> Json:
    """Return a value merged with an applied one."""
    if isinstance(kind, Struct | Map) and isinstance(live, dict) and isinstance(applied, dict):
        return _merged_maps(kind, live, applied)
    if isinstance(kind, KeyedList | SetList) and isinstance(live, list) and isinstance(applied, list):
        return _merged_lists(kind, live, applied)
    return live if live == applied and type(live) is type(applied) else applied


def _merged_maps(kind: Struct | Map, live: Object, applied: Object) -> Object:
    named = kind.fields if isinstance(kind, Struct) else {}
    found = dict(live)
    same = True
    for name, below in applied.items():
        if name in live:
            found[name] = merge(named.get(name, LEAF), live[name], below)
            same = same and found[name] is live[name]
        else:
            found[name] = below
            same = False
    return live if same else found


def _merged_lists(kind: KeyedList | SetList, live: list[Json], applied: list[Json]) -> list[Json]:
    """Return the items of both: items only in the live list keep their place before their old successors."""
    lefts = {element_of(kind, item): item for item in live}
    rights = {element_of(kind, item): item for item in applied}
    if len(rights) != len(applied):
        raise Malformed("duplicate entries for a key")
    item_type = kind.item if isinstance(kind, KeyedList) else LEAF
    both = {
        element: merge(item_type, lefts[element], item) if element in lefts else item
        for element, item in rights.items()
    }
    order = _merged_order(list(lefts), list(rights))
    found = [both[element] if element in both else lefts[element] for element in order]
    same = len(found) == len(live) and all(one is other for one, other in zip(found, live, strict=True))
    return live if same else found


def _merged_order(lefts: list[str], rights: list[str]) -> list[str]:
    known, wanted = set(lefts), set(rights)
    shared = [element for element in rights if element in known]
    if lefts[: len(rights)] == rights:
        return lefts
    found: list[str] = []
    merged: set[str] = set()
    left = right = 0
    while left < len(lefts) or right < len(rights):
        if left < len(lefts):
            element = lefts[left]
            if element not in wanted:
                found.append(element)
                left += 1
                continue
            skipped = right < len(rights) and element != rights[right] and shared and shared[0] != element
            if skipped or element in merged:
                left += 1
                continue
        if right < len(rights):
            element = rights[right]
            if left < len(lefts) and lefts[left] == element:
                left += 1
            found.append(element)
            merged.add(element)
            right += 1
            if shared and shared[0] == element:
                shared.pop(0)
    return found


def remove(kind: Type, value: Json, fields: Fields) -> Json:
    """Return a value without fields; None if a map or list becomes empty."""
    if not fields or not value:
        return value
    if isinstance(kind, Struct | Map) and isinstance(value, dict):
        return _removed_from_map(kind, value, fields)
    if isinstance(kind, KeyedList | SetList) and isinstance(value, list):
        left = []
        for item in value:
            below = fields.get(element_of(kind, item))
            if below is None:
                left.append(item)
            elif below and "." not in below:
                left.append(remove(kind.item if isinstance(kind, KeyedList) else LEAF, item, below))
        return (value if _identical(left, value) else left) or None
    return value


def _removed_from_map(kind: Struct | Map, value: Object, fields: Fields) -> Object | None:
    named = kind.fields if isinstance(kind, Struct) else {}
    found = {}
    same = True
    for name, below in value.items():
        gone = fields.get(f"f:{name}")
        if gone is None:
            found[name] = below
            continue
        if not gone or "." in gone:
            same = False
            continue
        found[name] = remove(named.get(name, LEAF), below, gone)
        same = same and found[name] is below
    return value if same else found or None


def _identical(one: list[Json], other: list[Json]) -> bool:
    return len(one) == len(other) and all(left is right for left, right in zip(one, other, strict=True))
