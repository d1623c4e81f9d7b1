"""Sets of fields in the format of managedFields (fieldsV1): trees of elements that may or may not be members.

An empty node is a member; so is a node with `.` in it. The root of a set is no member: `{}` is the empty set.
Sets are immutable: each operation returns a new set that shares unchanged parts.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from model_cluster.api_server.schema import KeyedList, Struct, Type

Fields = dict[str, Any]

MEMBER: Fields = {}
"""A member node without children."""


def node(children: Fields, *, member: bool) -> Fields | None:
    """Return a node, or None for an empty node without membership."""
    if not children:
        return MEMBER if member else None
    return {".": MEMBER, **children} if member else children


def is_member(found: Fields) -> bool:
    """Return whether a node itself is a member."""
    return not found or "." in found


def union(one: Fields, other: Fields) -> Fields:
    """Return the union of two sets."""
    if not one or one is other:
        return other
    if not other:
        return one
    found = dict(one)
    for element, below in other.items():
        found[element] = _union_of_nodes(one[element], below) if element in one else below
    return found


def _union_of_nodes(one: Fields, other: Fields) -> Fields:
    if one is other:
        return one
    if not one:
        return other if "." in other else {".": MEMBER, **other} if other else other
    if not other:
        return one if "." in one else {".": MEMBER, **one}
    return union(one, other)


def intersection(one: Fields, other: Fields) -> Fields:
    """Return the intersection of two sets."""
    if one is other:
        return one
    found = {}
    for element, below in one.items():
        if element in other and element != ".":
            both = _intersection_of_nodes(below, other[element])
            if both is not None:
                found[element] = both
    return found


def _intersection_of_nodes(one: Fields, other: Fields) -> Fields | None:
    if not one:
        return MEMBER if is_member(other) else None
    return node(intersection(one, other), member="." in one and is_member(other))


def difference(one: Fields, other: Fields) -> Fields:
    """Return the members of one set that are not in the other; fields below a member of the other stay."""
    if not other or not one:
        return one
    if one is other:
        return {}
    found = {}
    changed = False
    for element, below in one.items():
        if element == ".":
            continue
        if element not in other:
            found[element] = below
            continue
        rest = _difference_of_nodes(below, other[element])
        changed = changed or rest is not below
        if rest is not None:
            found[element] = rest
    if not changed and "." not in one:
        return one
    return found


def _difference_of_nodes(one: Fields, other: Fields) -> Fields | None:
    if not one:
        return None if is_member(other) else one
    children = difference(one, other) if other else {key: below for key, below in one.items() if key != "."}
    member = "." in one and not is_member(other)
    if children == one:
        return one
    return node(children, member=member)


def named(kind: Type, found: Fields) -> Fields:
    """Return a set in which every named field with children is also a member."""
    result = {}
    for element, below in found.items():
        if element == ".":
            continue
        inside = below_type(kind, element)
        deeper = named(inside, below) if below and inside is not None else below
        member = is_member(below) or (isinstance(kind, Struct) and element[2:] in kind.fields)
        result[element] = {".": MEMBER, **deeper} if member and deeper else deeper
    return result


def below_type(kind: Type, element: str) -> Type | None:
    """Return the type of an element below a type; None if that type has no children."""
    if isinstance(kind, Struct):
        return kind.fields.get(element[2:])
    if isinstance(kind, KeyedList):
        return kind.item
    return None


def paths(found: Fields, prefix: str = "") -> Iterator[str]:
    """Yield the members in the API server's notation: .spec.containers[name="app"].image."""
    for element, below in found.items():
        if element == ".":
            continue
        shown = prefix + _shown(element)
        if is_member(below):
            yield shown
        yield from paths(below, shown)


@lru_cache(maxsize=65536)
def _shown(element: str) -> str:
    kind, _, spelled = element.partition(":")
    if kind == "f":
        return f".{spelled}"
    if kind == "v":
        return f"[={spelled}]"
    keys = json.loads(spelled)
    return "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
