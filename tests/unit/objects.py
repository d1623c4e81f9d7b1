"""Objects in the form sent by the API server, for unit tests."""

import copy
import json
from typing import Any

from coxswain.kernel.objects.commands import Commands
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, WEBAPP
from coxswain.webapp.spec import WebApp
from rendered import observe


def webapp(name: str = "web", namespace: str = "shop", uid: str = "uid-1", generation: int = 1, **spec: Any) -> WebApp:
    """Return a WebApp with this spec."""
    full: Any = {"image": "registry.example/web:1", **spec}
    return WebApp(namespace=namespace, name=name, uid=uid, generation=generation, spec=full)


COMMANDS = Commands("webapp", "web", "shop", "coxswain")
"""The commands about that WebApp."""


def raw_webapp(name: str = "web", *, version: int = 10, uid: str = "uid-1", **more: Any) -> dict[str, Any]:
    """Return a WebApp as JSON."""
    metadata = {"name": name, "namespace": "shop", "uid": uid, "resourceVersion": str(version), "generation": 1}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, "spec": {"image": "registry.example/web:1"}, **more}


def observed_webapp(name: str = "web", *, version: int = 10, uid: str = "uid-1", **more: Any) -> Projection:
    """Return the projection of a WebApp."""
    return observe(WEBAPP, raw_webapp(name, version=version, uid=uid, **more))


def observed_child(
    kind: Kind = DEPLOYMENT, name: str = "web", *, version: int = 10, uid: str = "child-1", label: str | None = "web"
) -> Projection:
    """Return the projection of a child."""
    labels = {"coxswain.dev/webapp": label} if label else {}
    metadata = {"name": name, "namespace": "shop", "uid": uid, "resourceVersion": str(version), "labels": labels}
    return observe(kind, {"metadata": metadata})


def observed_autoscaler(target: str = "web", *, version: int = 10, name: str = "scaler") -> Projection:
    """Return the projection of a HorizontalPodAutoscaler of a Deployment."""
    metadata = {"name": name, "namespace": "shop", "uid": f"autoscaler-{name}", "resourceVersion": str(version)}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    return observe(HORIZONTAL_POD_AUTOSCALER, {"metadata": metadata, "spec": {"scaleTargetRef": reference}})


def stored(manifest: Manifest, *, version: int = 10, uid: str = "child-1", **more: Any) -> dict[str, Any]:
    """Return a manifest as stored by the API server after our apply, without defaults."""
    identity = {"uid": uid, "resourceVersion": str(version), "generation": 1}
    entry = {"manager": "coxswain", "operation": "Apply", "fieldsV1": fields_of(manifest)}
    metadata = {**manifest["metadata"], **identity, "managedFields": [entry]}
    return copy.deepcopy({**manifest, "metadata": metadata, **more})


def fields_of(manifest: Manifest) -> dict[str, Any]:
    """Return the fieldsV1 of an apply of the manifest. Only the merge keys of our manifests are supported."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in ("name", "namespace")}
    body = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata")}
    atomic = ("data",) if manifest["kind"] == "ControllerRevision" else ()
    granular = {key: value for key, value in body.items() if key not in atomic}
    fields: dict[str, Any] = _fields({"metadata": metadata, **granular}, ()) | {f"f:{key}": {} for key in atomic}
    return fields


_ATOMIC = {"selector", "labelSelector", "nodeSelector", "configMapKeyRef", "fieldRef", "resourceFieldRef"}
_KEYS = {
    "ownerReferences": ("uid",),
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}


def _merge_keys(path: tuple[str, ...]) -> tuple[str, ...]:
    if path[-1:] == ("ports",):
        return ("containerPort" if {"containers", "initContainers"} & {*path} else "port", "protocol")
    return _KEYS.get(path[-1], ()) if path else ()


def _fields(value: Any, path: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(value, dict) and path[-1:] != () and path[-1] in _ATOMIC:
        return {}
    if isinstance(value, dict):
        return {f"f:{key}": _fields(item, (*path, key)) for key, item in value.items()}
    keys = _merge_keys(path)
    if not isinstance(value, list) or not keys:
        return {}
    made: dict[str, Any] = {}
    for item in value:
        element = "k:" + json.dumps({key: item[key] for key in keys}, separators=(",", ":"))
        made[element] = {} if path[-1] == "ownerReferences" else {".": {}, **_fields(item, (*path, "item"))}
    return made
