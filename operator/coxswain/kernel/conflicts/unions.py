"""What can't stand beside a desired value: another member of its union, or an item that bears its name.

An apply can't put such a thing right by itself: what another manager owns stays, and the API server refuses the two
together (422 'may not specify more than 1 handler type', 'Duplicate value').
"""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Path, element_of, matches

_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc", "sleep"})
_VALUES = frozenset({"value", "valueFrom"})
_SOURCES = frozenset({"configMapKeyRef", "secretKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"})

_UNIONS: Mapping[str, frozenset[str]] = {
    "f:startupProbe": _HANDLERS,
    "f:readinessProbe": _HANDLERS,
    "f:livenessProbe": _HANDLERS,
    "f:preStop": _HANDLERS,
    "f:postStart": _HANDLERS,
    "f:valueFrom": _SOURCES,
}
"""Members of the union that the field of this name is."""


def rivals_in_map(path: Path, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, tuple[Path, ...]]:
    """Return, by desired field of a map, the live places that can't be there beside it.

    Where no member of a union is desired, a live one is its own rival: it should go.
    """
    if path and path[-1] == "f:strategy":
        alone = wanted.get("type") == "Recreate" and "rollingUpdate" in live
        return {"type": ((*path, "f:rollingUpdate"),)} if alone else {}
    members = _members(path, wanted, live)
    if not members:
        return {}
    others = [key for key in live if key in members and key not in wanted]
    if not others:
        return {}
    ours = [key for key in wanted if key in members]
    rivals = tuple((*path, f"f:{key}") for key in others)
    return dict.fromkeys(ours, rivals) if ours else {key: ((*path, f"f:{key}"),) for key in others}


def rivals_in_list(path: Path, item: Any, live: Sequence[Any], known: Sequence[str]) -> tuple[Path, ...]:
    """Return the live items of a list that bear the name of a desired item, which has other merge keys.

    Ports are keyed by number and protocol, yet their names must differ too.
    """
    if not path or path[-1] != "f:ports" or not isinstance(item, Mapping) or "name" not in item:
        return ()
    ours = element_of(item, known)
    namesakes = [found for found in live if found.get("name") == item["name"] and not matches(ours, found)]
    return tuple((*path, element_of(found, known)) for found in namesakes)


def _members(path: Path, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> frozenset[str]:
    if not path:
        return frozenset()
    if path[-1] in _UNIONS:
        return _UNIONS[path[-1]]
    if len(path) > 1 and path[-1].startswith("k:"):
        if path[-2] == "f:env":
            return _VALUES
        if path[-2] == "f:volumes":
            return frozenset((*wanted, *live)) - {"name"}
    return frozenset()
