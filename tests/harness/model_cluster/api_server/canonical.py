"""Objects as serialized from Go's types: without empty fields tagged omitempty."""

from model_cluster.api_server.kinds import Kind
from model_cluster.api_server.schema import Json, KeyedList, Map, Object, SetList, Struct, Type, builtin

_ALWAYS = {"containers", "conditions", "currentMetrics"}
"""Fields that are kept when empty."""

_ZERO = {
    "minReadySeconds",
    "paused",
    "readOnly",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "publishNotReadyAddresses",
    "initialDelaySeconds",
    "value",
    "generateName",
    "nodeName",
    "observedGeneration",
    "readyReplicas",
    "updatedReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "reason",
    "message",
    "restartPolicy",
    "concurrencyPolicy",
    "host",
}
"""Scalars that are omitted when 0, false or empty."""

_ATOMIC_MAPS = {"nodeSelector", "selector"}


def canonical(kind: Kind, obj: Object) -> Object:
    """Return an object without its empty fields."""
    if kind.custom:
        metadata = _canonical(builtin("ObjectMeta"), obj.get("metadata", {}), "metadata")
        return obj if metadata is obj.get("metadata") else {**obj, "metadata": metadata}
    found: Object = _canonical(kind.type, obj, "")
    return found


def _canonical(kind: Type, value: Json, inside: str) -> Json:
    if isinstance(kind, Struct) and isinstance(value, dict):
        return _struct(kind, value, inside)
    if isinstance(kind, KeyedList) and isinstance(value, list) and isinstance(kind.item, Struct):
        found = [_canonical(kind.item, item, "") for item in value]
        same = all(one is other for one, other in zip(value, found, strict=True))
        return value if same else found
    return value


def _struct(kind: Struct, value: Object, inside: str) -> Object:
    found = {}
    same = True
    for name, below in value.items():
        below_kind = kind.fields.get(name)
        if below_kind is None or _is_dropped(name, below_kind, below, inside):
            same = False
            continue
        found[name] = _canonical(below_kind, below, name)
        same = same and found[name] is below
    return value if same else found


def _is_dropped(name: str, kind: Type, value: Json, inside: str) -> bool:
    if value is None:
        return name not in _ALWAYS
    if value == []:
        return name not in _ALWAYS
    if value == {}:
        return isinstance(kind, Map) or (name in _ATOMIC_MAPS and inside == "spec")
    if value in (0, False, "") and not isinstance(kind, Struct | SetList | KeyedList):
        return name in _ZERO
    return False
