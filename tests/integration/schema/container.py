"""Invalid fields of the container, and the expected messages."""

from integration.schema.case import (
    LARGEST_CONTENT,
    PORTS,
    Refused,
    files,
    from_field,
    from_resource,
    probed,
    refused,
    webapp,
)

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
    refused("image", "should match", image="shop\x1b[31m:1"),
    refused("image", "should match", image="shop\u202e:1"),
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
