"""A model of Server-Side Apply for property tests: an object as its leaves, each with its owners.

A leaf is a path without a path below it: a value, an atomic part, or the existence of a list item. The model has no
unions and no validation.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, Path, matches
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from rendered import FIELD_MANAGER, kind_of, observe
from unit.objects import fields_of

Leaves = Mapping[Path, Any]
Owner = tuple[str, str]
"""Field manager and operation."""

OURS: Owner = (FIELD_MANAGER, "Apply")
_IS_THERE = "."


class ConflictError(Exception):
    """409: without force, an apply names leaves owned by others with another value."""


def leaves(manifest: Manifest) -> dict[Path, Any]:
    """Return the leaves of a manifest."""
    return dict(_leaves(fields_of(manifest), (), manifest))


def _leaves(fields: Fields, path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if not fields:
        yield path, value
    for element, below in fields.items():
        if element == _IS_THERE:
            yield (*path, _IS_THERE), None
        elif element.startswith("k:"):
            yield from _leaves(below, (*path, element), next(item for item in value if matches(element, item)))
        else:
            yield from _leaves(below, (*path, element), value[element.removeprefix("f:")])


@dataclass
class Model:
    """One object with several writers."""

    kind: str
    api_version: str
    live: dict[Path, Any] = field(default_factory=dict)
    owners: dict[Owner, set[Path]] = field(default_factory=dict)
    writes: int = 0

    def apply(self, owner: Owner, wanted: Leaves, *, force: bool) -> None:
        """Apply. Take leaves owned by others with another value, or refuse. Remove leaves no longer in the manifest."""
        others = {place for name, places in self.owners.items() if name != owner for place in places}
        contrary = {place for place in others & wanted.keys() if self.live[place] != wanted[place]}
        if contrary and not force:
            raise ConflictError(contrary)
        for place in self.owners.get(owner, set()) - wanted.keys() - others:
            del self.live[place]
        self._take(contrary)
        self.live |= wanted
        self.owners[owner] = set(wanted)
        self.writes += 1

    def update(self, owner: Owner, changes: Leaves) -> None:
        """Set values, or remove them by None. This manager becomes the only owner of the changed leaves."""
        changed = {place for place, value in changes.items() if self.live.get(place) != value}
        self._take(changed)
        for place in changed:
            if changes[place] is None and place[-1] != _IS_THERE:
                self.live.pop(place, None)
            else:
                self.live[place] = changes[place]
                self.owners.setdefault(owner, set()).add(place)

    def observed(self) -> Projection:
        """Return the projection of the object, as from a watch."""
        raw = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            **_object(self.live),
        }
        entries = [
            {"manager": manager, "operation": operation, "fieldsV1": _fields(places)}
            for (manager, operation), places in self.owners.items()
            if places
        ]
        identity = {"name": "web", "namespace": "shop", "uid": "child-1", "resourceVersion": str(10 + self.writes)}
        raw["metadata"] = {**raw["metadata"], **identity, "managedFields": entries}
        return observe(kind_of(raw), raw)

    def _take(self, places: Iterable[Path]) -> None:
        for owned in self.owners.values():
            owned.difference_update(places)


def _fields(places: Iterable[Path]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for place in sorted(places):
        inside = fields
        for element in place:
            inside = inside.setdefault(element, {})
    return fields


def _object(live: Leaves) -> Any:
    """Return an object, or a part of one, with these leaves."""
    if list(live) == [()]:
        return live[()]
    parts: dict[str, dict[Path, Any]] = {}
    for (element, *rest), value in live.items():
        if element != _IS_THERE:
            parts.setdefault(element, {})[tuple(rest)] = value
    if any(element.startswith("k:") for element in parts):
        return [
            _object(inside) if () in inside else {**json.loads(element.partition(":")[2]), **_object(inside)}
            for element, inside in parts.items()
        ]
    return {element.removeprefix("f:"): _object(inside) for element, inside in parts.items()}
