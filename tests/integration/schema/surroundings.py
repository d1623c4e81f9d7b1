"""Invalid fields outside of the container, and the expected messages."""

from integration.schema.case import PORTS, SPREAD, Json, refused, spread

ALIAS = {"type": "ExternalName", "externalName": "shop.example.com"}
NODE_PORT, BALANCER = {"type": "NodePort"}, {"type": "LoadBalancer"}
NODE_PORTS = [{"name": "a", "port": 80, "nodePort": 30080}]
SECONDS = {"clientIP": {"timeoutSeconds": 60}}

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
    refused("service.clusterIP", "field not declared", service={"clusterIP": "10.0.0.1"}, ports=PORTS),
    refused("service.type", "supported values", service={"type": "Headless"}, ports=PORTS),
    refused("service", "spec.service needs spec.ports", service={"type": "LoadBalancer"}),
    *(
        refused("service.headless", "a headless Service has no address", service=service, ports=PORTS)
        for service in ({"type": "NodePort", "headless": True}, {**ALIAS, "headless": True})
    ),
    *(
        refused("service.externalName", "need each other", service=service, ports=PORTS)
        for service in ({"externalName": "a.b"}, {"type": "ExternalName"}, {**ALIAS, "type": "NodePort"})
    ),
    refused("service.externalName", "should match", service={**ALIAS, "externalName": "A_b"}),
    *(
        refused(f"service.{name}", "needs service.type", service={name: value, **more}, ports=PORTS)
        for name, value in (
            ("externalTrafficPolicy", "Local"),
            ("loadBalancerClass", "a"),
            ("loadBalancerSourceRanges", ["10.0.0.0/8"]),
        )
        for more in ({}, {"type": "ClusterIP"}, ALIAS)
    ),
    *(
        refused(f"service.{name}", "needs service.type: LoadBalancer", service={name: value, **NODE_PORT}, ports=PORTS)
        for name, value in (("loadBalancerClass", "a"), ("loadBalancerSourceRanges", ["10.0.0.0/8"]))
    ),
    refused(
        "service.ports",
        "each nodePort may stand only once for a protocol",
        service={"type": "NodePort", "ports": [*NODE_PORTS, {**NODE_PORTS[0], "name": "b", "port": 81}]},
        ports=PORTS,
    ),
    *(
        refused("service.ports", "nodePort needs service.type", service={"ports": NODE_PORTS, **more}, ports=PORTS)
        for more in ({}, {"headless": True}, ALIAS)
    ),
    *(
        refused("service.sessionAffinityConfig", "needs service.sessionAffinity", service=service, ports=PORTS)
        for service in (
            {"sessionAffinityConfig": SECONDS},
            {"sessionAffinityConfig": SECONDS, "sessionAffinity": "None"},
        )
    ),
    refused(
        "service.sessionAffinityConfig.clientIP.timeoutSeconds",
        "less than or equal to 86400",
        service={"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
        ports=PORTS,
    ),
    *(
        refused(
            "service.loadBalancerSourceRanges[0]",
            "must be a range of addresses",
            service={**BALANCER, "loadBalancerSourceRanges": [text]},
            ports=PORTS,
        )
        for text in ("10.0.0.1", "all", "10.0.0.0/33")
    ),
    *(
        refused(f"service.{name}", "supported values", service={**NODE_PORT, name: "Other"}, ports=PORTS)
        for name in (
            *("externalTrafficPolicy", "internalTrafficPolicy", "trafficDistribution", "ipFamilyPolicy", "replace"),
        )
    ),
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
    refused("rollout.onFailure", 'supported values: "Hold", "Rollback"', rollout={"onFailure": "Retry"}),
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
    """Return a spec with one entry of this key in the map."""
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
    refused("topologySpreadConstraints", "may stand here once", topologySpreadConstraints=[SPREAD, {**SPREAD}]),
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
        "topologySpreadConstraints[0].labelSelector",
        "field not declared",
        topologySpreadConstraints=spread(labelSelector={}),
    ),
    refused("hostNetwork", "field not declared", hostNetwork=True),
]
