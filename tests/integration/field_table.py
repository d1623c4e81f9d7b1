"""Every field of a WebApp's spec, with two values and their places in the children."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

BASE: dict[str, Any] = {
    "image": "registry.example/web:1",
    "ports": [{"name": "http", "containerPort": 8080}],
    "config": {"GREETING": "hello"},
}
POD = "deployment/spec/template/spec"
CONTAINER = f"{POD}/containers/0"
SERVICE = "service/spec"
LABELLED = ("serviceaccount", "configmap", "service", "deployment", "deployment/spec/template")
PROBE = {"periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3}


@dataclass(frozen=True)
class Field:
    """One field with two values, set one after the other.

    `places` has the expected content of the children: for each place, such as 'deployment/spec/replicas', the values
    after the first and after the second step. `extra` has further fields of the WebApp for both steps.
    """

    name: str
    first: Any
    second: Any
    places: Mapping[str, tuple[Any, Any]]
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def webapp(self) -> str:
        """The name of the WebApp that tests the field."""
        return "field-" + self.name.lower().replace(".", "-")

    @property
    def base(self) -> dict[str, Any]:
        """The spec without the field; for the required image, with its usual value."""
        return {**{name: value for name, value in BASE.items() if name == "image" or name != self.name}, **self.extra}

    def spec(self, step: int) -> dict[str, Any]:
        """Return the spec with the first (0) or second (1) value."""
        value = (self.first, self.second)[step]
        outer, _, inner = self.name.partition(".")
        return {**self.base, outer: {**self.base.get(outer, {}), inner: value} if inner else value}

    def expected(self, step: int) -> dict[str, Any]:
        """Return the expected content of the children, by place."""
        return {place: values[step] for place, values in self.places.items()}


def same(name: str, first: Any, second: Any, place: str, **extra: Any) -> Field:
    """Return a field that is copied to one place unchanged."""
    return Field(name, first, second, {place: (first, second)}, extra)


def probe(name: str) -> Field:
    """Return a probe with two different handlers."""
    http = {"path": "/healthz", "port": "http"}
    first = {"httpGet": http, "periodSeconds": 5, "initialDelaySeconds": 3}
    second = {"tcpSocket": {"port": 8080}, "failureThreshold": 7}
    found = ({**PROBE, **first, "httpGet": {**http, "scheme": "HTTP"}}, {**PROBE, **second})
    return Field(name, first, second, {f"{CONTAINER}/{name}": found})


def everywhere(name: str) -> Field:
    """Return labels or annotations that are copied to all children and the pods."""
    places: dict[str, tuple[Any, Any]] = {}
    places |= {f"{thing}/metadata/{name}/example.com~one": ("1", None) for thing in LABELLED}
    places |= {f"{thing}/metadata/{name}/example.com~two": ("2", "3") for thing in LABELLED}
    return Field(name, {"example.com/one": "1", "example.com/two": "2"}, {"example.com/two": "3"}, places)


def annotations_of(name: str, child: str) -> Field:
    """Return annotations of one kind of child only."""
    places = {
        f"{thing}/metadata/annotations/example.com~only": ("1", "2") if thing == child else (None, None)
        for thing in LABELLED
    }
    return Field(name, {"example.com/only": "1"}, {"example.com/only": "2"}, places)


def container_port(number: int) -> dict[str, Any]:
    return {"name": "http", "containerPort": number, "protocol": "TCP"}


def service_port(number: int) -> dict[str, Any]:
    return {"name": "http", "port": number, "targetPort": "http", "protocol": "TCP"}


def service(name: str, first: Any, second: Any, **more: Any) -> Field:
    """Return a field of the Service, which has further fields in both steps."""
    return same(f"service.{name}", first, second, f"{SERVICE}/{name}", **({"service": more} if more else {}))


def seconds(number: int) -> dict[str, Any]:
    return {"clientIP": {"timeoutSeconds": number}}


def resources() -> Field:
    first = {"requests": {"cpu": "1000m", "memory": "1Gi"}, "limits": {"memory": "1024Mi"}}
    found = ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}, {"requests": {"cpu": "500m"}})
    return Field("resources", first, {"requests": {"cpu": "0.5"}}, {f"{CONTAINER}/resources": found})


def environment() -> Field:
    """Return variables that change from a value to a source and back, and change their order."""
    source = {"fieldRef": {"fieldPath": "metadata.name"}}
    found = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    one, other = {"name": "ONE", "value": "1"}, {"name": "OTHER", "valueFrom": source}
    return Field(
        "env",
        [one, other],
        [{"name": "OTHER", "value": "$(GREETING)"}, {"name": "ONE", "valueFrom": source}],
        {
            f"{CONTAINER}/env/0/name": ("GREETING", "GREETING"),
            f"{CONTAINER}/env/1": (one, {"name": "OTHER", "value": "$(GREETING)"}),
            f"{CONTAINER}/env/2": ({"name": "OTHER", "valueFrom": found}, {"name": "ONE", "valueFrom": found}),
            f"{CONTAINER}/env/3": (None, None),
        },
    )


def spread() -> Field:
    counted = {"labelSelector": {"matchLabels": {"coxswain.dev/webapp": "field-topologyspreadconstraints"}}}
    first = {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
    second = {"maxSkew": 5, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    places = {f"{POD}/topologySpreadConstraints": ([{**first, **counted}], [{**second, **counted}])}
    return Field("topologySpreadConstraints", [first], [second], places)


def strategy() -> Field:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
    return Field(
        "rollout.strategy", "Recreate", "RollingUpdate", {"deployment/spec/strategy": ({"type": "Recreate"}, rolling)}
    )


AUTOSCALER = "horizontalpodautoscaler/spec"
BUDGET = "poddisruptionbudget/spec"
POLICY = "networkpolicy/spec"
UNLIMITED = {"autoscaling": {"maxReplicas": 5}}
DNS = {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}
DATABASE = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}


def utilization(name: str, percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def metrics() -> Field:
    """Return a metric with a non-canonical quantity, then none, which restores the default."""
    queue = {"metric": {"name": "queue"}, "target": {"averageValue": "1000m"}}
    stored = {"type": "External", "external": {**queue, "target": {"type": "AverageValue", "averageValue": "1"}}}
    places = {f"{AUTOSCALER}/metrics": ([stored], [utilization("cpu", 80)])}
    return Field("autoscaling.metrics", [{"external": queue}], [], places, UNLIMITED)


def behavior() -> Field:
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    places = {
        f"{AUTOSCALER}/behavior/scaleDown/stabilizationWindowSeconds": (60, None),
        f"{AUTOSCALER}/behavior/scaleDown/policies": (
            [{"type": "Percent", "value": 100, "periodSeconds": 15}],
            policies,
        ),
    }
    first = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    return Field("autoscaling.behavior", first, {"scaleDown": {"policies": policies}}, places, UNLIMITED)


GUARDS = [
    same("autoscaling.maxReplicas", 3, 4, f"{AUTOSCALER}/maxReplicas"),
    *(
        Field(
            f"autoscaling.{name}",
            70,
            60,
            {f"{AUTOSCALER}/metrics": ([utilization(name, 70)], [utilization(name, 60)])},
            UNLIMITED,
        )
        for name in ("cpu", "memory")
    ),
    metrics(),
    behavior(),
    Field("disruption.enabled", True, False, {f"{BUDGET}/maxUnavailable": (1, None)}),
    same("disruption.minAvailable", 1, "50%", f"{BUDGET}/minAvailable", replicas=3),
    same("disruption.maxUnavailable", 2, "50%", f"{BUDGET}/maxUnavailable", replicas=3),
    same(
        "disruption.unhealthyPodEvictionPolicy",
        "IfHealthyBudget",
        "AlwaysAllow",
        f"{BUDGET}/unhealthyPodEvictionPolicy",
        disruption={"enabled": True},
    ),
    Field("network.defaultDeny", True, False, {f"{POLICY}/policyTypes": (["Ingress", "Egress"], None)}),
    Field(
        "network.ingress",
        [{"from": {"sameNamespace": True}, "ports": [{"port": "http"}]}],
        [],
        {
            f"{POLICY}/ingress": (
                [{"from": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": "http"}]}],
                None,
            )
        },
    ),
    Field(
        "network.egress",
        [{"to": {"cidrs": [DATABASE]}}],
        [],
        {f"{POLICY}/egress": ([DNS, {"to": [{"ipBlock": DATABASE}]}], [DNS])},
    ),
]

ROLLING = "deployment/spec/strategy/rollingUpdate"
NOT_CREATED = {"create": False}

FIELDS = [
    same("image", "registry.example/web:2", "registry.example/web:3", f"{CONTAINER}/image"),
    same("imagePullPolicy", "Always", "Never", f"{CONTAINER}/imagePullPolicy"),
    same("imagePullSecrets", [{"name": "one"}, {"name": "two"}], [{"name": "two"}], f"{POD}/imagePullSecrets"),
    same("command", ["/bin/web", "-v"], ["/bin/other"], f"{CONTAINER}/command"),
    same("args", ["--a"], ["--b", "--a"], f"{CONTAINER}/args"),
    same("workingDir", "/srv", "/var", f"{CONTAINER}/workingDir"),
    resources(),
    same("runAsUser", 1000, 2000, f"{POD}/securityContext/runAsUser"),
    same("replicas", 0, 2, "deployment/spec/replicas"),
    Field(
        "ports",
        [{"name": "http", "containerPort": 80}],
        [{"name": "http", "containerPort": 81}],
        {
            f"{CONTAINER}/ports": ([container_port(80)], [container_port(81)]),
            f"{SERVICE}/ports": ([service_port(80)], [service_port(81)]),
        },
    ),
    environment(),
    same(
        "envFrom",
        [{"configMapRef": {"name": "one"}}, {"prefix": "A_", "secretRef": {"name": "two", "optional": True}}],
        [{"secretRef": {"name": "two"}}],
        f"{CONTAINER}/envFrom",
    ),
    Field("config", {"A": "1", "B": ""}, {"A": "2"}, {"configmap/data": ({"A": "1", "B": ""}, {"A": "2"})}),
    Field(
        "files",
        [{"path": "/etc/a", "content": "a"}],
        [{"path": "/etc/b", "content": "b"}],
        {
            f"{CONTAINER}/volumeMounts/0/mountPath": ("/etc/a", "/etc/b"),
            f"{CONTAINER}/volumeMounts/1": (None, None),
            f"{POD}/volumes/0/name": ("files", "files"),
        },
    ),
    probe("startupProbe"),
    probe("readinessProbe"),
    probe("livenessProbe"),
    Field(
        "terminationGracePeriodSeconds",
        4,
        60,
        {
            f"{POD}/terminationGracePeriodSeconds": (4, 60),
            f"{CONTAINER}/lifecycle/preStop/sleep/seconds": (2, 5),
        },
    ),
    annotations_of("service.annotations", "service"),
    Field(
        "service.ports",
        [{"name": "web", "port": 80, "targetPort": "http", "appProtocol": "http"}],
        [{"name": "web", "port": 80}, {"name": "tls", "port": 443, "targetPort": 8080}],
        {
            f"{SERVICE}/ports/0/targetPort": ("http", 80),
            f"{SERVICE}/ports/0/appProtocol": ("http", None),
            f"{SERVICE}/ports/1/port": (None, 443),
        },
    ),
    same("service.sessionAffinity", "ClientIP", "None", f"{SERVICE}/sessionAffinity"),
    service("sessionAffinityConfig", seconds(60), seconds(600), sessionAffinity="ClientIP"),
    service("type", "NodePort", "LoadBalancer"),
    service("externalTrafficPolicy", "Local", "Cluster", type="NodePort"),
    service("internalTrafficPolicy", "Local", "Cluster"),
    service("trafficDistribution", "PreferClose", "PreferSameNode"),
    service("loadBalancerSourceRanges", ["10.0.0.0/8", "192.0.2.0/24"], ["192.0.2.0/24"], type="LoadBalancer"),
    service("ipFamilyPolicy", "SingleStack", "PreferDualStack"),
    Field("service.publishNotReadyAddresses", True, False, {f"{SERVICE}/publishNotReadyAddresses": (True, None)}),
    Field(
        "serviceAccount.create",
        False,
        True,
        {
            "serviceaccount/metadata/name": (None, "field-serviceaccount-create"),
            f"{POD}/serviceAccountName": ("default", "field-serviceaccount-create"),
        },
    ),
    same("serviceAccount.name", "one", "two", f"{POD}/serviceAccountName", serviceAccount=NOT_CREATED),
    annotations_of("serviceAccount.annotations", "serviceaccount"),
    same("serviceAccount.automountServiceAccountToken", True, False, f"{POD}/automountServiceAccountToken"),
    strategy(),
    same("rollout.maxSurge", 2, "50%", f"{ROLLING}/maxSurge"),
    same("rollout.maxUnavailable", 1, "50%", f"{ROLLING}/maxUnavailable"),
    same("rollout.progressDeadlineSeconds", 300, 301, "deployment/spec/progressDeadlineSeconds"),
    same("rollout.revisionHistoryLimit", 0, 3, "deployment/spec/revisionHistoryLimit"),
    everywhere("labels"),
    everywhere("annotations"),
    same(
        "nodeSelector",
        {"kubernetes.io/os": "linux"},
        {"kubernetes.io/hostname": "node-1"},
        f"{POD}/nodeSelector",
    ),
    same(
        "tolerations",
        [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
        [{"operator": "Exists"}],
        f"{POD}/tolerations",
    ),
    spread(),
    same("priorityClassName", "system-cluster-critical", "system-node-critical", f"{POD}/priorityClassName"),
    *GUARDS,
]
