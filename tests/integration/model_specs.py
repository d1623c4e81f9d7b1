"""Random specs and statuses for the model and the real API server."""

from typing import Any

from hypothesis import strategies as st


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a map with some of these parts."""
    return st.fixed_dictionaries({}, optional=parts)


def items(key: str, names: tuple[Any, ...], **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a list of items, each at most once, in any order."""
    one = st.tuples(st.sampled_from(names), some(**parts)).map(lambda found: {key: found[0], **found[1]})
    return st.lists(one, max_size=3, unique_by=lambda item: item[key])


def texts(*names: str) -> st.SearchStrategy[dict[str, str]]:
    """Return a map of texts."""
    return some(**{name: st.sampled_from(["1", "2"]) for name in names})


OWNERS = items(
    "uid",
    ("10000000-0000-0000-0000-000000000000", "20000000-0000-0000-0000-000000000000"),
    controller=st.just(value=False),
).map(lambda found: [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", **each} for each in found])

LEASE_SPEC = some(
    holderIdentity=st.sampled_from(["", "a", "b"]),
    leaseDurationSeconds=st.sampled_from([15, 15, 15, 1, 0, -1]),
    leaseTransitions=st.sampled_from([0, 1, 2, -1]),
    acquireTime=st.sampled_from(["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:01.500000Z"]),
    renewTime=st.sampled_from(["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:01.500000Z"]),
)
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
    """Add the volume needed by a container that mounts it."""
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
SCHEDULES = st.sampled_from(["*/5 * * * *", "0 3 * * 1"])
CRON_JOB_SPEC = st.builds(
    lambda schedule, template, rest: {
        **rest,
        "schedule": schedule,
        "jobTemplate": {
            "spec": {"template": {**template, "spec": {**template["spec"], "restartPolicy": "OnFailure"}}},
        },
    },
    SCHEDULES,
    TEMPLATE,
    some(
        suspend=st.booleans(),
        concurrencyPolicy=st.sampled_from(["Allow", "Forbid", "Replace", "Sometimes"]),
        successfulJobsHistoryLimit=st.sampled_from([0, 3]),
        failedJobsHistoryLimit=st.sampled_from([-1, 0, 1]),
        startingDeadlineSeconds=st.sampled_from([0, 60]),
    ),
)
TASK_SPEC = st.builds(
    lambda schedule, image, rest: {"schedule": schedule, "image": image, **rest},
    SCHEDULES,
    st.sampled_from(["image:1", "image:2"]),
    some(
        args=st.lists(st.sampled_from(["1", "2"]), max_size=2),
        config=texts("k", "l"),
        paused=st.booleans(),
        conflicts=some(policy=st.sampled_from(["Enforce", "Yield", "Sometimes"])),
    ),
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
INGRESS_PATH = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"name": "http"}}}}
INGRESS_SPEC = st.builds(
    lambda hosts, rest: {**rest, "rules": [{"host": host, "http": {"paths": [INGRESS_PATH]}} for host in hosts]},
    st.lists(st.sampled_from(["a.example.com", "b.example.com"]), min_size=1, max_size=2, unique=True),
    some(
        ingressClassName=st.sampled_from(["a", "b"]),
        tls=st.sampled_from([[], [{"hosts": ["a.example.com"], "secretName": "s"}]]),
    ),
)
INGRESS_STATUS = st.sampled_from([[], [{"ip": "192.0.2.1"}], [{"hostname": "a.example.com"}]]).map(
    lambda found: {"loadBalancer": {"ingress": found} if found else {}}
)
GATEWAYS = items("name", ("a", "b"), namespace=st.just("infra"), sectionName=st.just("https"), port=st.just(443))
ROUTE_SPEC = some(
    parentRefs=GATEWAYS,
    hostnames=st.lists(st.sampled_from(["a.example.com", "*.example.com"]), max_size=2),
    rules=st.lists(
        some(
            matches=st.lists(some(path=some(type=st.just("Exact"), value=st.just("/a")), method=st.just("GET"))),
            backendRefs=items("name", ("a", "b"), port=st.sampled_from([80, 81]), weight=st.just(2)),
        ),
        max_size=2,
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
ROUTE_STATUS = st.builds(
    lambda gateways, conditions: {
        "parents": [
            {"parentRef": gateway, "controllerName": "example.com/a", "conditions": conditions} for gateway in gateways
        ]
    },
    GATEWAYS,
    FULL_CONDITIONS,
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
TASK_STATUS = some(
    observedGeneration=st.sampled_from([1, 2]),
    conditions=FULL_CONDITIONS,
    children=items("name", ("a", "b")).map(
        lambda found: [{"kind": "CronJob", "health": "Healthy", **e} for e in found]
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
