"""The types of objects, as far as Server-Side Apply has to know them: what is granular and what is one leaf."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]

Json = Any
Object = dict[str, Any]
"""An object of the API. Nobody changes one: a change makes a new one that shares what is the same."""


class Type:
    """A type; by itself a leaf: a scalar, or an atomic map or list."""

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
    """A list of scalars, each once."""


@dataclass(frozen=True, eq=False, slots=True)
class KeyedList(Type):
    """A list of items with merge keys."""

    keys: tuple[str, ...]
    """In alphabetical order."""
    item: Type
    defaults: Mapping[str, Json]
    """Of the merge keys."""


class Malformed(Exception):
    """A list can't be merged: an item without merge keys, or two with the same."""


def element_of(kind: KeyedList | SetList, item: Json) -> str:
    """Return the element of managedFields that means an item of a list."""
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
    """Return the element that means an item of a set."""
    return "v:" + json.dumps(item, ensure_ascii=False)


@cache
def builtin(name: str) -> Struct:
    """Return a type of the API server's own."""
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


@cache
def webapp() -> tuple[Struct, Object]:
    """Return the type of WebApps, and their schema as the CRD has it."""
    crd = yaml.load((ROOT / "crds" / "webapps.yaml").read_text(encoding="utf-8"), Loader=_loader())  # noqa: S506
    schema: Object = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = _of_schema(schema)
    assert isinstance(found, Struct)
    found.fields["metadata"] = builtin("ObjectMeta")
    return found, schema


def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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
