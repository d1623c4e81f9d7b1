"""Invalid initContainers and sidecars, and the expected messages."""

from typing import Any

from integration.schema.case import PORTS, Json, Refused, refused
from integration.schema.pods import OF_THE_KUBELET

KINDS = ("initContainers", "sidecars")
MOUNT = {"name": "run", "mountPath": "/run"}
RUN = [{"name": "run", "emptyDir": {}}]
FILES = [{"path": "/etc/a", "content": ""}]


def container(**fields: Any) -> Json:
    return {"name": "c", "image": "registry.example.com/c:1", **fields}


def wrong(kind: str, at: str, says: str, fields: Json, **spec: Any) -> Refused:
    return refused(f"{kind}[0]{at}", says, **{kind: [container(**fields)]}, **spec)


def _names(kind: str) -> list[Refused]:
    return [
        refused(kind, "duplicate entries", **{kind: [container(), container()]}),
        wrong(kind, ".name", "app is reserved", {"name": "app"}),
        wrong(kind, ".name", "should match", {"name": "A"}),
        wrong(kind, ".image", "should match", {"image": "a b"}),
        wrong(kind, ".imagePullPolicy", "supported values", {"imagePullPolicy": "Sometimes"}),
        wrong(kind, ".runAsUser", "greater than or equal to 1", {"runAsUser": 0}),
        refused(f'{kind}[name="c"].securityContext', "not declared", **{kind: [container(securityContext={})]}),
        refused(kind, "Too many", **{kind: [container(name=f"c{number}") for number in range(9)]}),
    ]


def _mounts(kind: str) -> list[Refused]:
    mounted = container(volumeMounts=[MOUNT])
    below = {**MOUNT, "mountPath": "/etc/a/b"}
    return [
        *(
            refused(
                kind, "each name in volumeMounts must be the name of one of spec.volumes", **{kind: [mounted]}, **spec
            )
            for spec in ({}, {"volumes": [{"name": "other", "emptyDir": {}}]})
        ),
        *(
            refused(
                kind,
                "with useConfig, no mountPath may be the path of one of spec.files",
                **{kind: [container(useConfig=True, volumeMounts=[mount])]},
                files=FILES,
                volumes=RUN,
            )
            for mount in (below, {**MOUNT, "mountPath": "/etc/a"})
        ),
        *(
            refused(
                kind,
                "with useConfig, no path of spec.files may lie below the mountPath of a configMap, secret or projected",
                **{kind: [container(useConfig=True, volumeMounts=[{**MOUNT, "mountPath": "/etc"}])]},
                files=FILES,
                volumes=[{"name": "other", "emptyDir": {}}, {"name": "run", **source}],
            )
            for source in OF_THE_KUBELET
        ),
        refused(
            f'{kind}[name="c"].volumeMounts',
            "duplicate entries",
            **{kind: [container(volumeMounts=[MOUNT, MOUNT])]},
            volumes=RUN,
        ),
        wrong(kind, ".volumeMounts[0].mountPath", "should match", {"volumeMounts": [{**MOUNT, "mountPath": "run"}]}),
        wrong(kind, ".volumeMounts[0].subPath", "should match", {"volumeMounts": [{**MOUNT, "subPath": ".."}]}),
    ]


def _environment(kind: str) -> list[Refused]:
    from_resource = {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1Mi"}}
    from_gpu = {"resourceFieldRef": {"resource": "limits.gpu"}}
    from_field = {"fieldRef": {"fieldPath": "metadata.name"}}
    return [
        refused(f'{kind}[name="c"].env', "duplicate entries", **{kind: [container(env=[{"name": "A"}] * 2)]}),
        wrong(kind, ".env[0].name", "should match", {"env": [{"name": "A B"}]}),
        wrong(
            kind,
            ".env[0]",
            "give value or valueFrom, not both",
            {"env": [{"name": "A", "value": "", "valueFrom": from_field}]},
        ),
        wrong(
            kind,
            ".env[0].valueFrom",
            "give exactly one of configMapKeyRef, secretKeyRef",
            {"env": [{"name": "A", "valueFrom": {}}]},
        ),
        wrong(
            kind,
            ".env[0].valueFrom.resourceFieldRef.divisor",
            "must be 1 or 1m for cpu",
            {"env": [{"name": "A", "valueFrom": from_resource}]},
        ),
        wrong(
            kind,
            ".env[0].valueFrom.resourceFieldRef.resource",
            "supported values",
            {"env": [{"name": "A", "valueFrom": from_gpu}]},
        ),
        wrong(kind, ".envFrom[0]", "give exactly one of configMapRef and secretRef", {"envFrom": [{}]}),
    ]


def _resources(kind: str) -> list[Refused]:
    more = {"requests": {"cpu": 2}, "limits": {"cpu": 1}}
    found = [
        wrong(kind, ".resources", "cpu: requests must not be greater than limits", {"resources": more}),
        wrong(kind, ".resources", "can't be overcommitted", {"resources": {"requests": {"nvidia.com/gpu": 1}}}),
    ]
    for part in ("requests", "limits"):
        unknown, half = {part: {"disk": 1}}, {part: {"nvidia.com/gpu": "1500m"}}
        found += [
            wrong(kind, f".resources.{part}", "disk: use cpu, memory, ephemeral-storage", {"resources": unknown}),
            wrong(kind, f".resources.{part}", "must be a whole number", {"resources": half}),
        ]
    return found


def _probe(name: str) -> list[Refused]:
    named = {name: {"tcpSocket": {"port": "http"}}}
    found = [
        wrong("sidecars", f".{name}", "give exactly one of httpGet, tcpSocket, exec and grpc", {name: {}}),
        wrong("sidecars", f".{name}", "must be the name of one of the sidecar's ports", named),
        wrong("sidecars", f".{name}", "must be the name of one of the sidecar's ports", named, ports=PORTS),
        wrong(
            "sidecars",
            f".{name}.httpGet.scheme",
            "supported values",
            {name: {"httpGet": {"port": 1, "scheme": "FTP"}}},
        ),
    ]
    if name != "readinessProbe":
        twice = {name: {"tcpSocket": {"port": 1}, "successThreshold": 2}}
        found.append(wrong("sidecars", f".{name}.successThreshold", "must be 1; only a readinessProbe may", twice))
    return found


DIFFER = "each port must differ from those of the other containers"
ONE = {"name": "one", "containerPort": 1}

SIDECARS = [
    refused("sidecars", "no name may also be in initContainers", initContainers=[container()], sidecars=[container()]),
    *(
        refused("sidecars", DIFFER, ports=PORTS, sidecars=[container(ports=[port])])
        for port in ({"name": "http", "containerPort": 1}, {"name": "other", "containerPort": 8080})
    ),
    refused("sidecars", DIFFER, sidecars=[container(ports=[ONE]), container(name="d", ports=[ONE])]),
    refused('sidecars[name="c"].ports', "duplicate entries", sidecars=[container(ports=[ONE, {**ONE, "name": "b"}])]),
    wrong("sidecars", ".ports", "each name may stand only once", {"ports": [ONE, {**ONE, "containerPort": 2}]}),
    wrong("sidecars", ".ports[0].protocol", "supported values", {"ports": [{**ONE, "protocol": "HTTP"}]}),
    *(case for name in ("startupProbe", "readinessProbe", "livenessProbe") for case in _probe(name)),
]

BESIDE = [case for kind in KINDS for part in (_names, _mounts, _environment, _resources) for case in part(kind)]
BESIDE += SIDECARS
