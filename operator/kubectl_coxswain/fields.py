"""Differences between two values, field by field, with probable secrets hidden. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.objects.field_paths import text
from coxswain.kernel.status.conflict_report import shown
from kubectl_coxswain.reports import FieldChange

LIMIT = 60
"""Most fields shown of one object."""

_WORD = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)
_KEYS = ("name", "containerPort", "port", "mountPath", "path", "host")
"""Possible keys of the items of a list, in the order of preference."""
_MISSING: Any = None


def spec_changes(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[FieldChange]:
    """Return the differences between two specs of a WebApp."""
    return [_change(place, before, after) for place, before, after in leaves("spec", live, wanted)][:LIMIT]


def child_change(difference: Difference, managers: Sequence[str], *, hashed: bool = False) -> Iterator[FieldChange]:
    """Yield the fields of one difference of a child.

    Args:
        difference: the difference.
        managers: the other managers of the field.
        hashed: whether its values are only hashes of texts.
    """
    place = text(difference.path)
    if difference.order:
        yield FieldChange(place, _names(difference.found), _names(difference.wanted), managers)
    elif hashed and place.startswith(("data", "binaryData")):
        yield FieldChange(place, _text(difference.found), _text(difference.wanted), managers)
    elif _is_container(difference.wanted) or _is_container(difference.found):
        for inner, before, after in leaves(place, difference.found, difference.wanted):
            yield _change(inner, before, after, managers)
    else:
        yield _change(place, difference.found, difference.wanted, managers)


def leaves(place: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each place with different values. Items of a list are matched by their name or other key."""
    if before == after:
        return
    if _is_map(before, after):
        for key in sorted({**(before or {}), **(after or {})}):
            inner = f"{place}.{key}" if _WORD.fullmatch(key) and not _holds_texts(place) else f"{place}[{key}]"
            yield from leaves(inner, (before or {}).get(key), (after or {}).get(key))
        return
    key = _key_of(before, after)
    if key is None:
        yield place, before, after
        return
    old, new = ({item[key]: item for item in items or []} for items in (before, after))
    for name in {**old, **new}:
        yield from leaves(f"{place}[{key}={name}]", _without(old.get(name), key), _without(new.get(name), key))
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield f"{place} (order)", list(old), list(new)


def _holds_texts(place: str) -> bool:
    """Tell whether the keys of a map are names of the user; in brackets they are checked for names of secrets."""
    return place.endswith((".config", ".labels", ".annotations", ".nodeSelector"))


def _is_map(before: Any, after: Any) -> bool:
    found = [each for each in (before, after) if each is not None]
    return all(isinstance(each, Mapping) for each in found) and any(found)


def _is_container(value: Any) -> bool:
    return isinstance(value, Mapping | list)


def _key_of(before: Any, after: Any) -> str | None:
    """Return the common key of the items of both lists."""
    lists = [each for each in (before, after) if each is not None]
    if not all(isinstance(each, list) and all(isinstance(item, Mapping) for item in each) for each in lists):
        return None
    for key in _KEYS:
        if any(lists) and all(_is_unique(items, key) for items in lists):
            return key
    return None


def _is_unique(items: Sequence[Mapping[str, Any]], key: str) -> bool:
    values = [item.get(key) for item in items]
    return all(isinstance(value, str | int) for value in values) and len(set(values)) == len(values)


def _without(item: Mapping[str, Any] | None, key: str) -> Any:
    """Return an item without its key, because the place has it; an item of the key alone stays a value."""
    if item is None:
        return _MISSING
    return {name: value for name, value in item.items() if name != key} or "(present)"


def _change(place: str, before: Any, after: Any, managers: Sequence[str] = ()) -> FieldChange:
    return FieldChange(place, displayed(place, before), displayed(place, after), tuple(managers))


def displayed(place: str, value: Any) -> str:
    """Return a value for people; files and probable secrets are hidden, the latter by the operator's own rules."""
    if place.startswith("spec.files[") and place.endswith("].content"):
        return _text(value)
    if place == "spec.files":
        return shown(place, value)
    if not _is_container(value):
        return shown(place, value)
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    # In a command line or a structure the name of a secret stands beside its value.
    words = re.split(r"[^\w.-]+", text)
    return next((hidden for word in words if (hidden := shown(f"[{word}]", "")) != ""), shown(place, text))


def _names(items: Any) -> str:
    names = [item.get("name", "?") if isinstance(item, Mapping) else item for item in items or []]
    return ", ".join(map(str, names))


def _text(value: Any) -> str:
    return "(none)" if value is None else "(a text)"
