"""Derives from a spec all specs that differ from it in one place and that the schema allows. Pure."""

import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

GREATEST = {"replicas": 2, "minReplicas": 1, "maxReplicas": 4}
"""Maxima for numbers of pods, because pods take time."""
LEFT_OUT = {
    "paused": "it stops all writes: tests/integration/test_paused.py",
    "conflicts": "its policies concern other managers' fields, which are missing here: test_conflicts.py",
    "routes": "it needs the Gateway API: tests/integration/test_routes.py",
    "ingress": "it needs an Ingress controller: tests/integration/test_routes.py",
    "service.headless": "immutable, so a user must delete the Service: tests/integration/test_immutable.py",
    "service.loadBalancerClass": "immutable as well: tests/integration/test_service_types.py",
    "service.replace": "it selects the handling of the two above",
    "service.ports[].nodePort": "two Services cannot have the same: tests/integration/test_service_types.py",
    "service.ipFamilyPolicy": "after a removal the operator sets the default: tests/integration/test_fields.py",
}
"""Fields of the spec that are not walked, with the reason."""
_LONGEST = 1100
_TEXTS = ("other", "a", "A", "1", "x.y", "/other", "http", "50%", "7", "2", "1Mi", "metadata.uid", "metadata.name", "")


@dataclass(frozen=True)
class Mutation:
    """A spec that differs from its base in one place."""

    path: str
    """The path, with [] for any list item and {} for any map key."""
    what: str
    """The change."""
    spec: Any
    base: int = 0
    """The index of its base spec."""

    @property
    def field(self) -> str:
        """The changed top-level field of the spec."""
        return re.split(r"[.\[{]", self.path.removeprefix("."))[0]

    def __str__(self) -> str:
        return f"{self.path} {self.what}"


def mutations(
    schema: Schema, bases: Sequence[Mapping[str, Any]], left_out: Collection[str] = LEFT_OUT
) -> list[Mutation]:
    """Return the mutations of several specs. The same change of the same path is not repeated for later specs."""
    found: dict[tuple[str, str], Mutation] = {}
    for number, base in enumerate(bases):
        for path, what, spec in _variants(schema, base, ""):
            mutation = Mutation(path, what, spec, number)
            if not any(within(mutation.path, place) for place in left_out):
                found.setdefault((path, what), mutation)
    return list(found.values())


def within(path: str, place: str) -> bool:
    """Tell whether the path of a mutation is a given path or below it."""
    path = path.removeprefix(".")
    return path == place or (path.startswith(place) and path[len(place)] in ".[{")


Group = tuple[Mutation, ...]
"""Mutations of one base in different fields, so that they can be combined."""


def groups(found: Sequence[Mutation], size: int) -> list[Group]:
    """Return mutations in groups of at most `size`. A group has one base, and each field at most once."""
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
    """Return an item with other merge keys than an existing item."""
    if not isinstance(item, Mapping):
        return next(iter(values(schema, item, "")), item)
    made: dict[str, Any] = copy.deepcopy(dict(item))
    for name in ("name", "path", "mountPath", "ip", "topologyKey", "key"):
        if isinstance(made.get(name), str):
            made[name] = f"{made[name]}2" if name != "topologyKey" else "example.com/rack"
    for name in ("containerPort", "port"):
        if isinstance(made.get(name), int):
            made[name] += 1
    return made


def values(schema: Schema, value: Any, name: str) -> list[Any]:
    """Return other values for a leaf: the ends of its range, and some in between."""
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
    """Return a minimal value that a schema allows: objects with their required fields, lists with one item."""
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
