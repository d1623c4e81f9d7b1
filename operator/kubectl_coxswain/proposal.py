"""The WebApp that an apply would store: by dry-run, or merged here if the user may not try it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.last_applied import after_server_side, last_manifest, note_before_apply
from kubectl_coxswain.names import WEBAPP
from kubectl_coxswain.problems import Forbidden, NotFound, Problem

_METADATA = ("annotations", "labels")
"""The merged fields of the metadata."""
_NOBODY = "00000000-0000-0000-0000-000000000000"
"""The uid of a missing WebApp."""


@dataclass(frozen=True)
class Proposal:
    """A WebApp before and after an apply."""

    proposed: Json
    live: Json | None
    notes: tuple[str, ...] = ()
    is_tried: bool = True
    """Whether the API server has validated it by dry-run."""


def proposal(kubectl: Kubectl, manifest: Json, options: tuple[str, ...] = ()) -> Proposal:
    """Return the outcome of an apply.

    Args:
        kubectl: the cluster.
        manifest: the WebApp of a file, with its namespace.
        options: the options of that apply: none for an apply by the client.

    Raises:
        Problem: the API server rejects the WebApp, or cannot be asked.
    """
    metadata = manifest["metadata"]
    try:
        live = kubectl.one(WEBAPP, metadata["name"], metadata["namespace"])
    except NotFound:
        live = None
    applier = _applier(options)
    try:
        tried = kubectl.apply(manifest, *options)
        if live is not None and applier is not None:
            tried = _migrated(kubectl, live, tried, manifest, applier)
        return _noted(Proposal(tried, live), manifest)
    except Forbidden as error:
        reason = error.message
    except NotFound:
        # Without its namespace an object cannot be created, not even by dry-run.
        reason = f"namespace {metadata['namespace']} does not exist yet"
    note = f"the WebApp is merged without the API server, which could reject it or change it: {reason}"
    schema, more = _schema(kubectl)
    return _noted(Proposal(merged(manifest, live, schema, applier), live, (note, *more), is_tried=False), manifest)


def _applier(options: tuple[str, ...]) -> str | None:
    """Return the field manager of a server-side apply; None for an apply by the client."""
    if "--server-side" not in options:
        return None
    option = "--field-manager="
    return next((each.removeprefix(option) for each in options if each.startswith(option)), "kubectl")


def _migrated(kubectl: Kubectl, live: Json, tried: Json, manifest: Json, applier: str) -> Json:
    """Return the tried WebApp without the fields that only the real apply removes."""
    spec = after_server_side(live, tried["spec"], manifest["spec"], applier)
    return tried if spec == tried["spec"] else {**tried, "spec": defaulted(spec, _schema(kubectl)[0])}


def _noted(found: Proposal, manifest: Json) -> Proposal:
    """Return a proposal with a note about the remaining fields of an earlier undo."""
    if found.live is None:
        return found
    return replace(found, notes=(*found.notes, *note_before_apply(found.live, found.proposed, manifest)))


def merged(manifest: Json, live: Json | None, schema: Mapping[str, Any], applier: str | None = None) -> Json:
    """Return a WebApp as `kubectl apply` merges it: fields that neither file nor last apply name stay as they are.

    Args:
        manifest: the WebApp of a file.
        live: the present WebApp; None for a new one.
        schema: the schema of the spec.
        applier: the field manager of a server-side apply; None for an apply by the client.
    """
    if live is None:
        metadata = {"uid": _NOBODY, "generation": 1, **manifest["metadata"]}
        return {**manifest, "metadata": metadata, "spec": defaulted(manifest["spec"], schema)}
    last = last_manifest(live) or {} if applier is None else {}
    spec = _three_way(live.get("spec", {}), last.get("spec", {}), manifest["spec"])
    if applier is not None:
        spec = after_server_side(live, spec, manifest["spec"], applier)
    before, applied, wanted = live["metadata"], last.get("metadata") or {}, manifest["metadata"]
    merge = {name: _three_way(before.get(name), applied.get(name), wanted.get(name) or {}) for name in _METADATA}
    return {**live, "metadata": {**before, **merge}, "spec": defaulted(spec, schema)}


def _three_way(live: Any, last: Any, wanted: Any) -> Any:
    """Merge as kubectl does for custom resources: maps by key, where null removes one, and lists as a whole."""
    if not isinstance(wanted, Mapping):
        return wanted
    live, last = (each if isinstance(each, Mapping) else {} for each in (live, last))
    kept = {key: value for key, value in live.items() if key not in last and key not in wanted}
    given = {key: value for key, value in wanted.items() if value is not None}
    return {**kept, **{key: _three_way(live.get(key), last.get(key), value) for key, value in given.items()}}


def defaulted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value with the defaults of its schema, as the API server fills them in; null is the default, too."""
    if isinstance(value, Mapping):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        given = {name: item for name, item in value.items() if item is not None or _may_be_null(name, schema)}
        filled = {name: each["default"] for name, each in properties.items() if "default" in each} | given
        return {name: defaulted(item, properties.get(name, more)) for name, item in filled.items()}
    if isinstance(value, list):
        return [defaulted(item, schema.get("items", {})) for item in value]
    return value


def _may_be_null(name: str, schema: Mapping[str, Any]) -> bool:
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
    return bool(found.get("nullable"))


def _schema(kubectl: Kubectl) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the schema of the spec, which every user may read, and a note if it is missing."""
    try:
        served = kubectl.get(f"/openapi/v3{WEBAPP.group_path}")
        schemas = served["components"]["schemas"].values()
        found: Mapping[str, Any] = next(each for each in schemas if _is_webapp(each))["properties"]["spec"]
    except (Problem, KeyError, StopIteration):
        return {}, ("the defaults of the CRD are unknown, because its schema cannot be read",)
    return found, ()


def _is_webapp(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("x-kubernetes-group-version-kind") or []
    return any((each.get("group"), each.get("kind")) == (WEBAPP.group, WEBAPP.kind) for each in kinds)
