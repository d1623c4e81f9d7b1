"""The types of objects, as needed by Server-Side Apply: granular types and leaves."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

Json = Any
Object = dict[str, Any]
"""An object of the API, immutable: a change creates a new object that shares unchanged parts."""


class Type:
    """A type; without a subclass a leaf: a scalar, or an atomic map or list."""

    __slots__ = ()


LEAF = Type()


@dataclass(frozen=True, eq=False, slots=True)
class Struct(Type):
    """Named fields."""

    fields: dict[str, Type] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Map(Type):
    """A map from any name to a scalar."""


@dataclass(frozen=True, eq=False, slots=True)
class SetList(Type):
    """A list of unique scalars."""


@dataclass(frozen=True, eq=False, slots=True)
class KeyedList(Type):
    """A list of items with merge keys."""

    keys: tuple[str, ...]
    """In alphabetical order."""
    item: Type
    defaults: Mapping[str, Json]
    """Of the merge keys."""


class Malformed(Exception):
    """A list cannot be merged: an item without merge keys, or two items with the same keys."""


def element_of(kind: KeyedList | SetList, item: Json) -> str:
    """Return the element in managedFields for a list item."""
    if isinstance(kind, SetList):
        return value_element(item)
    if not isinstance(item, dict):
        raise Malformed("associative list with keys has an element that is no map")
    found = []
    for key in kind.keys:
        value = item.get(key, kind.defaults.get(key))
        if value is not None:
            found.append((key, value))
    if not found:
        raise Malformed("associative list with keys has an element that omits all key fields")
    return _key_element(tuple(found))


@lru_cache(maxsize=65536)
def _key_element(found: tuple[tuple[str, Json], ...]) -> str:
    return "k:" + json.dumps(dict(found), separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=65536)
def value_element(item: Json) -> str:
    """Return the element for an item of a set."""
    return "v:" + json.dumps(item, ensure_ascii=False)


@cache
def builtin(name: str) -> Struct:
    """Return a built-in type of the API server."""
    return _types()[name]


@cache
def _types() -> dict[str, Struct]:
    lines = [
        line.split()
        for line in (Path(__file__).parent / "types.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    found = {words[0]: Struct() for words in lines}
    defaults: dict[str, dict[str, Json]] = {name: {} for name in found}
    for name, *words in lines:
        for word in words:
            told, _, default = word.partition("=")
            if default:
                defaults[name][told.partition(":")[0]] = default
    for name, *words in lines:
        for word in words:
            told = word.partition("=")[0]
            field_name, _, spelled = told.partition(":")
            found[name].fields[field_name] = _spelled(spelled, found, defaults)
    return found


def _spelled(spelled: str, types: dict[str, Struct], defaults: dict[str, dict[str, Json]]) -> Type:
    if spelled in ("", "*"):
        return LEAF
    if spelled == "{}":
        return Map()
    if spelled == "[]":
        return SetList()
    if spelled.startswith("["):
        keys, _, item = spelled[1:].partition("]")
        of = LEAF if item == "*" else types[item]
        return KeyedList(tuple(sorted(keys.split(","))), of, {} if item == "*" else defaults[item])
    return types[spelled]


def custom(schema: Object) -> Struct:
    """Return the type of a custom resource from the OpenAPI schema of its CustomResourceDefinition."""
    fields = {name: _of_schema(each) for name, each in schema["properties"].items()}
    return Struct({**fields, "metadata": builtin("ObjectMeta")})


def _of_schema(schema: Object) -> Type:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return LEAF
    if "properties" in schema:
        return Struct({name: _of_schema(each) for name, each in schema["properties"].items()})
    if "additionalProperties" in schema:
        return Map()
    how = schema.get("x-kubernetes-list-type")
    if how == "set":
        return SetList()
    if how == "map":
        items = schema["items"]
        keys = tuple(sorted(schema["x-kubernetes-list-map-keys"]))
        defaults = {key: items["properties"][key].get("default") for key in keys}
        return KeyedList(keys, _of_schema(items), defaults)
    return LEAF


def members(kind: Type, value: Object) -> Iterator[tuple[str, Type, Json]]:
    """Yield the names, types and values in a struct or map."""
    if isinstance(kind, Struct):
        for name, below in value.items():
            yield name, kind.fields.get(name, LEAF), below
    else:
        for name, below in value.items():
            yield name, LEAF, below
