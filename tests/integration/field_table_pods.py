"""The fields of a WebApp's spec for pods, with two values and their places in the Deployment."""

from typing import Any

from integration.field_table import CONTAINER, POD, Field, same

INIT = f"{POD}/initContainers"
SECURITY = "securityContext"
NONE = {"replicas": 0}
"""No pods, because no fake node could run them: their claims and classes do not exist."""


def volumes() -> Field:
    """Return volumes that change their sources and order."""
    cache: dict[str, Any] = {"name": "cache", "mountPath": "/cache", "emptyDir": {"sizeLimit": "1024Mi"}}
    tls = {"name": "tls", "mountPath": "/tls", "readOnly": True, "secret": {"secretName": "tls", "defaultMode": 256}}
    second = [
        {"name": "tls", "mountPath": "/tls", "configMap": {"name": "tls", "items": [{"key": "a", "path": "b"}]}},
        {"name": "cache", "mountPath": "/data", "subPath": "a", "ephemeral": {"storage": "1Gi"}},
    ]
    items = {"name": "tls", "defaultMode": 420, "items": [{"key": "a", "path": "b"}]}
    mounts = f"{CONTAINER}/volumeMounts"
    return Field(
        "volumes",
        [cache, tls],
        second,
        {
            f"{POD}/volumes/0": (
                {"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}},
                {"name": "tls", "configMap": items},
            ),
            f"{POD}/volumes/1/secret": ({"secretName": "tls", "defaultMode": 256}, None),
            f"{POD}/volumes/1/ephemeral/volumeClaimTemplate/spec/accessModes": (None, ["ReadWriteOnce"]),
            f"{mounts}/0": ({"name": "cache", "mountPath": "/cache"}, {"name": "tls", "mountPath": "/tls"}),
            f"{mounts}/1": (
                {"name": "tls", "mountPath": "/tls", "readOnly": True},
                {"name": "cache", "mountPath": "/data", "subPath": "a"},
            ),
            f"{POD}/volumes/2": (None, None),
            f"{POD}/{SECURITY}/fsGroup": (None, 1000),
        },
        {**NONE, "runAsUser": 1000},
    )


def init_containers() -> Field:
    """Return init containers that change their order and fields."""
    source = {"fieldRef": {"fieldPath": "metadata.name"}}
    stored = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    migrate = {"name": "migrate", "image": "registry.example/migrate:1", "env": [{"name": "A", "valueFrom": source}]}
    check = {"name": "check", "image": "registry.example/check:1"}
    changed = {**migrate, "env": [{"name": "A", "value": "1"}], "useConfig": True, "runAsUser": 5}
    return Field(
        "initContainers",
        [migrate, check],
        [check, changed],
        {
            f"{INIT}/0/name": ("migrate", "check"),
            f"{INIT}/0/env": ([{"name": "A", "valueFrom": stored}], None),
            f"{INIT}/1/name": ("check", "migrate"),
            f"{INIT}/1/env/1": (None, {"name": "A", "value": "1"}),
            f"{INIT}/1/{SECURITY}/runAsUser": (None, 5),
            f"{INIT}/2": (None, None),
        },
    )


def sidecars() -> Field:
    """Return a sidecar that moves behind the init containers and changes its probe."""
    proxy = {"name": "proxy", "image": "registry.example/proxy:1", "ports": [{"name": "p", "containerPort": 9000}]}
    first = {**proxy, "startupProbe": {"tcpSocket": {"port": "p"}}}
    second = {**proxy, "startupProbe": {"exec": {"command": ["true"]}}, "afterInitContainers": True}
    return Field(
        "sidecars",
        [first],
        [second],
        {
            f"{INIT}/0/name": ("proxy", "check"),
            f"{INIT}/1/name": ("check", "proxy"),
            f"{INIT}/0/restartPolicy": ("Always", None),
            f"{INIT}/1/restartPolicy": (None, "Always"),
            f"{INIT}/0/startupProbe/tcpSocket/port": ("p", None),
            f"{INIT}/1/startupProbe/exec/command": (None, ["true"]),
        },
        {"initContainers": [{"name": "check", "image": "registry.example/check:1"}]},
    )


def affinity() -> Field:
    required, preferred = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
    ours = {"labelSelector": {"matchLabels": {"coxswain.dev/webapp": "field-affinity"}}}
    term = {"topologyKey": "kubernetes.io/hostname"}
    expression = {"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}
    return Field(
        "affinity",
        {"podAntiAffinity": {required: [term]}, "nodeAffinity": {required: {"nodeSelectorTerms": [expression]}}},
        {"podAntiAffinity": {preferred: [{"weight": 5, "podAffinityTerm": {**term, "labelSelector": {}}}]}},
        {
            f"{POD}/affinity/podAntiAffinity/{required}": ([{**term, **ours}], None),
            f"{POD}/affinity/podAntiAffinity/{preferred}": (
                None,
                [{"weight": 5, "podAffinityTerm": {**term, "labelSelector": {}}}],
            ),
            f"{POD}/affinity/nodeAffinity": ({required: {"nodeSelectorTerms": [expression]}}, None),
        },
    )


def writable_paths() -> Field:
    return Field(
        "writablePaths",
        ["/tmp", "/run"],  # noqa: S108 - paths in a container that never runs
        ["/run"],
        {
            f"{CONTAINER}/volumeMounts/0/mountPath": ("/tmp", "/run"),  # noqa: S108
            f"{CONTAINER}/volumeMounts/1/mountPath": ("/run", None),
            f"{POD}/volumes/0/emptyDir": ({}, {}),
            f"{POD}/volumes/1/emptyDir": ({}, None),
        },
    )


NAMESERVER = {"dnsConfig": {"nameservers": ["192.0.2.53"]}}

POD_FIELDS = [
    volumes(),
    init_containers(),
    sidecars(),
    affinity(),
    writable_paths(),
    same("fsGroup", 1000, 2000, f"{POD}/{SECURITY}/fsGroup"),
    same("readOnlyRootFilesystem", True, False, f"{CONTAINER}/{SECURITY}/readOnlyRootFilesystem"),
    same("schedulerName", "batch", "other", f"{POD}/schedulerName", **NONE),
    same("runtimeClassName", "gvisor", "kata", f"{POD}/runtimeClassName", **NONE),
    same(
        "hostAliases",
        [{"ip": "192.0.2.1", "hostnames": ["a", "b"]}, {"ip": "2001:db8::1", "hostnames": ["c"]}],
        [{"ip": "2001:db8::1", "hostnames": ["d"]}],
        f"{POD}/hostAliases",
    ),
    same("dnsPolicy", "Default", "None", f"{POD}/dnsPolicy", **NAMESERVER),
    same(
        "dnsConfig",
        {"nameservers": ["192.0.2.53"], "options": [{"name": "ndots", "value": "2"}]},
        {"searches": ["example.com"], "options": [{"name": "edns0"}]},
        f"{POD}/dnsConfig",
    ),
    same("shareProcessNamespace", True, False, f"{POD}/shareProcessNamespace"),
    same("rollout.minReadySeconds", 1, 2, "deployment/spec/minReadySeconds"),
]
