"""The CRD refuses bad input at `kubectl apply`, names the field, and accepts everything at its limits."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, KubectlError

ROOT = Path(__file__).resolve().parents[2]
CRD = yaml.safe_load((ROOT / "crds/webapps.yaml").read_text())
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
DOCUMENT = ROOT / "docs/webapp.md"
SAMPLES = sorted(path for path in (ROOT / "manifests/samples").glob("*.yaml") if path.name != "kustomization.yaml")

Json = dict[str, Any]

PORTS = [{"name": "http", "containerPort": 8080}]
SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
LARGEST_CONTENT = 900_000


def webapp(name: str = "shop", **spec: Any) -> Json:
    return {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": name},
        "spec": {"image": "registry.example.com/shop:1", **spec},
    }


def dry_run(cluster: ControlPlane, manifest: Json) -> Json:
    """What the server would store. Nothing is stored, so no operator takes part."""
    arguments = ("apply", "--server-side", "--dry-run=server", "--namespace=default", "--output=json", "--filename=-")
    answer: Json = json.loads(cluster.kubectl(*arguments, input=json.dumps(manifest)))
    return answer


@dataclass(frozen=True)
class Refused:
    """What is applied, the field that the message must name, and what it must say about it."""

    field: str
    says: str
    manifest: Json

    def __str__(self) -> str:
        return f"{self.field} {self.says[:40]}"


def refused(field: str, says: str, **spec: Any) -> Refused:
    return Refused(f"spec.{field}", says, webapp(**spec))


def probed(says: str, probe: Json, *, kind: str = "readinessProbe", at: str = "", **spec: Any) -> Refused:
    return refused(f"{kind}{at}", says, **{kind: probe}, **spec)


def from_field(path: str) -> list[Json]:
    return [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]


def from_resource(resource: str, divisor: int | str) -> list[Json]:
    return [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}}}]


def spread(**changes: Any) -> list[Json]:
    return [{**SPREAD, **changes}]


def files(*paths: str) -> list[Json]:
    return [{"path": path, "content": ""} for path in paths]


NAMES = [
    Refused("metadata.name", "at most 63 characters", webapp("a" * 64)),
    Refused("metadata.name", "begin with a letter", webapp("1shop")),
    Refused("metadata.name", "begin with a letter", webapp("shop.eu")),
    Refused("metadata.name", "must not be 'default'", webapp("default")),
    Refused("spec", "Required value", {key: value for key, value in webapp().items() if key != "spec"}),
    Refused("spec.image", "Required value", {**webapp(), "spec": {}}),
]

CONTAINER = [
    refused("image", "at least 1", image=""),
    refused("image", "should match", image="shop: 1"),
    refused("image", "Too long", image="a" * 1025),
    refused("imagePullPolicy", 'supported values: "Always", "IfNotPresent", "Never"', imagePullPolicy="Sometimes"),
    refused("imagePullSecrets", "duplicate entries", imagePullSecrets=[{"name": "a"}, {"name": "a"}]),
    refused("imagePullSecrets[0].name", "should match", imagePullSecrets=[{"name": "A"}]),
    refused("command", "Too many", command=["a"] * 257),
    refused("workingDir", "should match", workingDir="srv"),
    refused("runAsUser", "greater than or equal to 1", runAsUser=0),
    refused("runAsUser", "less than or equal to 2147483647", runAsUser=2**31),
    refused("replicas", "greater than or equal to 0", replicas=-1),
    refused("replicas", "less than or equal to 10000", replicas=10001),
    refused("terminationGracePeriodSeconds", "less than or equal to 86400", terminationGracePeriodSeconds=86401),
]

RESOURCES = [
    refused("resources.requests.cpu", "should match", resources={"requests": {"cpu": "100 m"}}),
    refused("resources.requests.cpu", "greater than or equal to 0", resources={"requests": {"cpu": -1}}),
    refused("resources.limits.memory", "should match", resources={"limits": {"memory": "-1Gi"}}),
    refused("resources.limits.memory", "should match", resources={"limits": {"memory": "1GB"}}),
    refused("resources.limits.cpu", "integer", resources={"limits": {"cpu": 0.5}}),
    refused("resources.requests", "disk: use cpu, memory, ephemeral-storage", resources={"requests": {"disk": 1}}),
    refused(
        "resources.limits",
        "kubernetes.io/x: use cpu, memory, ephemeral-storage",
        resources={"limits": {"kubernetes.io/x": 1}},
    ),
    refused("resources.requests", "must be a whole number", resources={"requests": {"nvidia.com/gpu": "1500m"}}),
    refused("resources.limits", "must be a whole number", resources={"limits": {"nvidia.com/gpu": "1.5"}}),
    refused(
        "resources",
        "cpu: requests must not be greater than limits",
        resources={"requests": {"cpu": 2}, "limits": {"cpu": "1999m"}},
    ),
    refused(
        "resources",
        "memory: requests must not be greater than limits",
        resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}},
    ),
    refused("resources", "can't be overcommitted", resources={"requests": {"nvidia.com/gpu": 1}}),
]

PORT = [
    refused("ports[0].containerPort", "Required value", ports=[{"name": "http"}]),
    refused("ports[0].name", "Required value", ports=[{"containerPort": 80}]),
    *(
        refused("ports[0].name", "should match", ports=[{"name": name, "containerPort": 80}])
        for name in ("80", "1-2", "HTTP", "a--b", "-a", "a-", "a_b")
    ),
    refused("ports[0].name", "Too long", ports=[{"name": "a" * 16, "containerPort": 80}]),
    refused("ports[0].containerPort", "greater than or equal to 1", ports=[{"name": "a", "containerPort": 0}]),
    refused("ports[0].containerPort", "less than or equal to 65535", ports=[{"name": "a", "containerPort": 65536}]),
    refused("ports[0].protocol", 'supported values: "TCP", "UDP", "SCTP"', ports=[{**PORTS[0], "protocol": "tcp"}]),
    refused("ports[0].appProtocol", "should match", ports=[{**PORTS[0], "appProtocol": "h2c/"}]),
    refused("ports", "duplicate entries", ports=[*PORTS, {"name": "other", "containerPort": 8080}]),
    refused("ports", "each name may stand only once", ports=[*PORTS, {"name": "http", "containerPort": 81}]),
    refused("ports", "Too many", ports=[{"name": f"p{n}", "containerPort": n} for n in range(1, 34)]),
]

ENVIRONMENT = [
    refused("env", "duplicate entries", env=[{"name": "A"}, {"name": "A"}]),
    *(refused("env[0].name", "should match", env=[{"name": name}]) for name in ("1A", "A=B", "..", ".", "..a", "A B")),
    refused("env[0].value", "Too long", env=[{"name": "A", "value": "x" * 32769}]),
    refused("env", "Too many", env=[{"name": f"A{n}"} for n in range(257)]),
    refused(
        "env[0]",
        "give value or valueFrom, not both",
        env=[{"name": "A", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ),
    refused("env[0].valueFrom", "give exactly one of configMapKeyRef", env=[{"name": "A", "valueFrom": {}}]),
    refused(
        "env[0].valueFrom",
        "give exactly one of configMapKeyRef",
        env=[
            {
                "name": "A",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "a", "key": "b"}},
            }
        ],
    ),
    refused(
        "env[0].valueFrom.secretKeyRef.key",
        "should match",
        env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "a/b"}}}],
    ),
    refused(
        "env[0].valueFrom.configMapKeyRef.name",
        "should match",
        env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "A", "key": "b"}}}],
    ),
    *(
        refused("env[0].valueFrom.fieldRef.fieldPath", "should match", env=from_field(path))
        for path in ("status.phase", "metadata.labels", "metadata.labels['a b']", "spec.containers[0].image")
    ),
    refused("env[0].valueFrom.resourceFieldRef.resource", "supported values", env=from_resource("limits.gpu", 1)),
    refused("env[0].valueFrom.resourceFieldRef.divisor", "should match", env=from_resource("limits.memory", "2Mi")),
    refused(
        "env[0].valueFrom.resourceFieldRef.divisor", "must be 1 or 1m for cpu", env=from_resource("limits.cpu", "1Mi")
    ),
    refused("env[0].valueFrom.resourceFieldRef.divisor", "not 1m for other", env=from_resource("limits.memory", "1m")),
    refused("envFrom[0]", "give exactly one of configMapRef and secretRef", envFrom=[{"prefix": "A_"}]),
    refused(
        "envFrom[0]",
        "give exactly one of configMapRef and secretRef",
        envFrom=[{"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}}],
    ),
    refused("envFrom[0].prefix", "should match", envFrom=[{"prefix": "1", "secretRef": {"name": "a"}}]),
    refused("envFrom[0].secretRef.name", "Required value", envFrom=[{"secretRef": {}}]),
]

CONTENT = [
    *(
        refused("config", f"{name}: names must be letters", config={"GOOD": "", name: ""})
        for name in ("a-b", "1A", "a.b", "A" * 254)
    ),
    refused("config.A", "Too long", config={"A": "x" * 130001}),
    refused("config", "must have at most 256", config={f"A{n}": "" for n in range(257)}),
    refused("env", "stands in spec.config too", config={"A": "", "B": ""}, env=[{"name": "C"}, {"name": "A"}]),
    *(
        refused("files[0].path", "should match", files=files(path))
        for path in ("etc/a", "/etc/", "/etc//a", "/etc/./a", "/etc/../a", "/etc/a/..", "/etc/a:b", "/etc/a\nb")
    ),
    refused("files[0].path", "at least 2", files=files("/")),
    refused("files[0].path", "Too long", files=files("/" + "a" * 512)),
    refused("files", "duplicate entries", files=files("/a", "/a")),
    refused("files", "no path may be a directory of another", files=files("/a/b/c", "/x", "/a/b")),
    refused("files", "Too many", files=files(*(f"/{n}" for n in range(65)))),
    refused("files[0].content", "Too long", files=[{"path": "/a", "content": "x" * (LARGEST_CONTENT + 1)}]),
    refused(
        "files",
        "at most 900000 characters together",
        files=[{"path": "/a", "content": "x" * (LARGEST_CONTENT - 2)}],
        config={"A": "xyz"},
    ),
]

PROBES = [
    *(
        case
        for kind in ("startupProbe", "readinessProbe", "livenessProbe")
        for case in (
            probed("give exactly one of httpGet, tcpSocket, exec and grpc", {}, kind=kind),
            probed("give exactly one of", {"tcpSocket": {"port": 1}, "grpc": {"port": 1}}, kind=kind),
            probed(
                "a port given as a name must be the name of one of spec.ports",
                {"httpGet": {"port": "web"}},
                kind=kind,
                ports=PORTS,
            ),
            probed("a port given as a name must be", {"tcpSocket": {"port": "http"}}, kind=kind),
            probed("field not declared", {"httpGet": {"port": 1, "host": "a"}}, kind=kind, at=".httpGet.host"),
            probed("supported values", {"httpGet": {"port": 1, "scheme": "http"}}, kind=kind, at=".httpGet.scheme"),
        )
    ),
    *(
        probed(
            "must be 1; only a readinessProbe may have another",
            {"tcpSocket": {"port": 1}, "successThreshold": 2},
            kind=kind,
            at=".successThreshold",
        )
        for kind in ("startupProbe", "livenessProbe")
    ),
    probed(
        "field not declared",
        {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 1},
        at=".terminationGracePeriodSeconds",
    ),
    probed("less than or equal to 65535", {"tcpSocket": {"port": 65536}}, at=".tcpSocket.port"),
    probed("should match", {"tcpSocket": {"port": "80"}}, at=".tcpSocket.port"),
    probed("at least 1 items", {"exec": {"command": []}}, at=".exec.command"),
    probed("expected numeric", {"grpc": {"port": "http"}}, at=".grpc.port"),
    probed(
        "should match",
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "A B", "value": ""}]}},
        at=".httpGet.httpHeaders[0].name",
    ),
    *(
        probed(f"greater than or equal to {least}", {"tcpSocket": {"port": 1}, field: least - 1}, at=f".{field}")
        for field, least in {
            "initialDelaySeconds": 0,
            "periodSeconds": 1,
            "timeoutSeconds": 1,
            "successThreshold": 1,
            "failureThreshold": 1,
        }.items()
    ),
]

SERVICE = [
    refused("service", "spec.service needs spec.ports", service={}),
    refused("service", "spec.service needs spec.ports", service={"sessionAffinity": "None"}, ports=[]),
    refused("service.ports", "at least 1 items", service={"ports": []}, ports=PORTS),
    refused(
        "service.ports",
        "a targetPort given as a name must be",
        service={"ports": [{"name": "a", "port": 80, "targetPort": "web"}]},
        ports=PORTS,
    ),
    refused(
        "service.ports",
        "protocol must be that of the port",
        service={"ports": [{"name": "a", "port": 80, "targetPort": "http", "protocol": "UDP"}]},
        ports=PORTS,
    ),
    refused(
        "service.ports",
        "duplicate entries",
        service={"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]},
        ports=PORTS,
    ),
    refused(
        "service.ports",
        "each name may stand only once",
        service={"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]},
        ports=PORTS,
    ),
    refused("service.ports[0].name", "should match", service={"ports": [{"name": "A", "port": 80}]}, ports=PORTS),
    refused(
        "service.ports[0].port",
        "greater than or equal to 1",
        service={"ports": [{"name": "a", "port": 0}]},
        ports=PORTS,
    ),
    refused("service.sessionAffinity", "supported values", service={"sessionAffinity": "Cookie"}, ports=PORTS),
    refused(
        "service.ports[0].protocol",
        "supported values",
        service={"ports": [{"name": "a", "port": 80, "protocol": "HTTP"}]},
        ports=PORTS,
    ),
    refused("service.type", "field not declared", service={"type": "NodePort"}, ports=PORTS),
]

IDENTITY = [
    refused("serviceAccount.name", "needs serviceAccount.create: false", serviceAccount={"name": "ci"}),
    refused(
        "serviceAccount.annotations",
        "needs serviceAccount.create: true",
        serviceAccount={"create": False, "annotations": {"a": "b"}},
    ),
    refused("serviceAccount.name", "should match", serviceAccount={"create": False, "name": "A"}),
    refused("priorityClassName", "should match", priorityClassName="High"),
]

ROLLOUT = [
    refused("rollout.strategy", 'supported values: "RollingUpdate", "Recreate"', rollout={"strategy": "BlueGreen"}),
    refused(
        "rollout.maxSurge",
        "needs rollout.strategy: RollingUpdate",
        rollout={"strategy": "Recreate", "maxSurge": 1},
    ),
    refused(
        "rollout.maxUnavailable",
        "needs rollout.strategy: RollingUpdate",
        rollout={"strategy": "Recreate", "maxUnavailable": 1},
    ),
    *(
        refused("rollout.maxSurge", "0 needs rollout.maxUnavailable above 0", rollout=rollout)
        for rollout in ({"maxSurge": 0}, {"maxSurge": "0%"}, {"maxSurge": 0, "maxUnavailable": "0%"})
    ),
    refused("rollout.maxSurge", "should match", rollout={"maxSurge": "10"}),
    refused("rollout.maxSurge", "greater than or equal to 0", rollout={"maxSurge": -1}),
    refused("rollout.maxUnavailable", "should match", rollout={"maxUnavailable": "101%"}),
    refused("rollout.progressDeadlineSeconds", "greater than or equal to 1", rollout={"progressDeadlineSeconds": 0}),
    refused("rollout.revisionHistoryLimit", "less than or equal to 100", rollout={"revisionHistoryLimit": 101}),
]


def keyed(field: str, key: str) -> Json:
    """A spec with one entry of that key in the map."""
    spec: Json = {"ports": PORTS}
    inner = spec
    *parents, last = field.split(".")
    for parent in parents:
        inner = inner.setdefault(parent, {})
    inner[last] = {"good": "a", key: "b"}
    return spec


ANNOTATIONS = ("annotations", "service.annotations", "serviceAccount.annotations")
METADATA = [
    *(
        refused(field, f"{key}: keys must be qualified names", **keyed(field, key))
        for field in ("labels", "nodeSelector", *ANNOTATIONS)
        for key in ("-a", "a/b/c", "a" * 64)
    ),
    *(
        refused(field, "are reserved; Coxswain sets them", **keyed(field, key))
        for field in ("labels", *ANNOTATIONS)
        for key in ("coxswain.dev/webapp", "app.kubernetes.io/name")
    ),
    *(
        refused(field, "are reserved; Kubernetes and kubectl write them", **keyed(field, key))
        for field in ANNOTATIONS
        for key in (
            "deployment.kubernetes.io/revision",
            "kubectl.kubernetes.io/restartedAt",
            "kubectl.kubernetes.io/last-applied-configuration",
        )
    ),
    refused("labels", "app.kubernetes.io/instance", labels={"app.kubernetes.io/instance": "a"}),
    refused("labels", "app.kubernetes.io/managed-by", labels={"app.kubernetes.io/managed-by": "a"}),
    refused("labels", "pod-template-hash is reserved", labels={"pod-template-hash": "a"}),
    refused("labels.a", "should match", labels={"a": "b c"}),
    refused("labels.a", "Too long", labels={"a": "b" * 64}),
    refused("labels", "must have at most 64", labels={f"a{n}": "" for n in range(65)}),
    refused("nodeSelector.a", "should match", nodeSelector={"a": "b/c"}),
    refused(
        "annotations",
        "can't be set by annotation",
        annotations={"container.apparmor.security.beta.kubernetes.io/app": "unconfined"},
    ),
    refused(
        "annotations",
        "must be a whole number",
        annotations={"controller.kubernetes.io/pod-deletion-cost": "cheap"},
    ),
]
TOO_LARGE = {f"a{n}": "ä" * 15000 for n in range(4)}
METADATA += [
    refused("annotations", "at most 120000 bytes together", annotations=TOO_LARGE),
    refused("service.annotations", "at most 120000 bytes", service={"annotations": TOO_LARGE}, ports=PORTS),
    refused("serviceAccount.annotations", "at most 120000 bytes", serviceAccount={"annotations": TOO_LARGE}),
]

SCHEDULING = [
    refused(
        "tolerations[0].value",
        "must be empty where operator is Exists",
        tolerations=[{"key": "a", "operator": "Exists", "value": "b"}],
    ),
    refused("tolerations[0].operator", "must be Exists where key is empty", tolerations=[{"value": "b"}]),
    refused(
        "tolerations[0].tolerationSeconds",
        "needs effect: NoExecute",
        tolerations=[{"key": "a", "tolerationSeconds": 1, "effect": "NoSchedule"}],
    ),
    refused("tolerations[0].operator", "supported values", tolerations=[{"key": "a", "operator": "Gt"}]),
    refused("tolerations[0].key", "should match", tolerations=[{"key": "a b"}]),
    refused("tolerations[0].value", "should match", tolerations=[{"key": "a", "value": "b c"}]),
    refused("tolerations[0].effect", "supported values", tolerations=[{"key": "a", "effect": "Never"}]),
    refused("topologySpreadConstraints", "duplicate entries", topologySpreadConstraints=[SPREAD, {**SPREAD}]),
    refused(
        "topologySpreadConstraints[0].minDomains",
        "needs whenUnsatisfiable: DoNotSchedule",
        topologySpreadConstraints=spread(minDomains=2),
    ),
    refused(
        "topologySpreadConstraints[0].maxSkew",
        "greater than or equal to 1",
        topologySpreadConstraints=spread(maxSkew=0),
    ),
    refused(
        "topologySpreadConstraints[0].topologyKey", "should match", topologySpreadConstraints=spread(topologyKey="a b")
    ),
    refused(
        "topologySpreadConstraints[0].whenUnsatisfiable",
        "supported values",
        topologySpreadConstraints=spread(whenUnsatisfiable="Perhaps"),
    ),
    refused(
        "topologySpreadConstraints[0].nodeAffinityPolicy",
        "supported values",
        topologySpreadConstraints=spread(nodeAffinityPolicy="No"),
    ),
    refused(
        "topologySpreadConstraints[0].nodeTaintsPolicy",
        "supported values",
        topologySpreadConstraints=spread(nodeTaintsPolicy="No"),
    ),
    refused(
        "topologySpreadConstraints[0].matchLabelKeys",
        "leave coxswain.dev/webapp out",
        topologySpreadConstraints=spread(matchLabelKeys=["coxswain.dev/webapp"]),
    ),
    refused(
        "topologySpreadConstraints[0].matchLabelKeys[0]",
        "should match",
        topologySpreadConstraints=spread(matchLabelKeys=["a b"]),
    ),
    refused(
        'topologySpreadConstraints[topologyKey="kubernetes.io/hostname",whenUnsatisfiable="ScheduleAnyway"].labelSelector',
        "field not declared",
        topologySpreadConstraints=spread(labelSelector={}),
    ),
    refused("hostNetwork", "field not declared", hostNetwork=True),
]

BAD = [
    *NAMES,
    *CONTAINER,
    *RESOURCES,
    *PORT,
    *ENVIRONMENT,
    *CONTENT,
    *PROBES,
    *SERVICE,
    *IDENTITY,
    *ROLLOUT,
    *METADATA,
    *SCHEDULING,
]


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_refused_and_the_field_is_named(cluster: ControlPlane, case: Refused) -> None:
    with pytest.raises(KubectlError) as refusal:
        dry_run(cluster, case.manifest)
    message = str(refusal.value)
    assert f"{case.field}: " in message
    assert case.says in message.split(f"{case.field}: ", 1)[1]


GOOD: dict[str, Json] = {
    "only an image": webapp(),
    "longest name": webapp("a" + "-0" * 31),
    "shortest name": webapp("a"),
    "numbers at their least": webapp(
        runAsUser=1,
        replicas=0,
        terminationGracePeriodSeconds=0,
        ports=[{"name": "a", "containerPort": 1}],
        readinessProbe={
            "tcpSocket": {"port": 1},
            "initialDelaySeconds": 0,
            "periodSeconds": 1,
            "timeoutSeconds": 1,
            "successThreshold": 1,
            "failureThreshold": 1,
        },
        rollout={"maxSurge": 1, "maxUnavailable": 0, "progressDeadlineSeconds": 1, "revisionHistoryLimit": 0},
    ),
    "numbers at their most": webapp(
        runAsUser=2**31 - 1,
        replicas=10000,
        terminationGracePeriodSeconds=86400,
        ports=[{"name": "a", "containerPort": 65535, "protocol": "SCTP"}],
        livenessProbe={
            "grpc": {"port": 65535, "service": "s" * 1024},
            "initialDelaySeconds": 86400,
            "periodSeconds": 86400,
            "timeoutSeconds": 86400,
            "successThreshold": 1,
            "failureThreshold": 86400,
            "terminationGracePeriodSeconds": 86400,
        },
        rollout={
            "maxSurge": "9999%",
            "maxUnavailable": "100%",
            "progressDeadlineSeconds": 86400,
            "revisionHistoryLimit": 100,
        },
    ),
    "longest strings": webapp(
        image="a" * 1024,
        workingDir="/" + "a" * 1023,
        imagePullSecrets=[{"name": "a" * 253}],
        command=["a" * 32768],
        priorityClassName="a" * 253,
        labels={f"{'a' * 253}/{'b' * 63}": "c" * 63},
        nodeSelector={f"{'a' * 253}/{'b' * 63}": "c" * 63},
    ),
    "most ports": webapp(ports=[{"name": f"p{n}", "containerPort": n} for n in range(1, 33)]),
    "one number, three protocols": webapp(
        ports=[
            {"name": f"dns-{protocol.lower()}", "containerPort": 53, "protocol": protocol}
            for protocol in ("TCP", "UDP", "SCTP")
        ]
    ),
    "names of ports": webapp(
        ports=[{"name": name, "containerPort": n} for n, name in enumerate(("a", "8a", "1-2-b-3", "a" * 15), 1)]
    ),
    "most variables": webapp(
        env=[{"name": f"A{n}", "value": "x" * 1000} for n in range(255)] + [{"name": "B", "value": "x" * 32768}]
    ),
    "names of variables": webapp(env=[{"name": name} for name in ("a.b-c", ".a", "-", "_", "a" * 253)]),
    "every source of variables": webapp(
        env=[
            *from_field("metadata.uid"),
            {"name": "L", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['example.com/team']"}}},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
            {"name": "M", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": 1}}},
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "a", "key": "tls.crt", "optional": True}}},
            {"name": "K", "valueFrom": {"configMapKeyRef": {"name": "a", "key": ".a"}}},
        ],
        envFrom=[{"prefix": "", "configMapRef": {"name": "a"}}, {"secretRef": {"name": "a", "optional": True}}],
    ),
    "most content in one file": webapp(files=[{"path": "/a", "content": "x" * LARGEST_CONTENT}]),
    "most content in config and files": webapp(
        config={f"A{n}": "x" * 1000 for n in range(255)} | {"B": "x" * 130000},
        files=[
            {"path": f"/{n}", "content": "x" * size}
            for n, size in enumerate([8000] * 63 + [LARGEST_CONTENT - 385000 - 63 * 8000])
        ],
    ),
    "longest paths": webapp(files=files(*(f"/{n:02}{'a' * 509}" for n in range(64)))),
    "odd paths": webapp(files=files("/...", "/.a", "/..a/b", "/a b/ä", "/a-b", "/a")),
    "quantities": webapp(
        resources={
            "requests": {"cpu": 1, "memory": "1e9", "ephemeral-storage": "0.5Gi", "nvidia.com/gpu": 1},
            "limits": {"cpu": "1000m", "memory": "1G", "ephemeral-storage": ".5Gi", "nvidia.com/gpu": "1"},
        }
    ),
    "a limit without request": webapp(resources={"limits": {"nvidia.com/gpu": 2, "cpu": "0"}}),
    "ports by name": webapp(
        ports=PORTS,
        startupProbe={"httpGet": {"port": "http", "httpHeaders": [{"name": "Host", "value": "a"}]}},
        readinessProbe={"tcpSocket": {"port": "http"}, "successThreshold": 2},
        livenessProbe={"exec": {"command": ["true"]}},
        service={"ports": [{"name": "web", "port": 80, "targetPort": "http"}]},
    ),
    "surge of 0": webapp(rollout={"maxSurge": "0%", "maxUnavailable": "1%"}),
    "an existing account": webapp(serviceAccount={"create": False, "name": "ci"}),
    "most metadata": webapp(
        labels={f"a{n}": "" for n in range(64)},
        annotations={f"a{n}": "x" * 1800 for n in range(64)},
        ports=PORTS,
        service={"annotations": {"a": "x" * 16384}},
    ),
    "no spread": webapp(topologySpreadConstraints=[]),
    "every taint": webapp(tolerations=[{"operator": "Exists"}, {"key": "a", "effect": "NoExecute", "value": "b"}]),
    "minDomains": webapp(
        topologySpreadConstraints=spread(
            whenUnsatisfiable="DoNotSchedule", minDomains=2, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"
        )
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_input_at_the_limits_is_accepted(cluster: ControlPlane, name: str) -> None:
    assert dry_run(cluster, GOOD[name])["metadata"]["name"] == GOOD[name]["metadata"]["name"]


def test_server_fills_in_the_defaults(cluster: ControlPlane) -> None:
    assert dry_run(cluster, webapp())["spec"] == {**webapp()["spec"], "replicas": 1, "paused": False}
    groups = dry_run(
        cluster,
        webapp(
            ports=PORTS, service={"ports": [{"name": "web", "port": 80}]}, serviceAccount={}, rollout={}, resources={}
        ),
    )["spec"]
    assert groups["ports"] == [{**PORTS[0], "protocol": "TCP"}]
    assert groups["service"] == {"ports": [{"name": "web", "port": 80, "protocol": "TCP"}]}
    assert groups["serviceAccount"] == {"create": True, "automountServiceAccountToken": False}
    assert groups["rollout"] == {"strategy": "RollingUpdate"}
    assert groups["resources"] == {}


def test_unknown_field_is_refused_by_client_side_apply_too(cluster: ControlPlane) -> None:
    arguments = ("apply", "--validate=strict", "--dry-run=server", "--namespace=default", "--filename=-")
    with pytest.raises(KubectlError, match=r'unknown field "spec\.imagee"'):
        cluster.kubectl(*arguments, input=json.dumps(webapp(imagee="a")))


def test_duplicate_is_refused_without_server_side_apply_too(cluster: ControlPlane) -> None:
    arguments = ("create", "--dry-run=server", "--namespace=default", "--filename=-")
    with pytest.raises(KubectlError, match=r"spec\.env\[1\]: Duplicate value"):
        cluster.kubectl(*arguments, input=json.dumps(webapp(env=[{"name": "A"}, {"name": "A"}])))


def test_scale_subresource_and_columns(cluster: ControlPlane, namespace: str) -> None:
    """The one object that is stored; paused, so that an operator would leave it alone."""
    cluster.kubectl("create", f"--namespace={namespace}", "--filename=-", input=json.dumps(webapp(paused=True)))
    cluster.kubectl("scale", "webapp/shop", "--replicas=5", f"--namespace={namespace}")
    replicas = cluster.kubectl("get", "webapp/shop", f"--namespace={namespace}", "--output=jsonpath={.spec.replicas}")
    assert replicas == "5"
    columns = cluster.kubectl("get", "wa", f"--namespace={namespace}").splitlines()[0].split()
    assert columns == ["NAME", "READY", "REASON", "REPLICAS", "IMAGE", "URL", "AGE"]
    wide = cluster.kubectl("get", "all", "--output=wide", f"--namespace={namespace}").splitlines()[0].split()
    assert wide == [*columns, "AVAILABLE", "PROGRESSING", "STALLED", "DESIRED", "UPDATED", "MESSAGE"]


def documents(path: Path) -> Iterator[Json]:
    """The YAML documents of a file, or of a Markdown file's fenced blocks. A fragment of a spec becomes a WebApp."""
    text = path.read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if path.suffix == ".md" else [text]
    for block in blocks:
        for document in yaml.safe_load_all(block):
            yield document if "kind" in document else webapp(**document)


EXAMPLES = [
    pytest.param(document, id=f"{path.name}-{number}")
    for path in (*SAMPLES, DOCUMENT)
    for number, document in enumerate(documents(path), 1)
]


@pytest.mark.parametrize("manifest", EXAMPLES)
def test_samples_and_documented_examples_are_accepted(cluster: ControlPlane, manifest: Json) -> None:
    assert dry_run(cluster, manifest)["kind"] == "WebApp"


@pytest.mark.parametrize("arguments", ["--filename=crds", "--kustomize=crds", "--kustomize=manifests/samples"])
def test_folders_are_accepted(cluster: ControlPlane, arguments: str) -> None:
    """`crds/Kustomization` has no ending, so that kubectl does not take it for a manifest."""
    option, folder = arguments.split("=")
    cluster.kubectl("apply", "--dry-run=server", f"{option}={ROOT / folder}")


# What follows needs no cluster: it looks at the CRD itself.


def fields(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Each schema below this one, with its path: `ports[].name`, `config{}`."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from fields(child, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from fields(schema["additionalProperties"], f"{path}{{}}")


SPEC = list(fields(SCHEMA["properties"]["spec"], "spec"))
NAMED = [(path, schema) for path, schema in fields(SCHEMA) if re.search(r"\w$", path) and path != "metadata.name"]


def used(value: Any, schema: Json, path: str) -> Iterator[str]:
    """The paths of the schema that a value has something at."""
    yield path
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            yield from used(inner, schema["properties"][name], f"{path}.{name}")
    elif isinstance(value, dict):
        for inner in value.values():
            yield from used(inner, schema["additionalProperties"], f"{path}{{}}")
    elif isinstance(value, list):
        for inner in value:
            yield from used(inner, schema["items"], f"{path}[]")


def test_every_field_is_shown_in_a_sample_or_in_the_documentation() -> None:
    shown = {
        path
        for file in (*SAMPLES, DOCUMENT)
        for document in documents(file)
        for path in used(document["spec"], SCHEMA["properties"]["spec"], "spec")
    }
    assert [path for path, _ in SPEC if path not in shown] == []


def test_every_field_of_the_spec_stands_in_the_tables_of_the_documentation() -> None:
    rows = "\n".join(re.findall(r"^\|.*\|$", DOCUMENT.read_text(), re.MULTILINE))
    names = {"spec", *re.findall(r"\w+", rows)}
    assert [path for path, _ in SPEC if re.findall(r"\w+", path)[-1] not in names] == []


def test_every_field_is_described() -> None:
    assert [path for path, schema in NAMED if path != "metadata" and len(schema.get("description", "")) < 5] == []


def test_every_string_list_and_map_has_a_maximum() -> None:
    def unlimited(schema: Json) -> bool:
        return (
            (schema.get("type") == "string" and not {"maxLength", "enum", "format"} & schema.keys())
            or (schema.get("type") == "array" and "maxItems" not in schema)
            or ("additionalProperties" in schema and "maxProperties" not in schema)
            or ("x-kubernetes-int-or-string" in schema and "maxLength" not in schema)
            or (schema.get("type") == "integer" and "maximum" not in schema)
        )

    assert [path for path, schema in SPEC if unlimited(schema)] == []


def rules() -> Iterator[tuple[str, str]]:
    """Each CEL rule as the field that it speaks of, and the fixed part of its message."""
    for path, schema in fields(SCHEMA):
        for rule in schema.get("x-kubernetes-validations", []):
            message = rule.get("message") or rule["messageExpression"].split("[0] + ")[1].strip("' ")
            yield f"{path}{rule.get('fieldPath', '')}".lstrip("."), message


def without_indices(field: str) -> str:
    return re.sub(r"\[\d+\]", "[]", field)


def test_every_rule_has_a_case_above() -> None:
    def covered(field: str, message: str) -> bool:
        return any(without_indices(case.field) == field and case.says.split(": ")[-1] in message for case in BAD)

    assert len(list(rules())) > 40
    assert [rule for rule in rules() if not covered(*rule)] == []


def test_every_message_stands_in_the_documentation() -> None:
    text = DOCUMENT.read_text()
    assert [message for _, message in rules() if message not in text] == []


def test_every_keyed_list_has_a_case_with_a_duplicate() -> None:
    keyed_lists = {path for path, schema in SPEC if schema.get("x-kubernetes-list-type") == "map"}
    assert keyed_lists == {case.field for case in BAD if case.says == "duplicate entries"}


def test_every_enumeration_has_a_case_above() -> None:
    enumerated = {path for path, schema in SPEC if "enum" in schema}
    assert enumerated == {without_indices(case.field) for case in BAD if "supported values" in case.says}


def test_client_side_apply_can_store_the_crd() -> None:
    """`kubectl apply` keeps the whole object in an annotation, which may have 262144 bytes."""
    assert len(json.dumps(CRD, separators=(",", ":"))) < 60_000


def test_defaults_in_the_schema_are_these() -> None:
    """A default in the schema is filled into stored objects: adding one changes what every WebApp says."""
    defaults = {path: schema["default"] for path, schema in SPEC if "default" in schema}
    assert defaults == {
        "spec.replicas": 1,
        "spec.ports[].protocol": "TCP",
        "spec.service.ports[].protocol": "TCP",
        "spec.serviceAccount.create": True,
        "spec.serviceAccount.automountServiceAccountToken": False,
        "spec.rollout.strategy": "RollingUpdate",
        "spec.paused": False,
    }
