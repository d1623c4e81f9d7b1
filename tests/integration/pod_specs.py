"""Random fields of pods, as a Hypothesis strategy."""

from typing import Any

from hypothesis import strategies as st

SOURCES: list[dict[str, Any]] = [
    {"emptyDir": {}},
    {"emptyDir": {"sizeLimit": "1024Mi"}},
    {"secret": {"secretName": "a"}},
    {"secret": {"secretName": "a", "defaultMode": 256, "items": [{"key": "a", "path": "b"}]}},
    {"configMap": {"name": "a", "optional": False}},
    {"projected": {"sources": [{"serviceAccountToken": {"path": "a"}}, {"secret": {"name": "a"}}]}},
    {"persistentVolumeClaim": {"claimName": "a", "shared": True}},
    {"ephemeral": {"storage": "1024Mi"}},
]
FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}


def some(items: list[Any]) -> st.SearchStrategy[list[Any]]:
    """Return items in any order, each name at most once."""
    return st.lists(st.sampled_from(items), max_size=3, unique_by=lambda item: item["name"])


volumes = some([{"name": name, "mountPath": f"/{name}", **source} for name in "ab" for source in SOURCES])
environment = some([{"name": "A", "value": "1"}, {"name": "A", "valueFrom": FIELD}, {"name": "B", "value": ""}])
beside = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["one", "two"]),
        "image": st.sampled_from(["registry.example/a:1", "registry.example/a:2"]),
    },
    optional={
        "env": environment,
        "readOnlyRootFilesystem": st.booleans(),
        "resources": st.sampled_from([{}, {"requests": {"cpu": "1000m"}}]),
        "useConfig": st.booleans(),
    },
)
probes = st.sampled_from([{"tcpSocket": {"port": 80}, "initialDelaySeconds": 0}, {"exec": {"command": ["a"]}}])
sidecar = st.builds(
    lambda container, more: {**container, **more, "name": f"side-{container['name']}"},
    beside,
    st.fixed_dictionaries({}, optional={"startupProbe": probes, "afterInitContainers": st.booleans()}),
)
TERM = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": []}
affinity = st.sampled_from(
    [
        {},
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
        {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}},
    ]
)
pods = st.fixed_dictionaries(
    {},
    optional={
        "volumes": volumes,
        "initContainers": st.lists(beside, max_size=2, unique_by=lambda container: str(container["name"])),
        "sidecars": st.lists(sidecar, max_size=2, unique_by=lambda container: str(container["name"])),
        "writablePaths": st.lists(st.sampled_from(["/x", "/y"]), unique=True),
        "files": st.sampled_from([[], [{"path": "/etc/a", "content": "a"}]]),
        "affinity": affinity,
        "dnsPolicy": st.sampled_from(["ClusterFirst", "Default"]),
        "dnsConfig": st.sampled_from([{}, {"searches": ["a.example"]}, {"options": [{"name": "a", "value": ""}]}]),
        "hostAliases": st.sampled_from([[], [{"ip": "192.0.2.1", "hostnames": ["a"]}]]),
        "schedulerName": st.sampled_from(["default-scheduler", "batch"]),
        "shareProcessNamespace": st.booleans(),
        "readOnlyRootFilesystem": st.booleans(),
        "fsGroup": st.just(1000),
        "runAsUser": st.just(1000),
        "rollout": st.sampled_from([{"minReadySeconds": 0}, {"minReadySeconds": 5}]),
    },
)
"""Specs of the pod fields."""
