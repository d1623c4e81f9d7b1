"""Random objects for the model and the real API server, and those that the operator makes."""

from typing import Any

from hypothesis import strategies as st

from rendered import desired
from unit.objects import webapp

PATHS = {
    "WebApp": "/apis/coxswain.dev/v1/namespaces/{}/webapps",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "Service": "/api/v1/namespaces/{}/services",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
}
API_VERSIONS = {
    "WebApp": "coxswain.dev/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
}


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A map with some of these parts."""
    return st.fixed_dictionaries({}, optional=parts)


def items(key: str, names: tuple[Any, ...], **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """A list of items, each once, in any order."""
    one = st.tuples(st.sampled_from(names), some(**parts)).map(lambda found: {key: found[0], **found[1]})
    return st.lists(one, max_size=3, unique_by=lambda item: item[key])


def texts(*names: str) -> st.SearchStrategy[dict[str, str]]:
    """A map of texts."""
    return some(**{name: st.sampled_from(["1", "2"]) for name in names})


OWNERS = items(
    "uid",
    ("10000000-0000-0000-0000-000000000000", "20000000-0000-0000-0000-000000000000"),
    controller=st.just(value=False),
).map(lambda found: [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", **each} for each in found])

METADATA = some(
    labels=texts("x", "y"),
    annotations=texts("x", "example.com/y"),
    ownerReferences=OWNERS,
    finalizers=st.lists(st.sampled_from(["example.com/a", "example.com/b"]), unique=True, max_size=2),
)

_PROTOCOL: dict[int, dict[str, str]] = {80: {}, 81: {"protocol": "UDP"}}
ENV = items("name", ("A", "B", "C"), value=st.sampled_from(["1", "2"]))
SOURCED = items("name", ("A", "B"), valueFrom=st.just({"secretKeyRef": {"name": "s", "key": "k"}}))
PORTS = items("containerPort", (80, 81), name=st.just("p")).map(
    lambda found: [
        {
            **port,
            **({"name": f"p{port['containerPort']}"} if "name" in port else {}),
            **_PROTOCOL[port["containerPort"]],
        }
        for port in found
    ]
)
PROBE = st.sampled_from(
    [
        {"httpGet": {"port": 80}},
        {"httpGet": {"port": 80, "path": "/a"}, "periodSeconds": 5},
        {"tcpSocket": {"port": 80}},
    ]
)
CONTAINERS = items(
    "name",
    ("app", "side"),
    env=st.one_of(ENV, ENV, SOURCED),
    ports=PORTS,
    args=st.lists(st.sampled_from(["1", "2"]), max_size=2),
    resources=some(limits=some(cpu=st.sampled_from(["1", "2"])), requests=some(memory=st.just("1Mi"))),
    imagePullPolicy=st.sampled_from(["Always", "Never"]),
    readinessProbe=PROBE,
    securityContext=some(allowPrivilegeEscalation=st.just(value=False), capabilities=st.just({"drop": ["ALL"]})),
    volumeMounts=st.just([{"name": "files", "mountPath": "/f", "readOnly": True}]),
).flatmap(
    lambda found: st.lists(st.sampled_from(["image:1", "image:2", "image"]), min_size=3, max_size=3).map(
        lambda images: [{"image": image, **each} for image, each in zip(images, found, strict=False)]
    )
)
POD_SPEC = some(
    serviceAccountName=st.sampled_from(["a", "b"]),
    nodeSelector=texts("disk"),
    tolerations=st.sampled_from([[], [{"key": "a", "operator": "Exists"}], [{"key": "b", "operator": "Exists"}]]),
    terminationGracePeriodSeconds=st.sampled_from([5, 30]),
    securityContext=some(runAsNonRoot=st.just(value=True), runAsUser=st.sampled_from([1, 2])),
    imagePullSecrets=items("name", ("s", "t")),
)


def _template(
    containers: list[Any], spec: dict[str, Any], annotations: dict[str, str], *, bare: bool
) -> dict[str, Any]:
    full = {**spec, "containers": containers or [{"name": "app", "image": "image:1"}], "volumes": [_VOLUME]}
    metadata = {"labels": {"app": "a"}, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": full if not bare else {"containers": full["containers"]}}


_VOLUME = {"name": "files", "configMap": {"name": "a"}}


def _with_mounts(template: dict[str, Any]) -> dict[str, Any]:
    """A container that mounts the volume needs it."""
    mounted = any("volumeMounts" in each for each in template["spec"]["containers"])
    return {**template, "spec": {**template["spec"], **({"volumes": [_VOLUME]} if mounted else {})}}


TEMPLATE = st.builds(_template, CONTAINERS, POD_SPEC, texts("x"), bare=st.booleans()).map(_with_mounts)
SELECTOR = {"matchLabels": {"app": "a"}}
DEPLOYMENT_SPEC = st.builds(
    lambda template, rest: {**rest, "selector": SELECTOR, "template": template},
    TEMPLATE,
    some(
        replicas=st.sampled_from([0, 1, 3]),
        minReadySeconds=st.sampled_from([0, 5]),
        progressDeadlineSeconds=st.sampled_from([60, 600]),
        revisionHistoryLimit=st.sampled_from([0, 10]),
        strategy=st.sampled_from([{"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 1}}, {"type": "RollingUpdate"}]),
    ),
)
REPLICA_SET_SPEC = st.builds(
    lambda template, replicas: {"replicas": replicas, "selector": SELECTOR, "template": template},
    TEMPLATE,
    st.sampled_from([0, 1]),
)
SERVICE_PORTS = items(
    "port", (80, 81), targetPort=st.sampled_from(["http", 8080]), appProtocol=st.just("http"), protocol=st.just("UDP")
).map(lambda found: [{"name": f"p{port['port']}", **port} for port in found])
SERVICE_SPEC = st.builds(
    lambda ports, selector, rest: {
        **rest,
        "selector": {"app": "a", **selector},
        "ports": ports or [{"name": "p", "port": 82}],
    },
    SERVICE_PORTS,
    texts("x"),
    some(
        sessionAffinity=st.sampled_from(["None", "ClientIP"]),
        type=st.just("ClusterIP"),
        clusterIP=st.sampled_from(["None"]),
    ),
)
HPA_SPEC = st.builds(
    lambda most, rest: {
        **rest,
        "maxReplicas": most,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
    },
    st.sampled_from([3, 5]),
    some(minReplicas=st.sampled_from([1, 2])),
)
WEBAPP_SPEC = st.builds(
    lambda image, rest: {"image": image, **rest},
    st.sampled_from(["image:1", "image:2"]),
    some(
        replicas=st.sampled_from([0, 1, 3]),
        env=ENV,
        ports=PORTS.map(lambda found: [{"name": f"p{each['containerPort']}", **each} for each in found]),
        config=texts("k", "l"),
        conflicts=some(policy=st.sampled_from(["Enforce", "Yield"])),
        args=st.lists(st.sampled_from(["1", "2"]), max_size=2),
        paused=st.booleans(),
        serviceAccount=some(annotations=texts("x")),
        nodeSelector=texts("disk"),
        rollout=some(strategy=st.just("Recreate")),
    ),
)
CONDITIONS = items(
    "type",
    ("Ready", "Available"),
    status=st.sampled_from(["True", "False"]),
    reason=st.sampled_from(["A", "B"]),
    message=st.just("m"),
    lastTransitionTime=st.just("2026-01-01T00:00:00Z"),
    observedGeneration=st.sampled_from([1, 2]),
)
FULL_CONDITIONS = CONDITIONS.map(
    lambda found: [
        {"status": "Unknown", "reason": "C", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", **each}
        for each in found
    ]
)
WEBAPP_STATUS = some(
    replicas=st.sampled_from([1, 2]),
    readyReplicas=st.sampled_from([0, 2]),
    observedGeneration=st.sampled_from([1, 2]),
    url=st.just("http://a"),
    conditions=FULL_CONDITIONS,
    children=items("name", ("a", "b")).map(
        lambda found: [{"kind": "Service", "health": "Healthy", **e} for e in found]
    ),
)
COUNTS = some(
    observedGeneration=st.sampled_from([1, 2]),
    replicas=st.sampled_from([1, 2]),
    readyReplicas=st.sampled_from([0, 1, 2]),
    availableReplicas=st.sampled_from([0, 1, 2]),
)
CONDITION = {"lastTransitionTime": "2026-01-01T00:00:00Z", "status": "True", "type": "Progressing"}
DEPLOYMENT_STATUS = st.builds(
    lambda counts, rest: {**counts, **rest},
    COUNTS,
    some(
        updatedReplicas=st.sampled_from([0, 1, 2]),
        unavailableReplicas=st.sampled_from([0, 1]),
        conditions=st.just([{**CONDITION, "lastUpdateTime": "2026-01-01T00:00:00Z", "reason": "A", "message": "m"}]),
    ),
)
BODIES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "WebApp": st.fixed_dictionaries({"spec": WEBAPP_SPEC}),
    "Deployment": st.fixed_dictionaries({"spec": DEPLOYMENT_SPEC}),
    "ReplicaSet": st.fixed_dictionaries({"spec": REPLICA_SET_SPEC}),
    "Service": st.fixed_dictionaries({"spec": SERVICE_SPEC}),
    "ConfigMap": some(data=texts("x", "y", "z"), immutable=st.booleans()),
    "ServiceAccount": some(
        automountServiceAccountToken=st.booleans(),
        secrets=items("name", ("s", "t")),
        imagePullSecrets=items("name", ("s",)),
    ),
    "HorizontalPodAutoscaler": st.fixed_dictionaries({"spec": HPA_SPEC}),
}
STATUSES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "WebApp": WEBAPP_STATUS,
    "Deployment": DEPLOYMENT_STATUS,
    "ReplicaSet": COUNTS.map(lambda found: {"replicas": 1, **found}),
    "HorizontalPodAutoscaler": some(currentReplicas=st.sampled_from([1, 2]), desiredReplicas=st.sampled_from([0, 2])),
}
WEBAPPS: list[dict[str, Any]] = [
    {},
    {"replicas": 3, "ports": [{"name": "http", "containerPort": 8080}], "config": {"A": "1"}},
    {
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}],
        "service": {"headless": True, "annotations": {"x": "1"}},
        "config": {"A": "1", "B": "2"},
        "files": [{"path": "/etc/a", "content": "a"}, {"path": "/etc/b", "content": "b"}],
        "env": [
            {"name": "C", "value": "3"},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "F", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "more"}}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}},
        "startupProbe": {"tcpSocket": {"port": "http"}},
        "livenessProbe": {"exec": {"command": ["true"]}},
        "readinessProbe": {"grpc": {"port": 8080}},
        "labels": {"team": "a"},
        "annotations": {"note": "a"},
        "serviceAccount": {"annotations": {"y": "1"}},
    },
    {
        "ports": [{"name": "http", "containerPort": 8080}],
        "command": ["run"],
        "args": ["fast"],
        "workingDir": "/",
        "runAsUser": 7,
        "imagePullPolicy": "Always",
        "imagePullSecrets": [{"name": "s"}],
        "rollout": {"strategy": "Recreate", "progressDeadlineSeconds": 5, "revisionHistoryLimit": 2},
        "terminationGracePeriodSeconds": 7,
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "nodeSelector": {"disk": "ssd"},
        "topologySpreadConstraints": [],
        "priorityClassName": "high",
        "service": {"sessionAffinity": "ClientIP", "ports": [{"name": "web", "port": 80}]},
        "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 3},
        "config": {"B": "2"},
    },
]
"""Specs of WebApps: what the operator makes of them is applied as it is."""

OPERATORS: dict[str, list[dict[str, Any]]] = {}
for _spec in WEBAPPS:
    for _made in desired(webapp(**_spec)):
        OPERATORS.setdefault(_made["kind"], []).append(_made)

PARTIAL: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "Deployment": some(replicas=st.sampled_from([1, 3])).map(lambda spec: {"spec": spec}),
    "WebApp": st.just({"spec": {}}),
}


def manifest_of(kind: str, name: str) -> dict[str, Any]:
    """The least that can be created, with the label that watches select."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "app", "image": "image:1"}]}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    specs: dict[str, Any] = {
        "WebApp": {"image": "image:1"},
        "Deployment": {"selector": SELECTOR, "template": template},
        "ReplicaSet": {"selector": SELECTOR, "template": template},
        "Service": {"selector": {"app": "a"}, "ports": [{"port": 80}]},
        "HorizontalPodAutoscaler": {"maxReplicas": 3, "scaleTargetRef": target},
    }
    spec = {"spec": specs[kind]} if kind in specs else {}
    return {**identity(kind, name), "metadata": {"name": name, "labels": {"x": "1"}}, **spec}


def identity(kind: str, name: str) -> dict[str, Any]:
    """The fields that say which object it is."""
    return {"apiVersion": API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": {"name": name}}
