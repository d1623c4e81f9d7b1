"""Whether a live object is as desired, and where it is not.

Equal means: each desired value is the live one; our Apply entry in managedFields owns exactly the desired fields; items
of ours in a keyed list stand in the desired order, whatever stands between them. So an injected sidecar, a foreign
label or a default of the server is no difference, while a field that is no longer desired is one as long as we own it.

Merge keys and atomic parts need no schema here: the entry spells them
(https://kubernetes.io/docs/reference/using-api/server-side-apply/#fieldsv1).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.webapp.spec import Manifest

Fields = Mapping[str, Any]
"""A `fieldsV1`: f:<field>, k:<merge keys of an item>, v:<item of a set>, and `.` for the thing itself."""

_ABSENT: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Difference:
    """One place where the live object is not as desired."""

    path: tuple[str, ...]
    """The place, in elements of `fieldsV1`."""
    wanted: Any
    """The desired value; None if the field should go."""
    found: Any
    """The live value; None if there is none."""

    @property
    def text(self) -> str:
        """The place as a person writes it: spec.containers[name=app].image."""
        return "".join(_shown(element) for element in self.path).removeprefix(".")


def differences(desired: Manifest, live: Mapping[str, Any], owned: Fields | None) -> list[Difference]:
    """Return where `live` is not as `desired`, given the fields that our Apply entry owns."""
    return list(_compare((), _applied(desired), live, owned or _ABSENT, granular=True))


def owner(difference: Difference, others: Sequence[tuple[str, Fields]]) -> str | None:
    """Return the manager, other than us, that owns the place of a difference."""
    return next((manager for manager, fields in others if _owns(fields, difference.path)), None)


def _applied(desired: Manifest) -> Manifest:
    """Return what managedFields speaks of: all but the object's identity."""
    metadata = {key: value for key, value in desired["metadata"].items() if key not in ("name", "namespace")}
    rest = {key: value for key, value in desired.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"metadata": metadata, **rest}


def _compare(
    path: tuple[str, ...], wanted: Any, live: Any, owned: Fields | None, *, granular: bool = False
) -> Iterator[Difference]:
    if owned is None:
        yield Difference(path, wanted, live)
        return
    inner = {key: fields for key, fields in owned.items() if key != "."}
    if isinstance(wanted, Mapping) and (inner or granular):
        yield from _compare_map(path, wanted, live if isinstance(live, Mapping) else _ABSENT, inner)
    elif isinstance(wanted, list) and inner:
        yield from _compare_list(path, wanted, live if isinstance(live, list) else [], inner)
    elif wanted != live:
        yield Difference(path, wanted, live)


def _compare_map(
    path: tuple[str, ...], wanted: Mapping[str, Any], live: Mapping[str, Any], owned: Fields
) -> Iterator[Difference]:
    for key, value in wanted.items():
        yield from _compare((*path, f"f:{key}"), value, live.get(key), owned.get(f"f:{key}"))
    for element in owned:
        if element.removeprefix("f:") not in wanted:
            yield Difference((*path, element), None, live.get(element.removeprefix("f:")))


def _compare_list(path: tuple[str, ...], wanted: list[Any], live: list[Any], owned: Fields) -> Iterator[Difference]:
    positions = []
    seen = set()
    for item in wanted:
        element = next((element for element in owned if _is(element, item)), None)
        if element is None:
            yield Difference((*path, _element(item, owned)), item, None)
            continue
        seen.add(element)
        position = next((index for index, found in enumerate(live) if _is(element, found)), None)
        found = None if position is None else live[position]
        positions.append(position)
        yield from _compare((*path, element), item, found, owned[element])
    for element in owned.keys() - seen:
        yield Difference((*path, element), None, next((found for found in live if _is(element, found)), None))
    known = [position for position in positions if position is not None]
    if known != sorted(known):
        yield Difference(path, wanted, live)


def _is(element: str, item: Any) -> bool:
    """Tell whether an element of `fieldsV1` means this item of a list."""
    kind, _, text = element.partition(":")
    value = json.loads(text)
    if kind == "k":
        return isinstance(item, Mapping) and all(item.get(key) == part for key, part in value.items())
    return bool(item == value)


def _element(item: Any, owned: Fields) -> str:
    """Return the element of an item that we don't own, after the keys of those that we do."""
    kind, _, text = next(iter(owned)).partition(":")
    if kind == "k" and isinstance(item, Mapping):
        return "k:" + json.dumps({key: item.get(key) for key in json.loads(text)}, separators=(",", ":"))
    return "v:" + json.dumps(item)


def _owns(fields: Fields, path: tuple[str, ...]) -> bool:
    """Tell whether fields hold the place, something in it, or the atomic whole that it is part of."""
    for element in path:
        if not fields.keys() - {"."}:
            return True
        if element not in fields:
            return False
        fields = fields[element]
    return True


def _shown(element: str) -> str:
    kind, _, text = element.partition(":")
    if kind == "f":
        return f"[{text}]" if "/" in text or "." in text else f".{text}"
    if kind == "k":
        return "[" + ",".join(f"{key}={value}" for key, value in json.loads(text).items()) + "]"
    return f"[{text}]"
