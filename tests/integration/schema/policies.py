"""Invalid rules of spec.conflicts and the expected messages, and valid paths."""

from integration.schema.case import Json, refused

IMAGE = "spec.template.spec.containers[name=app].image"

ACCEPTED: dict[str, list[str]] = {
    "ServiceAccount": [
        "metadata",
        "metadata.labels",
        "metadata.labels.team",
        "metadata.annotations[example.com/role]",
        "automountServiceAccountToken",
    ],
    "ConfigMap": ["metadata", "metadata.annotations", "metadata.labels[example.com/team]"],
    "Service": [
        "metadata.annotations[service.beta.kubernetes.io/aws-load-balancer-type]",
        "spec",
        "spec.type",
        "spec.clusterIP",
        "spec.sessionAffinity",
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        "spec.externalName",
        "spec.loadBalancerSourceRanges",
        "spec.ports",
        "spec.ports[port=80,protocol=TCP].nodePort",
        "spec.ports[port=80,protocol=TCP]",
        "spec.ports[port=80,protocol=TCP].targetPort",
    ],
    "Deployment": [
        "metadata.annotations.note",
        "spec",
        "spec.replicas",
        "spec.strategy",
        "spec.strategy.rollingUpdate.maxSurge",
        "spec.template",
        "spec.template.metadata.annotations[example.com/a]",
        "spec.template.spec",
        "spec.template.spec.tolerations",
        "spec.template.spec.nodeSelector",
        "spec.template.spec.volumes[name=files]",
        "spec.template.spec.containers",
        "spec.template.spec.containers[name=app]",
        IMAGE,
        "spec.template.spec.containers[name=app].resources.limits[nvidia.com/gpu]",
        "spec.template.spec.containers[name=app].env[name=A.B-c].value",
        "spec.template.spec.containers[name=app].readinessProbe.httpGet.path",
        "spec.template.spec.initContainers",
        "spec.template.spec.initContainers[name=migrate]",
        "spec.template.spec.initContainers[name=proxy].image",
        "spec.template.spec.initContainers[name=proxy].env[name=A.B-c].value",
        "spec.template.spec.affinity.nodeAffinity",
        "spec.minReadySeconds",
    ],
    "NetworkPolicy": ["metadata.labels.team", "spec", "spec.ingress", "spec.egress", "spec.policyTypes"],
    "PodDisruptionBudget": ["metadata", "spec", "spec.maxUnavailable", "spec.unhealthyPodEvictionPolicy"],
    "HorizontalPodAutoscaler": [
        "metadata.annotations[example.com/team]",
        "spec.maxReplicas",
        "spec.metrics",
        "spec.behavior",
        "spec.behavior.scaleUp",
        "spec.behavior.scaleDown.policies",
    ],
    "HTTPRoute": ["metadata.annotations", "spec", "spec.hostnames", "spec.parentRefs", "spec.rules"],
    "Ingress": ["metadata.labels.team", "spec", "spec.ingressClassName", "spec.rules", "spec.tls"],
}
"""Paths of each kind."""


def ruled(kind: str, path: str, policy: str = "Yield") -> Json:
    return {"rules": [{"kind": kind, "path": path, "policy": policy}]}


_ALWAYS = "owner references, selectors and Coxswain's own labels are always enforced"
_WRITES = "must be a field that Coxswain writes, such as metadata.annotations[example.com/team]"
_PATH = "conflicts.rules[0].path"

CONFLICTS = [
    refused(
        _PATH, "must be a field of the HTTPRoute that Coxswain writes", conflicts=ruled("HTTPRoute", "spec.rules[0]")
    ),
    refused(_PATH, "must be a field of the Ingress that Coxswain writes", conflicts=ruled("Ingress", "spec.backend")),
    refused("conflicts.policy", 'supported values: "Enforce", "Yield", "Halt"', conflicts={"policy": "Ignore"}),
    refused("conflicts.rules[0].policy", "supported values", conflicts=ruled("Service", "spec.type", "yield")),
    refused("conflicts.rules[0].kind", "supported values", conflicts=ruled("Pod", "spec")),
    refused(_PATH, "at least 1 chars", conflicts=ruled("Service", "")),
    refused(
        "conflicts.rules",
        "duplicate entries",
        conflicts={"rules": [*ruled("Service", "spec")["rules"], *ruled("Service", "spec", "Halt")["rules"]]},
    ),
    *(
        refused(_PATH, _ALWAYS, conflicts=ruled(kind, path))
        for kind, path in (
            ("Service", "metadata.ownerReferences"),
            ("ServiceAccount", "metadata.ownerReferences[uid=1]"),
            ("Service", "spec.selector"),
            ("Deployment", "spec.selector.matchLabels"),
            ("ConfigMap", "metadata.labels[coxswain.dev/webapp]"),
            ("Deployment", "metadata.labels[app.kubernetes.io/name]"),
            ("Deployment", "spec.template.metadata.labels[app.kubernetes.io/managed-by]"),
            ("NetworkPolicy", "spec.podSelector"),
            ("PodDisruptionBudget", "spec.selector.matchLabels"),
            ("HorizontalPodAutoscaler", "spec.scaleTargetRef.name"),
        )
    ),
    *(
        refused(_PATH, _WRITES, conflicts=ruled(kind, path))
        for kind, path in (
            ("ServiceAccount", "secrets"),
            ("ServiceAccount", "metadata.name"),
            ("ConfigMap", "data"),
            ("ConfigMap", "metadata.labels."),
            ("ConfigMap", ".metadata"),
        )
    ),
    *(
        refused(_PATH, f"must be a field of the {kind} that Coxswain writes", conflicts=ruled(kind, path))
        for kind, path in (
            ("NetworkPolicy", "spec.ingress[0]"),
            ("PodDisruptionBudget", "spec.replicas"),
            ("HorizontalPodAutoscaler", "spec.behavior.scaleUp.policies[0]"),
        )
    ),
    *(
        refused(_PATH, "must be a field of the Service that Coxswain writes", conflicts=ruled("Service", path))
        for path in ("automountServiceAccountToken", "spec.ports[0", "spec.ports[port=80].hostPort", "spec.replicas")
    ),
    *(
        refused(_PATH, "must be a field of the Deployment that Coxswain writes", conflicts=ruled("Deployment", path))
        for path in (
            "image",
            "spec.template.spec.containers[name=sidecar].image",
            "spec.template.spec.containers[0].image",
            "spec.template.spec.containers[name=app].imag",
            "spec.template.spec.containers[name=app].image.tag",
            "spec.template.spec.initContainers[name=migrate].imag",
            "spec.template.spec.initContainers[0]",
            "/spec/replicas",
            "spec.replicas ",
            "status",
        )
    ),
]
