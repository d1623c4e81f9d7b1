"""Compare the desired manifest of a child with its live object.

They are equal if each desired value equals the live value, if our Apply entry in managedFields owns exactly the desired
fields, and if our items in a keyed list have the desired order, regardless of other items between them. An injected
sidecar, a foreign label or a server default is therefore no difference. A field no longer desired is a difference as
long as we own it.

The comparison needs no schema: the entries in managedFields, ours or another manager's, contain the merge keys and show
the atomic fields (https://kubernetes.io/docs/reference/using-api/server-side-apply/#fieldsv1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coxswain.kernel.conflicts.unions import rivals_in_list, rivals_in_map, rivals_of, rivals_of_removal
from coxswain.kernel.objects.field_paths import (
    ORDER,
    ElementIndex,
    Fields,
    ManagedFieldsEntry,
    Path,
    distinct_elements,
    element_of,
    is_key,
    missing_keys,
    owns,
    subfields,
    text,
)
from coxswain.kernel.objects.manifests import Manifest

_ABSENT: Mapping[str, Any] = {}
_SCALARS = (str, int, float, type(None))


@dataclass(frozen=True)
class Difference:
    """One difference between the desired and the live object."""

    path: Path
    wanted: Any
    """The desired value; None to remove the field."""
    found: Any
    """The live value; None if the field is not set."""
    rivals: tuple[Path, ...] = ()
    """Live paths excluded by the desired value: another member of a union, or an item with the same name."""

    @property
    def order(self) -> bool:
        """Whether only the order of the items of a list differs. The values are the whole lists."""
        return self.path[-1:] == (ORDER,)

    @property
    def text(self) -> str:
        """The path in readable form: spec.containers[name=app].image."""
        return text(self.path)

    @property
    def changes_value(self) -> bool:
        """Whether the value differs from the desired one, rather than only its owner."""
        return bool(self.wanted != self.found or self.rivals)


def differences(
    desired: Manifest, live: Mapping[str, Any], owned: Fields | None, others: Sequence[ManagedFieldsEntry] = ()
) -> list[Difference]:
    """Return the differences between `desired` and `live`.

    Args:
        desired: the manifest of the child.
        live: the content of the live object.
        owned: the fields owned by our Apply entry; None without such an entry.
        others: the managedFields entries of other managers.
    """
    return _differences(desired, live, owned or _ABSENT, [owned or _ABSENT, *(entry.fields for entry in others)])


def all_fields(
    desired: Manifest, live: Mapping[str, Any], owned: Fields | None, others: Sequence[ManagedFieldsEntry] = ()
) -> list[Difference]:
    """Return each desired path with its live value, equal or not, as if our manager owned no field."""
    return _differences(desired, live, _ABSENT, [owned or _ABSENT, *(entry.fields for entry in others)])


def managers(difference: Difference, others: Sequence[ManagedFieldsEntry]) -> list[str]:
    """Return the other managers that own the path of a difference, or one of its rivals. An order has no owner."""
    paths = (difference.path, *difference.rivals)
    return list(dict.fromkeys(entry.manager for entry in others if any(owns(entry.fields, path) for path in paths)))


def lists_without_keys(found: Sequence[Difference]) -> dict[Path, list[str]]:
    """Return the merge keys that desired items lack, by the path of their list.

    The API server adds the default of a key, so such an item is never equal to the stored one.
    """
    lists: dict[Path, list[str]] = {}
    for each in found:
        if each.path and each.wanted is not None and (keys := missing_keys(each.path[-1])):
            lists[each.path[:-1]] = keys
    return lists


def _differences(
    desired: Manifest, live: Mapping[str, Any], owned: Fields, field_sets: list[Fields]
) -> list[Difference]:
    return list(_compare_map((), _managed_part(desired), live, owned, field_sets))


def _managed_part(desired: Manifest) -> Manifest:
    """Return the part of a manifest covered by managedFields: all except the object's identity."""
    metadata = {key: value for key, value in desired["metadata"].items() if key not in ("name", "namespace")}
    rest = {key: value for key, value in desired.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"metadata": metadata, **rest}


def _compare(
    path: Path, wanted: Any, live: Any, owned: Fields | None, field_sets: list[Fields]
) -> Iterator[Difference]:
    """Compare the values at a path, other than scalars.

    Args:
        path: the path.
        wanted: the desired value.
        live: the live value.
        owned: our fields below the path; None if our manager does not own the path.
        field_sets: the fields of all managers below the path.
    """
    granular = any(len(fields) > ("." in fields) for fields in field_sets)
    if isinstance(wanted, Mapping) and granular and (wanted or owned is not None):
        yield from _compare_map(
            path, wanted, live if isinstance(live, Mapping) else _ABSENT, owned or _ABSENT, field_sets
        )
    elif isinstance(wanted, list) and granular and (wanted or owned is not None):
        yield from _compare_list(path, wanted, live if isinstance(live, list) else [], owned or _ABSENT, field_sets)
    elif owned is None or wanted != live:
        yield Difference(path, wanted, live)


def _compare_map(
    path: Path, wanted: Mapping[str, Any], live: Mapping[str, Any], owned: Fields, field_sets: list[Fields]
) -> Iterator[Difference]:
    rivals = rivals_in_map(path, wanted, live)
    for key, value in wanted.items():
        element = f"f:{key}"
        found, ours = live.get(key), owned.get(element)
        # Most values are scalars: they need neither a recursion nor the fields of other managers.
        if isinstance(value, _SCALARS):
            if ours is None or value != found:
                yield Difference((*path, element), value, found, rivals=rivals.get(key, ()))
            continue
        for difference in _compare((*path, element), value, found, ours, subfields(field_sets, element)):
            yield _with_rivals(difference, rivals_of(difference.path, rivals.get(key, ())))
    for element in owned:
        if element != "." and element.removeprefix("f:") not in wanted:
            removed, found = (*path, element), live.get(element.removeprefix("f:"))
            shared = () if found is None else subfields(field_sets, element)
            yield Difference(removed, None, found, rivals=rivals_of_removal(removed, owned[element], shared))
    for key in rivals.keys() - wanted.keys():
        yield Difference((*path, f"f:{key}"), None, live.get(key), rivals=rivals[key])


def _compare_list(
    path: Path, wanted: list[Any], live: list[Any], owned: Fields, field_sets: list[Fields]
) -> Iterator[Difference]:
    known = distinct_elements(field_sets)
    index = ElementIndex(known)
    positions = index.positions(live)
    seen: dict[str, int | None] = {}
    for item in wanted:
        element = next(iter(index.elements(item)), None)
        rivals = rivals_in_list(path, item, live, known)
        if element is None:
            yield Difference((*path, element_of(item, known)), item, None, rivals=rivals)
            continue
        seen[element] = positions.get(element)
        live_item = live[positions[element]] if element in positions else None
        for difference in _compare_item((*path, element), item, live_item, owned, subfields(field_sets, element)):
            yield _with_rivals(difference, rivals)
    for element in owned:
        if element == "." or element in seen:
            continue
        removed, found = (*path, element), live[positions[element]] if element in positions else None
        shared = () if found is None else subfields(field_sets, element)
        yield Difference(removed, None, found, rivals=rivals_of_removal(removed, owned[element], shared))
    live_positions = [position for position in seen.values() if position is not None]
    if live_positions != sorted(live_positions):
        yield Difference((*path, ORDER), wanted, live)


def _compare_item(
    path: Path, item: Any, live_item: Any, owned: Fields, field_sets: list[Fields]
) -> Iterator[Difference]:
    """Compare a list item. Its merge keys identify it, so they differ only if the whole item does."""
    if live_item is None or not isinstance(item, Mapping):
        if live_item != item or path[-1] not in owned:
            yield Difference(path, item, live_item)
        return
    our_fields = owned.get(path[-1])
    nested = [
        difference
        for difference in _compare(path, item, live_item, our_fields, field_sets)
        if not is_key(path[-1], difference.path[len(path) :])
    ]
    yield from nested
    if our_fields is None and not nested:
        yield Difference(path, item, live_item)


def _with_rivals(difference: Difference, rivals: tuple[Path, ...]) -> Difference:
    return replace(difference, rivals=difference.rivals + rivals) if rivals else difference
