"""Find fields that an apply leaves in the status of a parent, because another field manager owns them too."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

MERGE_KEYS = {
    "conditions": ("type",),
    "children": ("kind", "name"),
    "conflicts": ("object", "field", "manager"),
    "drift": ("object", "field", "manager"),
}
"""Lists of the status that may be of type `map`, with their keys. An apply replaces other lists as a whole."""

_Item = Mapping[str, Any]


def left_over(observed: Mapping[str, Any], wanted: Mapping[str, Any], types: Collection[str]) -> list[str]:
    """Return JSON Pointers to the fields of our part of a status that are not wanted, in a valid order for removals.

    A forced apply removes a field only if no other manager owns it
    (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership). Another manager owns
    fields of the status after its own write to them, or all of them if managedFields were cleared.

    Args:
        observed: the status after the apply.
        wanted: the applied status.
        types: types of our conditions. Conditions of other types stay.
    """
    pointers: list[str] = []
    for name, value in observed.items():
        if name == "conditions":
            pointers += _left_over_items(name, [item if item.get("type") in types else None for item in value], wanted)
        elif name not in wanted:
            pointers.append(f"/{name}")
        elif name in MERGE_KEYS:
            pointers += _left_over_items(name, value, wanted)
    # From the end, because a removal changes the indices of later items.
    return pointers[::-1]


def _left_over_items(name: str, observed: Sequence[_Item | None], status: Mapping[str, Any]) -> Iterator[str]:
    by_key = {_key(name, item): item for item in status.get(name, ())}
    for index, item in enumerate(observed):
        if item is None:
            continue
        counterpart = by_key.get(_key(name, item))
        if counterpart is None:
            yield f"/{name}/{index}"
        else:
            yield from (f"/{name}/{index}/{field}" for field in item if field not in counterpart)


def _key(name: str, item: _Item) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in MERGE_KEYS[name])
