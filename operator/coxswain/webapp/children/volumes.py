"""Volumes of the pods, and their mounts."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.quantity import canonical
from coxswain.webapp.canonical import without_empty
from coxswain.webapp.children.configmap import config_map_name
from coxswain.webapp.content import file_key
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.pods import EmptyDir, EphemeralVolume, ProjectedSource, Volume, VolumeMount

FILES_VOLUME = "files"
WRITABLE_VOLUME = "writable-"
"""Prefix of the volumes for `writablePaths`. The schema reserves it, and the name `files`."""

_TOKEN_SECONDS = 3600
"""Kubernetes' default for the lifetime of a projected token."""


def volumes(webapp: WebApp) -> list[Manifest]:
    """Return the volumes of a pod."""
    files = [{"name": FILES_VOLUME, "configMap": {"name": config_map_name(webapp)}}] if _files(webapp) else []
    writable = [{"name": _writable_name(path), "emptyDir": {}} for path in webapp.spec.get("writablePaths", [])]
    return [*files, *map(_volume, webapp.spec.get("volumes", [])), *writable]


def main_mounts(webapp: WebApp) -> list[Manifest]:
    """Return the mounts of the main container."""
    mounted = [
        _mount(volume, volume["mountPath"]) for volume in webapp.spec.get("volumes", []) if "mountPath" in volume
    ]
    writable = [{"name": _writable_name(path), "mountPath": path} for path in webapp.spec.get("writablePaths", [])]
    return [*file_mounts(webapp), *mounted, *writable]


def file_mounts(webapp: WebApp) -> list[Manifest]:
    """Return the mounts of `files`."""
    return [
        {"name": FILES_VOLUME, "mountPath": file["path"], "subPath": file_key(file["path"]), "readOnly": True}
        for file in _files(webapp)
    ]


def mounts(wanted: Sequence[VolumeMount]) -> list[Manifest]:
    """Return the mounts of an init container or a sidecar."""
    return [_mount(each, each["mountPath"]) for each in wanted]


def has_claims(webapp: WebApp) -> bool:
    """Tell whether the pods mount PersistentVolumeClaims."""
    return any("persistentVolumeClaim" in each or "ephemeral" in each for each in webapp.spec.get("volumes", []))


def _files(webapp: WebApp) -> Sequence[Mapping[str, Any]]:
    return webapp.spec.get("files", [])


def _writable_name(path: str) -> str:
    """Return the name of a volume: a hash, because a path is no valid name and list positions may change."""
    return f"{WRITABLE_VOLUME}{hashlib.sha256(path.encode()).hexdigest()[:10]}"


def _mount(wanted: Volume | VolumeMount, path: str) -> Manifest:
    mount: Manifest = {"name": wanted["name"], "mountPath": path}
    if "subPath" in wanted:
        mount["subPath"] = wanted["subPath"]
    # The API server does not store readOnly: false.
    return {**mount, "readOnly": True} if wanted.get("readOnly") else mount


def _volume(volume: Volume) -> Manifest:
    name = {"name": volume["name"]}
    if "emptyDir" in volume:
        # An empty source is stored as {}.
        return {**name, "emptyDir": _empty_dir(volume["emptyDir"])}
    if "persistentVolumeClaim" in volume:
        return {**name, "persistentVolumeClaim": {"claimName": volume["persistentVolumeClaim"]["claimName"]}}
    if "ephemeral" in volume:
        return {**name, "ephemeral": {"volumeClaimTemplate": {"spec": _claim(volume["ephemeral"])}}}
    if "projected" in volume:
        projected = volume["projected"]
        sources = [_source(source) for source in projected["sources"]]
        return {**name, "projected": without_empty({**projected, "sources": sources})}
    return without_empty({**name, **{kind: volume.get(kind) for kind in ("configMap", "secret")}})


def _empty_dir(wanted: EmptyDir) -> Manifest:
    limit = {"sizeLimit": canonical(wanted["sizeLimit"])} if "sizeLimit" in wanted else {}
    return {**({"medium": wanted["medium"]} if "medium" in wanted else {}), **limit}


def _claim(wanted: EphemeralVolume) -> Manifest:
    return without_empty(
        {
            "accessModes": [wanted.get("accessMode", "ReadWriteOnce")],
            "storageClassName": wanted.get("storageClassName"),
            "resources": {"requests": {"storage": canonical(wanted["storage"])}},
        }
    )


def _source(source: ProjectedSource) -> Manifest:
    if "serviceAccountToken" not in source:
        return without_empty(source)
    # The API server treats the sources as atomic and sets this default in them.
    return {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, **source["serviceAccountToken"]}}
