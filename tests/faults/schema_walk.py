"""What a schema allows, tried field by field: from a spec all specs that differ from it in one place. Pure."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

GREATEST = {"replicas": 2}
"""Bounds for what would cost too much: pods."""
LEFT_OUT = {
    "paused": "while it is true nothing is written: tests/integration/test_paused.py",
    "conflicts": "it says what becomes of other managers' fields, of which there are none here: test_conflicts.py",
    "service.headless": "a person decides when a Service goes: tests/integration/test_immutable.py",
}
"""Fields of the spec that are not walked, and why."""
_LONGEST = 1100
_TEXTS = ("other", "a", "A", "1", "x.y", "/other", "http", "50%", "7", "2", "1Mi", "metadata.uid", "metadata.name", "")


@dataclass(frozen=True)
class Mutation:
    """A spec that differs from another in one place."""

    path: str
    """The place, with [] for any item of a list and {} for any key of a map."""
    what: str
    """What was done to it."""
    spec: Any
    base: int = 0
    """Which of several specs it was."""

    @property
    def field(self) -> str:
        """The field of the spec that is another."""
        return re.split(r"[.\[{]", self.path.removeprefix("."))[0]

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


def mutations(schema: Schema, bases: Sequence[Mapping[str, Any]]) -> list[Mutation]:
    """Return the mutations of several specs; what was done to a field of one is not done again in the next."""
    found: dict[tuple[str, str], Mutation] = {}
    for number, base in enumerate(bases):
        for path, what, spec in _variants(schema, base, ""):
            mutation = Mutation(path, what, spec, number)
            if not any(within(mutation.path, place) for place in LEFT_OUT):
                found.setdefault((path, what), mutation)
    return list(found.values())


def within(path: str, place: str) -> bool:
    """Tell whether the path of a mutation is at a place, or in it."""
    path = path.removeprefix(".")
    return path == place or (path.startswith(place) and path[len(place)] in ".[{")


Group = tuple[Mutation, ...]
"""Mutations of one spec in different fields, which may be tried together."""


def groups(found: Sequence[Mutation], size: int) -> list[Group]:
    """Return mutations in groups of so many at most, which are of one base, each in another field."""
    waiting: dict[int, dict[str, list[Mutation]]] = {}
    for mutation in found:
        waiting.setdefault(mutation.base, {}).setdefault(mutation.field, []).append(mutation)
    made: list[Group] = []
    for fields in waiting.values():
        while any(fields.values()):
            longest = sorted((field for field in fields if fields[field]), key=lambda field: -len(fields[field]))
            made.append(tuple(fields[field].pop(0) for field in longest[:size]))
    return made


def together(group: Group) -> dict[str, Any]:
    """Return the spec with all mutations of a group."""
    spec = dict(group[0].spec)
    for mutation in group[1:]:
        spec.pop(mutation.field, None)
        spec |= {field: value for field, value in mutation.spec.items() if field == mutation.field}
    return spec


def leaves(schema: Schema, path: str = "") -> Iterator[str]:
    """Yield the paths of all leaves of a schema."""
    inner = list(_inner(schema, path))
    if not inner:
        yield path
    for each, deeper in inner:
        yield from leaves(each, deeper)


def _inner(schema: Schema, path: str) -> Iterator[tuple[Schema, str]]:
    for name, each in schema.get("properties", {}).items():
        yield each, f"{path}.{name}"
    if "items" in schema:
        yield schema["items"], f"{path}[]"
    if "additionalProperties" in schema:
        yield schema["additionalProperties"], f"{path}{{}}"


def _variants(schema: Schema, value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    if "properties" in schema:
        yield from _of_object(schema, value, path)
    elif "additionalProperties" in schema:
        yield from _of_map(schema["additionalProperties"], value, path)
    elif "items" in schema:
        yield from _of_list(schema["items"], value, path)
    else:
        for other in values(schema, value, path.rpartition(".")[2]):
            yield path, f"= {other!r}"[:60], other


def _of_object(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, Any]]:
    for name, inner in schema["properties"].items():
        deeper = f"{path}.{name}"
        if name not in value:
            yield deeper, "added", {**value, name: sample(inner, name)}
            continue
        if name not in schema.get("required", ()):
            yield deeper, "removed", {key: kept for key, kept in value.items() if key != name}
        for place, what, other in _variants(inner, value[name], deeper):
            yield place, what, {**value, name: other}


def _of_map(inner: Schema, value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, Any]]:
    yield f"{path}{{}}", "grown", {**value, "grown": sample(inner, "grown")}
    yield f"{path}{{}}", "emptied", {}
    keys = list(value)
    if len(keys) > 1:
        yield f"{path}{{}}", "shrunk", {key: value[key] for key in keys[1:]}
        yield f"{path}{{}}", "reversed", {key: value[key] for key in reversed(keys)}
    for key in keys[:1]:
        for place, what, other in _variants(inner, value[key], f"{path}{{}}"):
            yield place, what, {**value, key: other}


def _of_list(inner: Schema, value: Sequence[Any], path: str) -> Iterator[tuple[str, str, Any]]:
    yield f"{path}[]", "emptied", []
    if value:
        yield f"{path}[]", "grown", [*value, _another_item(inner, value[-1])]
        yield f"{path}[]", "grown at the front", [_another_item(inner, value[0]), *value]
    if len(value) > 1:
        yield f"{path}[]", "shrunk", list(value[1:])
        yield f"{path}[]", "cut", list(value[:-1])
        yield f"{path}[]", "reversed", list(reversed(value))
    for place, item in enumerate(value):
        for deeper, what, other in _variants(inner, item, f"{path}[]"):
            yield deeper, what, [*value[:place], other, *value[place + 1 :]]


def _another_item(schema: Schema, item: Any) -> Any:
    """Return an item with no merge key of the one that is there: all that names it is another."""
    if not isinstance(item, Mapping):
        return next(iter(values(schema, item, "")), item)
    made: dict[str, Any] = copy.deepcopy(dict(item))
    for name in ("name", "path", "topologyKey", "key"):
        if isinstance(made.get(name), str):
            made[name] = f"{made[name]}2" if name != "topologyKey" else "example.com/rack"
    for name in ("containerPort", "port"):
        if isinstance(made.get(name), int):
            made[name] += 1
    return made


def values(schema: Schema, value: Any, name: str) -> list[Any]:
    """Return other values that a leaf may have: the ends of its range, and some between."""
    if "enum" in schema:
        return [other for other in schema["enum"] if other != value]
    kind = schema.get("type")
    if kind == "boolean":
        return [not value]
    found: list[Any] = []
    if kind == "integer" or schema.get("x-kubernetes-int-or-string"):
        number = value if isinstance(value, int) else 3
        least, most = schema.get("minimum", 0), min(schema.get("maximum", 2**31 - 1), GREATEST.get(name, 2**31 - 1))
        found += [each for each in (least, number - 1, number + 1, most) if least <= each <= most]
    if kind == "string" or schema.get("x-kubernetes-int-or-string"):
        text = value if isinstance(value, str) else ""
        longest = "a" * min(schema.get("maxLength", _LONGEST), _LONGEST)
        found += [each for each in (f"{text}x", text[:-1], longest, *_TEXTS) if _fits(schema, each)][:3]
    return [each for place, each in enumerate(found) if each != value and each not in found[:place]]


def _fits(schema: Schema, text: str) -> bool:
    pattern = schema.get("pattern", "").replace("[:cntrl:]", r"\x00-\x1f\x7f")
    length = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
    return length and re.search(pattern, text) is not None


def sample(schema: Schema, name: str) -> Any:
    """Return some value that a schema allows: of an object what it requires, of lists one item."""
    if "default" in schema:
        return schema["default"]
    if "properties" in schema:
        return {each: sample(schema["properties"][each], each) for each in schema.get("required", ())}
    if "additionalProperties" in schema:
        return {
            "example.com/a" if name.endswith("annotations") else "memory": sample(schema["additionalProperties"], "")
        }
    if "items" in schema:
        return [sample(schema["items"], "")]
    found = values(schema, None, name)
    return found[0]
