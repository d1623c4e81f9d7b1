"""Invalid and valid autoscaling, disruption and network, and the expected messages."""

from typing import Any

from integration.schema.case import PORTS, Json, Refused, refused, webapp

REPLICAS = (
    "must be 1 or left out with spec.autoscaling, which sets the number of pods",
    "apply replicas: 1 and autoscaling together: the number of pods stays",
)
"""Two parts of one message."""


def autoscaled(field: str, says: str, **more: Any) -> Refused:
    return refused(f"autoscaling{field}", says, autoscaling={"maxReplicas": 3, **more})


def metric(field: str, says: str, **source: Any) -> Refused:
    return autoscaled(f".metrics[0]{field}", says, metrics=[source])


def targeted(source: str, field: str, says: str, **target: Any) -> Refused:
    return metric(f".{source}.target{field}", says, **{source: {**SOURCES[source], "target": target}})


def behaved(direction: str, field: str, says: str, **rules: Any) -> Refused:
    return autoscaled(f".behavior.{direction}{field}", says, behavior={direction: rules})


def allowing(field: str, says: str, direction: str = "ingress", **rule: Any) -> Refused:
    return refused(f"network.{direction}{field}", says, network={direction: [rule]}, ports=PORTS)


def peer(side: str, field: str, says: str, **peers: Any) -> Refused:
    direction = {"from": "ingress", "to": "egress"}[side]
    return allowing(f"[0].{side}{field}", says, direction, **{side: peers})


INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "shop"}
SOURCES: dict[str, Json] = {
    "resource": {"name": "cpu"},
    "containerResource": {"name": "cpu", "container": "app"},
    "pods": {"metric": {"name": "a"}},
    "object": {"metric": {"name": "a"}, "describedObject": INGRESS},
    "external": {"metric": {"name": "a"}},
}
TARGETS = {
    "resource": ("averageUtilization", "averageValue"),
    "containerResource": ("averageUtilization", "averageValue"),
    "object": ("averageValue", "value"),
    "external": ("averageValue", "value"),
}
"""The targets of each source that has two kinds of them."""
_NOT_ONE_TARGET = [
    targeted(source, "", f"give exactly one of {first} and {second}", **dict.fromkeys(given, 1))
    for source, (first, second) in TARGETS.items()
    for given in ((), (first, second))
]
ZERO = [
    targeted(source, f".{value}", "must be greater than 0", **{value: "0"})
    for source, values in {**TARGETS, "pods": ("averageValue",)}.items()
    for value in values
    if value != "averageUtilization"
]
_SOURCE_OF_A_RESOURCE = {"name": "disk", "container": "app", "target": {"averageUtilization": 1}}

AUTOSCALING = [
    *(refused("replicas", says, replicas=2, autoscaling={"maxReplicas": 3}) for says in REPLICAS),
    refused("replicas", REPLICAS[0], replicas=0, autoscaling={"maxReplicas": 3}),
    refused("autoscaling.maxReplicas", "Required value", autoscaling={}),
    autoscaled(".minReplicas", "must not be greater than maxReplicas", minReplicas=4),
    autoscaled(".minReplicas", "greater than or equal to 1", minReplicas=0),
    autoscaled(".cpu", "greater than or equal to 1", cpu=0),
    *(
        metric(
            "",
            "give exactly one of resource, containerResource, pods, object and external",
            **{source: {**SOURCES[source], "target": {"averageValue": 1}} for source in given},
        )
        for given in ((), ("resource", "pods"), ("object", "external", "containerResource"))
    ),
    *(metric(f".{source}.target", "Required value", **{source: given}) for source, given in SOURCES.items()),
    targeted("pods", ".averageValue", "Required value"),
    metric(
        ".resource.name",
        "supported values",
        resource={name: value for name, value in _SOURCE_OF_A_RESOURCE.items() if name != "container"},
    ),
    metric(".containerResource.name", "supported values", containerResource=_SOURCE_OF_A_RESOURCE),
    *ZERO,
    *_NOT_ONE_TARGET,
    behaved("scaleUp", ".selectPolicy", "supported values", selectPolicy="None"),
    behaved("scaleDown", ".selectPolicy", "supported values", selectPolicy="None"),
    *(
        behaved(
            direction,
            ".policies[0].type",
            "supported values",
            policies=[{"type": "Nodes", "value": 1, "periodSeconds": 1}],
        )
        for direction in ("scaleUp", "scaleDown")
    ),
    behaved("scaleDown", ".policies", "at least 1 items", policies=[]),
    behaved("scaleUp", ".stabilizationWindowSeconds", "less than or equal to 3600", stabilizationWindowSeconds=3601),
]

DISRUPTION = [
    refused(
        "disruption.maxUnavailable",
        "cannot be set together with minAvailable",
        disruption={"minAvailable": 1, "maxUnavailable": 1},
    ),
    refused("disruption.minAvailable", "should match", disruption={"minAvailable": "101%"}),
    refused("disruption.maxUnavailable", "should match", disruption={"maxUnavailable": "1"}),
    refused(
        "disruption.unhealthyPodEvictionPolicy",
        "supported values",
        disruption={"unhealthyPodEvictionPolicy": "Never"},
    ),
    *(
        refused("disruption.enabled", "false leaves no budget", disruption={"enabled": False, **more})
        for more in ({"minAvailable": 1}, {"maxUnavailable": "50%"}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"})
    ),
]

DNS = [{"name": "dns-tcp", "containerPort": 53}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]
_PROTOCOL = "protocol must be that of the named port in spec.ports"
_MANY_PORTS = [{"name": f"name-of-port-{number:02}", "containerPort": 1000 + number} for number in range(32)]

_NO_PEERS: tuple[Json, ...] = ({}, {"sameNamespace": False}, {"namespaces": [], "webapps": [], "cidrs": []})

NETWORK = [
    allowing("", "a port given as a name must be", ports=[{"port": "web"}]),
    *(
        refused("network.ingress", _PROTOCOL, network={"ingress": [{"ports": [port]}]}, ports=DNS)
        for port in ({"port": "dns"}, {"port": "dns", "protocol": "SCTP"}, {"port": "dns-tcp", "protocol": "UDP"})
    ),
    *(
        allowing("[0].ports[0].port", "should match", direction, ports=[{"port": name}])
        for direction in ("ingress", "egress")
        for name in ("5432", "54-32", "a--b")
    ),
    allowing("[0]", "give from, ports or both"),
    allowing("[0]", "give to, ports or both", "egress"),
    allowing("[0].ports", "at least 1 items", ports=[]),
    allowing("[0].ports[0].protocol", "supported values", ports=[{"port": 1, "protocol": "HTTP"}]),
    allowing("[0].ports[0].protocol", "supported values", "egress", ports=[{"port": 1, "protocol": "HTTP"}]),
    allowing("[0].ports[0].port", "less than or equal to 65535", "egress", ports=[{"port": 65536}]),
    *(
        case
        for side in ("from", "to")
        for case in (
            *(
                peer(side, "", "give at least one of sameNamespace: true, namespaces, webapps and cidrs", **peers)
                for peers in _NO_PEERS
            ),
            peer(side, ".namespaces", "duplicate entries for key", namespaces=["a", "a"]),
            peer(side, ".webapps[0].name", "should match", webapps=[{"name": "A"}]),
            *(
                peer(side, ".cidrs[0].cidr", "must be a range of addresses, such as", cidrs=[{"cidr": text}])
                for text in ("10.0.0.1", "10.0.0.0/33", "10.1.0.0/8", "2001:db8::/3")
            ),
            *(
                peer(
                    side,
                    ".cidrs[0].except",
                    "each must be a range of addresses within cidr",
                    cidrs=[{"cidr": "10.0.0.0/8", "except": [excluded]}],
                )
                for excluded in ("11.0.0.0/16", "10.0.0.0/8", "10.0.0.1", "10.0.0.1/16", "::/0")
            ),
        )
    ),
]

GUARDED: dict[str, Json] = {
    "the smallest autoscaler": webapp(autoscaling={"maxReplicas": 1}),
    "autoscaling beside the default of replicas": webapp(autoscaling={"maxReplicas": 1}, replicas=1),
    "the largest autoscaler": webapp(
        autoscaling={
            "minReplicas": 10000,
            "maxReplicas": 10000,
            "cpu": 1000,
            "memory": 1,
            "metrics": [
                *({source: {**given, "target": {"averageValue": "1m"}}} for source, given in SOURCES.items()),
                {"resource": {"name": "memory", "target": {"averageUtilization": 1000}}},
                {"external": {**SOURCES["external"], "target": {"value": "0.5"}}},
                {"object": {**SOURCES["object"], "target": {"value": 1}}},
            ],
            "behavior": {
                "scaleUp": {
                    "stabilizationWindowSeconds": 3600,
                    "policies": [{"type": "Pods", "value": 10000, "periodSeconds": 1800}] * 8,
                },
                "scaleDown": {"selectPolicy": "Disabled"},
            },
        }
    ),
    "an empty disruption": webapp(disruption={}),
    "a budget of nothing": webapp(disruption={"enabled": True, "maxUnavailable": 0}),
    "a budget in percent": webapp(disruption={"minAvailable": "100%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
    "a network that allows nothing": webapp(network={"ingress": [], "egress": [], "defaultDeny": True}),
    "the largest network": webapp(
        ports=_MANY_PORTS,
        network={
            direction: [
                {
                    side: {
                        "sameNamespace": True,
                        "namespaces": [f"n{number}" for number in range(32)],
                        "webapps": [{"name": "a" * 63, "namespace": "b" * 63}] * 32,
                        "cidrs": [
                            {"cidr": "2001:db8::/32", "except": [f"2001:db8:{number:x}::/48" for number in range(16)]}
                        ]
                        * 32,
                    },
                    "ports": [{"port": _MANY_PORTS[-1]["name"], "protocol": "TCP"}] * 32,
                }
            ]
            * 32
            for direction, side in (("ingress", "from"), ("egress", "to"))
        },
    ),
    "ports by name": webapp(
        ports=DNS,
        network={
            "ingress": [{"ports": [{"port": "dns-tcp"}, {"port": "dns", "protocol": "UDP"}]}, {"ports": [{"port": 9}]}],
            "egress": [{"ports": [{"port": "http", "protocol": "SCTP"}, {"port": "80-a"}, {"port": "1-1-b"}]}],
        },
    ),
    "no budget": webapp(disruption={"enabled": False}),
    "addresses of a host": webapp(network={"egress": [{"to": {"cidrs": [{"cidr": "169.254.169.254/32"}]}}]}),
}
