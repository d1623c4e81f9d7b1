"""Validation with 422: a small part of the checks of the API server."""

import re
from functools import lru_cache
from typing import Any

from model_cluster.api_server.answers import Wrong
from model_cluster.api_server.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    CRON_JOB,
    DEPLOYMENT,
    LEASE,
    POD,
    REPLICA_SET,
    SECRET,
    SERVICE,
    Kind,
)
from model_cluster.api_server.schema import Json, Object
from model_cluster.api_server.services import of_service, of_service_change
from model_cluster.api_server.validation_of_pods import missing, of_cron_job, of_pod_spec, of_workload

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_IMMUTABLE = "field is immutable"
_UNCHECKED = Wrong("FieldValueInvalid", "Invalid value: null: some validation rules were not checked", "<nil>")


def of_new(kind: Kind, obj: Object) -> list[Wrong]:
    """Return the errors of an object to be created."""
    wrongs = []
    if not _NAME.fullmatch(obj["metadata"].get("name", "")):
        wrongs.append(Wrong("FieldValueInvalid", "Invalid value: a lowercase RFC 1123 subdomain", "metadata.name"))
    return wrongs + _of_content(kind, obj)


def of_change(kind: Kind, old: Object, new: Object, subresource: str) -> list[Wrong]:
    """Return the errors of a change."""
    wrongs = []
    if new["metadata"].get("uid") != old["metadata"]["uid"]:
        wrongs.append(Wrong("FieldValueInvalid", f"Invalid value: {_IMMUTABLE}", "metadata.uid"))
    before, after = (set(each["metadata"].get("finalizers") or ()) for each in (old, new))
    if "deletionTimestamp" in old["metadata"] and after - before:
        message = "Forbidden: no new finalizers can be added if the object is being deleted"
        wrongs.append(Wrong("FieldValueForbidden", message, "metadata.finalizers"))
    if subresource:
        return wrongs + (_of_content(kind, new) if kind.custom else _of_counts(kind, new.get("status") or {}))
    if kind in (DEPLOYMENT, REPLICA_SET) and old["spec"]["selector"] != new["spec"].get("selector"):
        wrongs.append(Wrong("FieldValueInvalid", f"Invalid value: {_IMMUTABLE}", "spec.selector"))
    if kind in (CONFIG_MAP, SECRET) and old.get("immutable"):
        wrongs += _of_immutable(old, new)
    if kind is CONTROLLER_REVISION and old.get("data") != new.get("data"):
        wrongs.append(Wrong("FieldValueInvalid", f"Invalid value: {_IMMUTABLE}", "data"))
    if kind is SECRET and old.get("type") != new.get("type"):
        wrongs.append(Wrong("FieldValueInvalid", f"Invalid value: {_IMMUTABLE}", "type"))
    if kind is SERVICE:
        wrongs += of_service_change(old, new)
    return wrongs + _of_content(kind, new)


def _of_counts(kind: Kind, status: Object) -> list[Wrong]:
    """Return errors for counts of pods that exceed the counts that include them."""
    within = {DEPLOYMENT: ("updatedReplicas", "readyReplicas", "availableReplicas")}.get(kind, ())
    within = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas") if kind is REPLICA_SET else within
    pairs = [(name, "replicas") for name in within] + [("availableReplicas", "readyReplicas") for _ in within[:1]]
    return [
        Wrong("FieldValueInvalid", f"Invalid value: cannot be greater than {most}", f"status.{name}")
        for name, most in pairs
        if status.get(name, 0) > status.get(most, 0)
    ]


def _of_immutable(old: Object, new: Object) -> list[Wrong]:
    message = "Forbidden: field is immutable when `immutable` is set"
    wrongs = [] if new.get("immutable") else [Wrong("FieldValueForbidden", message, "immutable")]
    wrongs += [
        Wrong("FieldValueForbidden", message, name)
        for name in ("data", "binaryData")
        if (old.get(name) or {}) != (new.get(name) or {})
    ]
    return wrongs


def _of_content(kind: Kind, obj: Object) -> list[Wrong]:
    if kind.schema is not None:
        wrongs = _of_schema(kind.schema, obj, "")
        return [*wrongs, _UNCHECKED] if wrongs and kind.has_rules else wrongs
    if kind in (DEPLOYMENT, REPLICA_SET):
        return of_workload(obj)
    if kind is POD:
        return of_pod_spec(obj["spec"], "spec")
    if kind is CRON_JOB:
        return of_cron_job(obj["spec"])
    if kind is LEASE:
        return _of_lease(obj.get("spec") or {})
    return of_service(obj) if kind is SERVICE else []


def _of_lease(spec: Object) -> list[Wrong]:
    wrongs = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        wrongs.append(Wrong("FieldValueInvalid", "Invalid value: must be greater than 0", "spec.leaseDurationSeconds"))
    if spec.get("leaseTransitions", 0) < 0:
        wrongs.append(
            Wrong("FieldValueInvalid", "Invalid value: must be greater than or equal to 0", "spec.leaseTransitions")
        )
    return wrongs


def _of_schema(schema: Object, value: Json, path: str) -> list[Wrong]:
    wrong = _of_type(schema, value) or _of_value(schema, value)
    if wrong is not None:
        return [Wrong(wrong[0], wrong[1], path)]
    found = []
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            found += [] if name in value else [missing(f"{path}.{name}".lstrip("."))]
        for name, below in value.items():
            inside = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if inside and f"{path}.{name}" not in (".metadata", ".apiVersion", ".kind"):
                found += _of_schema(inside, below, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _of_schema(schema.get("items", {}), item, f"{path}[{index}]")
    return found


_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def _of_type(schema: Object, value: Json) -> tuple[str, str] | None:
    wanted = _TYPES.get(schema.get("type", ""))
    if wanted is None:
        return None
    right = isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
    return None if right else ("FieldValueTypeInvalid", f"Invalid value: must be of type {schema['type']}")


def _of_value(schema: Object, value: Json) -> tuple[str, str] | None:
    if "enum" in schema and value not in schema["enum"]:
        return "FieldValueNotSupported", f'Unsupported value: "{value}"'
    if isinstance(value, str):
        return _of_text(schema, value)
    if isinstance(value, list) and not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return "FieldValueTooMany", "Too many"
    return _of_number(schema, value) if isinstance(value, int) and not isinstance(value, bool) else None


def _of_number(schema: Object, value: int) -> tuple[str, str] | None:
    right = schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return None if right else ("FieldValueInvalid", "Invalid value: should be in the range")


def _of_text(schema: Object, value: str) -> tuple[str, str] | None:
    if len(value) > schema.get("maxLength", len(value)):
        return "FieldValueTooLong", "Too long"
    if len(value) < schema.get("minLength", 0):
        return "FieldValueInvalid", "Invalid value: should be longer"
    if "pattern" in schema and not _compiled(schema["pattern"]).search(value):
        return "FieldValueInvalid", "Invalid value: should match the pattern"
    return None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> "re.Pattern[Any]":
    # Python has no POSIX classes.
    return re.compile(pattern.replace("[:cntrl:]", r"\x00-\x1f\x7f"))
