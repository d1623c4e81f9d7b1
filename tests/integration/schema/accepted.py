"""Valid input, at its limits."""

from integration.schema.case import LARGEST_CONTENT, PORTS, Json, files, from_field, spread, webapp
from integration.schema.pods import ALONE, CLAIM

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
    "most routes": webapp(
        ports=PORTS,
        routes=[
            {
                "name": f"{number}-{'a' * 60}"[:63],
                "hostnames": [f"{host}.{'.'.join(['b' * 60] * 4)}"[:253] for host in range(16)],
                "parentRefs": [
                    {"name": "a" * 253, "namespace": "b" * 63, "sectionName": f"{number}{'c' * 250}", "port": 65535}
                    for number in range(8)
                ],
                "rules": [
                    {
                        "path": {"type": "Exact", "value": "/" + "a" * 1023},
                        "method": "OPTIONS",
                        "headers": [{"name": f"H{n}", "value": "v"} for n in range(16)],
                        "timeouts": {"request": "0s", "backendRequest": "99999h"},
                        "port": "http",
                    }
                ]
                * 16,
            }
            for number in range(16)
        ],
    ),
    "largest ingress": webapp(
        ports=PORTS,
        ingress={
            "className": "a" * 253,
            "annotations": {f"{'a' * 253}/{'b' * 63}": "c" * 16384},
            "hosts": [
                {
                    "host": f"*.{number}.example.com",
                    "paths": [{"path": "/" + "a" * 1023, "pathType": "Exact", "port": "http"}] * 32,
                }
                for number in range(32)
            ],
            "tls": [{"hosts": [f"{number}.example.com" for number in range(32)], "secretName": "a" * 253}] * 16,
        },
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
    "most names for restarts": webapp(
        restartOn={kind: [f"{n:02}.{'a' * 250}" for n in range(16)] for kind in ("secrets", "configMaps")}
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
    "the former annotation beside its equal": webapp(
        ports=PORTS,
        ingress={"className": "nginx", "hosts": [{"host": "a.b"}]},
        annotations={"kubernetes.io/ingress.class": "nginx"},
    ),
    "the former annotation, overridden for the Ingress": webapp(
        ports=PORTS,
        ingress={
            "className": "nginx",
            "hosts": [{"host": "a.b"}],
            "annotations": {"kubernetes.io/ingress.class": "nginx"},
        },
        annotations={"kubernetes.io/ingress.class": "other"},
    ),
    "the former annotation alone": webapp(
        ports=PORTS,
        ingress={"hosts": [{"host": "a.b"}]},
        annotations={"kubernetes.io/ingress.class": "nginx"},
    ),
    "an alias": webapp(service={"type": "ExternalName", "externalName": "a" * 253}),
    "most of a Service": webapp(
        ports=PORTS,
        service={
            "type": "LoadBalancer",
            "ports": [{"name": f"p{n}", "port": n, "nodePort": 65536 - n} for n in range(1, 33)],
            "loadBalancerClass": f"{'a' * 253}/{'b' * 63}",
            "loadBalancerSourceRanges": [f"2001:0db8:0000:0000:0000:0000:{n:04x}:0000/112" for n in range(64)],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86400}},
        },
    ),
    "surge of 0": webapp(rollout={"maxSurge": "0%", "maxUnavailable": "1%"}),
    "an existing account": webapp(serviceAccount={"create": False, "name": "ci"}),
    "most metadata": webapp(
        labels={f"a{n}": "" for n in range(64)},
        annotations={f"a{n}": "x" * 1800 for n in range(64)},
        ports=PORTS,
        service={"annotations": {"a": "x" * 16384}},
    ),
    "a claim of one pod": webapp(volumes=[CLAIM], **ALONE),
    "a claim of no pod": webapp(volumes=[CLAIM], replicas=0, **ALONE),
    "a claim without a surge": webapp(volumes=[CLAIM], rollout={"maxSurge": "0%", "maxUnavailable": 1}),
    "a shared claim": webapp(
        volumes=[{**CLAIM, "persistentVolumeClaim": {"claimName": "a", "shared": True}}], replicas=9
    ),
    "a claim for each pod": webapp(volumes=[{"name": "a", "ephemeral": {"storage": ".1Gi"}}], replicas=9),
    "most volumes": webapp(
        volumes=[{"name": f"{number}{'v' * 61}", "mountPath": f"/{number}", "emptyDir": {}} for number in range(9)],
        writablePaths=[f"/{number}{'w' * 500}" for number in range(16)],
        initContainers=[{"name": f"i{number}", "image": "a", "useConfig": True} for number in range(8)],
        sidecars=[{"name": f"s{number}", "image": "a"} for number in range(8)],
        files=[{"path": "/0/a", "content": ""}],
    ),
    "files beside a ConfigMap and below a directory": webapp(
        volumes=[
            {"name": "a", "mountPath": "/etc/a", "configMap": {"name": "a"}},
            {"name": "b", "configMap": {"name": "b"}},
            {"name": "c", "mountPath": "/etc/c", "emptyDir": {}},
        ],
        initContainers=[
            {"name": "d", "image": "d", "useConfig": False, "volumeMounts": [{"name": "a", "mountPath": "/etc"}]},
            {"name": "e", "image": "e", "useConfig": True, "volumeMounts": [{"name": "c", "mountPath": "/etc"}]},
            {"name": "f", "image": "f", "useConfig": True, "volumeMounts": [{"name": "a", "mountPath": "/etc/a"}]},
        ],
        files=files("/etc/ab", "/etc/c/d"),
    ),
    "one port number, two protocols, two containers": webapp(
        ports=PORTS,
        sidecars=[{"name": "a", "image": "a", "ports": [{"name": "b", "containerPort": 8080, "protocol": "UDP"}]}],
    ),
    "names for addresses": webapp(
        hostAliases=[{"ip": address, "hostnames": ["a" * 63]} for address in ("192.0.2.1", "2001:db8::1", "::")],
        dnsPolicy="None",
        dnsConfig={"nameservers": ["192.0.2.1"], "searches": ["a.", "b" * 127]},
    ),
    "ready just in time": webapp(rollout={"minReadySeconds": 599}),
    "no spread": webapp(topologySpreadConstraints=[]),
    "every taint": webapp(tolerations=[{"operator": "Exists"}, {"key": "a", "effect": "NoExecute", "value": "b"}]),
    "minDomains": webapp(
        topologySpreadConstraints=spread(
            whenUnsatisfiable="DoNotSchedule", minDomains=2, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"
        )
    ),
}
