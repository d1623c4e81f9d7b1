"""Drift that an apply alone cannot correct: switched unions, and merge keys changed by another writer.

The list of fields comes from the operator's entry in the child's managedFields, as in `fault_engine.drift`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fault_engine.drift import another
from fault_engine.objects import Object
from fault_engine.script import Edit, Settle, Step, kubectl
from fault_engine.workload import Workload

_HANDLERS: dict[str, dict[str, Any]] = {
    "exec": {"command": ["/bin/other"]},
    "httpGet": {"path": "/other", "port": 8081},
    "tcpSocket": {"port": 8081},
    "grpc": {"port": 8081},
}
_VALUES: dict[str, Any] = {
    "fieldRef": {"fieldPath": "metadata.namespace"},
    "configMapKeyRef": {"name": "other", "key": "other"},
    "secretKeyRef": {"name": "other", "key": "other"},
    "resourceFieldRef": {"containerName": "app", "resource": "limits.memory"},
}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
_VOLUMES: dict[str, Any] = {
    "emptyDir": {},
    "secret": {"secretName": "other"},
    "configMap": {"name": "other"},
    "projected": {"sources": []},
    "persistentVolumeClaim": {"claimName": "other"},
    "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}},
}
_STRATEGIES: dict[str, dict[str, Any]] = {
    "Recreate": {"type": "Recreate"},
    "RollingUpdate": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 3}},
}
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_PROTOCOLS = {"TCP": "UDP", "UDP": "TCP"}


@dataclass(frozen=True)
class Switch:
    """One switched union, or one changed merge key."""

    path: str
    """The readable path, and the new value."""
    step: dict[str, Any]
    """An operation of a JSON Patch."""
    is_back: str = ""
    """A JSONPath at the place of a changed merge key. It finds the operator's item after its return. The renamed item
    then belongs to the other manager, which must remove it."""
    value: str = ""
    """The original value of the merge key."""
    removal: Any = None
    """A strategic merge patch that removes the other manager's item; None if no part of it may remain."""


def switches(thing: Object, workload: Workload) -> list[Switch]:
    """Return all switches of the fields of an object that the operator has applied."""
    return [
        switch for node in _nodes(workload.applied(thing) or {}, thing, _Node((), "", None)) for switch in _of(node)
    ]


def steps(resource: str, name: str, switch: Switch) -> list[Step]:
    """Return the steps of a switch, up to the original state. The server may refuse the switch."""
    edit = Edit(resource, name, [switch.step], "json", refusable=True)
    if switch.removal is None:
        return [edit, Settle()]
    back = kubectl("wait", f"{resource}/{name}", f"--for=jsonpath={{{switch.is_back}}}={switch.value}", "--timeout=30s")
    return [edit, back, Edit(resource, name, switch.removal, "strategic", refusable=True), Settle()]


@dataclass(frozen=True)
class _Node:
    """A field, or an item of a list, with its content."""

    elements: tuple[str, ...]
    pointer: str
    live: Any

    @property
    def text(self) -> str:
        return "".join(_shown(element) for element in self.elements).removeprefix(".")


def _shown(element: str) -> str:
    kind, _, text = element.partition(":")
    return f".{text}" if kind == "f" else f"[{','.join(str(value) for value in json.loads(text).values())}]"


def _nodes(fields: Mapping[str, Any], live: Any, at: _Node) -> Iterator[_Node]:
    for element, inner in fields.items():
        kind, _, text = element.partition(":")
        if kind == "f" and isinstance(live, Mapping) and text in live:
            step, found = text.replace("~", "~0").replace("/", "~1"), live[text]
        elif kind == "k" and isinstance(live, list):
            wanted = json.loads(text)
            index = next(place for place, item in enumerate(live) if wanted.items() <= item.items())
            step, found = str(index), live[index]
        else:
            continue
        node = _Node((*at.elements, element), f"{at.pointer}/{step}", found)
        yield node
        yield from _nodes(inner, found, node)


def _of(node: _Node) -> Iterator[Switch]:
    last = node.elements[-1]
    within = node.elements[-2] if len(node.elements) > 1 else ""
    if last.removeprefix("f:") in _PROBES:
        yield from _members(node, _HANDLERS)
    elif last == "f:strategy":
        for kind, strategy in _STRATEGIES.items():
            if kind != node.live["type"]:
                yield _switch(node, strategy, kind)
    elif within == "f:volumes":
        yield from _members(node, _VOLUMES)
    elif within == "f:env":
        yield from _sources(node)
    if last.startswith("k:") and within != "f:ownerReferences":
        yield from _keys(node, json.loads(last.removeprefix("k:")))


def _switch(node: _Node, value: Any, said: str) -> Switch:
    return Switch(f"{node.text} to {said}", {"op": "replace", "path": node.pointer, "value": value})


def _members(node: _Node, members: Mapping[str, Any]) -> Iterator[Switch]:
    rest = {key: value for key, value in node.live.items() if key not in members}
    for member, value in members.items():
        if member not in node.live:
            yield _switch(node, {**rest, member: value}, member)


def _sources(node: _Node) -> Iterator[Switch]:
    name, source = {"name": node.live["name"]}, node.live.get("valueFrom")
    if source is not None:
        yield _switch(node, {**name, "value": "other"}, "value")
    for member, value in _VALUES.items():
        if source is None or member not in source:
            yield _switch(node, {**name, "valueFrom": {member: value}}, member)


def _keys(node: _Node, keys: Mapping[str, Any]) -> Iterator[Switch]:
    is_port = node.elements[-2] == "f:ports"
    for key, value in keys.items():
        other = _PROTOCOLS[value] if key == "protocol" else another(key, value)
        step = {"op": "replace", "path": f"{node.pointer}/{key}", "value": other}
        said = f"{node.text}: {key} to {other}"
        if is_port:
            yield Switch(said, step)
            continue
        changed = {**keys, key: other}
        yield Switch(said, step, _json_path(node, key, value), str(value), _removal(node, changed))


def _json_path(node: _Node, key: str, value: Any) -> str:
    path = ""
    for element in node.elements[:-1]:
        kind, _, text = element.partition(":")
        path += f".{text}" if kind == "f" else "".join(_filter(*pair) for pair in list(json.loads(text).items())[:1])
    return f"{path}{_filter(key, value)}.{key}"


def _filter(key: str, value: Any) -> str:
    return f"[?(@.{key}=={json.dumps(value)})]"


def _removal(node: _Node, keys: Mapping[str, Any]) -> Any:
    """Return the strategic merge patch that removes a list item."""
    patch: Any = [{"$patch": "delete", **keys}]
    for element in reversed(node.elements[:-1]):
        kind, _, text = element.partition(":")
        patch = {text: patch} if kind == "f" else [{**json.loads(text), **patch}]
    return patch
