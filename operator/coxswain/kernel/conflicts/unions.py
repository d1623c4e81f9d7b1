"""Find rivals: live fields and items that cannot coexist with a desired value.

A rival is another member of the same union, or an item with the same name. An apply cannot remove it if another manager
owns it, and the API server rejects both together (422 'may not specify more than 1 handler type', 'Duplicate value').
"""

from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.field_paths import Fields, Path, element_of, matches, subfields

_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc", "sleep"})
_PROBES = frozenset({"f:startupProbe", "f:livenessProbe", "f:readinessProbe"})
_VALUES = frozenset({"value", "valueFrom"})
_SOURCES = frozenset({"configMapKeyRef", "secretKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"})
_WITHOUT_RANGES = frozenset({"ClusterIP", "NodePort", "ExternalName"})
"""Service types for which the API server rejects loadBalancerSourceRanges. It drops other fields of the old type."""

_DIRECTIONS = ("ingress", "egress")

_POD = ("f:template", "f:spec")
_CONTAINERS = ("containers", "initContainers")
"""Lists of a pod. The names are unique over both."""
_BY_NAME = ('k:{"name":""}',)

_PORTS_OF_A_SERVICE = ("f:spec", "f:ports")
_NEEDED = {
    "f:containers": frozenset({"f:image"}),
    "f:initContainers": frozenset({"f:image"}),
    "f:env": frozenset({"f:value", "f:valueFrom"}),
    "f:volumeMounts": frozenset({"f:name"}),
}
"""The fields of which an item needs one, by the name of its list."""

_BUDGETS = frozenset({"minAvailable", "maxUnavailable"})

_UNIONS: Mapping[str, frozenset[str]] = {
    "f:spec": _BUDGETS,
    "f:startupProbe": _HANDLERS,
    "f:readinessProbe": _HANDLERS,
    "f:livenessProbe": _HANDLERS,
    "f:preStop": _HANDLERS,
    "f:postStart": _HANDLERS,
    "f:valueFrom": _SOURCES,
}
"""The union members, by the name of the field with the union."""


def rivals_in_map(path: Path, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, tuple[Path, ...]]:
    """Return the rivals of each desired field in a map.

    If no member of a union is desired, each live member is its own rival and has to be removed.
    """
    if path and path[-1] == "f:strategy":
        has_rival = wanted.get("type") == "Recreate" and "rollingUpdate" in live
        return {"type": ((*path, "f:rollingUpdate"),)} if has_rival else {}
    if path == ("f:spec",) and wanted.get("type") in _WITHOUT_RANGES:
        has_rival = "loadBalancerSourceRanges" in live and "loadBalancerSourceRanges" not in wanted
        return {"type": ((*path, "f:loadBalancerSourceRanges"),)} if has_rival else {}
    if path == ("f:spec",) and "policyTypes" in wanted:
        # A NetworkPolicy denies a direction by its policy type and no rule, so any rule of another manager opens it.
        denied = [way for way in _DIRECTIONS if way.capitalize() in wanted["policyTypes"] and way not in wanted]
        return {way: ((*path, f"f:{way}"),) for way in denied if way in live}
    if path[-2:] == _POD:
        return _namesakes(path, wanted, live)
    members = _members(path, wanted, live)
    others = [key for key in live if key in members and key not in wanted]
    if not others:
        return {}
    ours = [key for key in wanted if key in members]
    rivals = tuple((*path, f"f:{key}") for key in others)
    return dict.fromkeys(ours, rivals) if ours else {key: ((*path, f"f:{key}"),) for key in others}


def rivals_of_removal(path: Path, ours: Fields, all_fields: Sequence[Fields]) -> tuple[Path, ...]:
    """Return the rivals of a removed field or item of which others own a part: their part, if it cannot stay alone.

    A probe needs a handler, so `periodSeconds` of another manager goes with it. Others may own an item in which our
    values have replaced theirs. Without ours the API server rejects a container (422 'image: Required value'), and a
    variable would stay without a value. An item of ours in which others own a field goes by itself.

    Args:
        path: the path.
        ours: our fields below it.
        all_fields: the fields below it of each manager, ours included.
    """
    if len(all_fields) < 2:
        return ()
    if path[-1] in _PROBES:
        return (path,)
    if _needed_in(path):
        items = [element for element in ours if element != "."]
        below = [((*path, each), ours[each], subfields(all_fields, each)) for each in items]
        return tuple(rival for item in below for rival in rivals_of_removal(*item))
    needed, owners = _needed_in(path[:-1]), [fields for fields in all_fields if "." in fields]
    is_hollow = bool(needed & ours.keys()) and sum(bool(needed & fields.keys()) for fields in owners) == 1
    return (path,) if is_hollow and len(owners) > 1 else ()


def _needed_in(path: Path) -> frozenset[str]:
    """Return the fields of which an item of a list needs one; empty if that is unknown."""
    if path == _PORTS_OF_A_SERVICE:
        return frozenset({"f:name"})
    return _NEEDED.get(path[-1], frozenset()) if path else frozenset()


def rivals_in_list(path: Path, item: Any, live: Sequence[Any], known: Sequence[str]) -> tuple[Path, ...]:
    """Return the live items with the name of a desired item, but other merge keys.

    Ports are keyed by number and protocol, but their names must be unique as well.
    """
    if not path or path[-1] != "f:ports" or not isinstance(item, Mapping) or "name" not in item:
        return ()
    our_element = element_of(item, known)
    namesakes = [
        live_item for live_item in live if live_item.get("name") == item["name"] and not matches(our_element, live_item)
    ]
    return tuple((*path, element_of(live_item, known)) for live_item in namesakes)


def rivals_of(path: Path, rivals: Sequence[Path]) -> tuple[Path, ...]:
    """Return those of a field's rivals that exclude a value at or below it: a namesake excludes only its own item."""
    return tuple(
        rival
        for rival in rivals
        if not rival[-1].startswith("k:") or path[len(rival) - 1 : len(rival)] in ((), rival[-1:])
    )


def _namesakes(path: Path, wanted: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, tuple[Path, ...]]:
    """Return the live containers with the name of a desired one in the other list of the pod."""
    rivals = {}
    for field, other in (_CONTAINERS, _CONTAINERS[::-1]):
        names = {item["name"] for item in wanted.get(field, [])}
        namesakes = [element_of(item, _BY_NAME) for item in live.get(other, []) if item.get("name") in names]
        rivals[field] = tuple((*path, f"f:{other}", element) for element in namesakes)
    return {field: found for field, found in rivals.items() if found}


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
