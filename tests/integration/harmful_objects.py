"""Objects that a thief of the operator's token could try to create, and the messages of the policy's refusals."""

import json
from collections.abc import Callable
from typing import Any

LABEL = "coxswain.dev/webapp"

Object = dict[str, Any]


def child(kind: str, name: str, namespace: str, owner: str | None = None, **rest: Any) -> Object:
    """Return an object that claims to be the child of a WebApp."""
    owner = name if owner is None else owner
    reference = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": owner, "uid": "0", "controller": True}
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: owner}, "ownerReferences": [reference]}
    versions = {
        "Deployment": "apps/v1",
        "NetworkPolicy": "networking.k8s.io/v1",
        "PodDisruptionBudget": "policy/v1",
        "HorizontalPodAutoscaler": "autoscaling/v2",
        "HTTPRoute": "gateway.networking.k8s.io/v1",
        "Ingress": "networking.k8s.io/v1",
        "ControllerRevision": "apps/v1",
    }
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata, **rest}


def deployment(name: str, namespace: str, selector: Object | None = None, **pod: Any) -> Object:
    selector = selector or {LABEL: name}
    containers = pod.pop("containers", [{"name": "app", "image": "registry.example/any:1"}])
    template = {"metadata": {"labels": selector}, "spec": {"containers": containers, **pod}}
    spec = {"selector": {"matchLabels": selector}, "replicas": 0, "template": template}
    return child("Deployment", name, namespace, spec=spec)


def ingress(name: str, namespace: str, owner: str | None = None, backend: str | None = None) -> Object:
    service = {"service": {"name": backend or name, "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": service}
    return child("Ingress", name, namespace, owner, spec={"rules": [{"host": "h.example", "http": {"paths": [path]}}]})


def service(name: str, namespace: str, owner: str | None = None, **spec: Any) -> Object:
    spec = {"ports": [{"port": 80}], "selector": {LABEL: name}, **spec}
    return child("Service", name, namespace, owner, spec=spec)


def route(name: str, namespace: str, owner: str | None = None, backend: Object | None = None) -> Object:
    backend = {"name": name, "port": 80, **(backend or {})}
    return child("HTTPRoute", name, namespace, owner, spec={"rules": [{"backendRefs": [backend]}]})


def without(thing: Object, field: str) -> Object:
    """Return an object without one field of its metadata."""
    return {**thing, "metadata": {name: value for name, value in thing["metadata"].items() if name != field}}


def with_metadata(thing: Object, **fields: Any) -> Object:
    return {**thing, "metadata": {**thing["metadata"], **fields}}


def with_pod_metadata(thing: Object, **fields: Any) -> Object:
    """Return a Deployment whose pods have further metadata."""
    template = thing["spec"]["template"]
    changed = {**template, "metadata": {**template["metadata"], **fields}}
    return {**thing, "spec": {**thing["spec"], "template": changed}}


def container(**fields: Any) -> list[Object]:
    return [{"name": "app", "image": "registry.example/any:1", **fields}]


def scaler(namespace: str, **target: str) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", **target}
    return child("HorizontalPodAutoscaler", "x", namespace, spec={"scaleTargetRef": reference, "maxReplicas": 9})


RECORD: Object = {"revision": 1, "data": {"spec": {}}}
NO_CHILD = "creates only children of WebApps"
OUTLIVING = "adds no finalizer, and no owner except the WebApp"
REMAINING: Object = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": "0"}
PUBLISHED = "brings traffic only to the pods and the Service of the WebApp"
ELSEWHERE = "only the pods of the WebApp that a child belongs to"
MIRROR: Object = {"backendRef": {"name": "y", "port": 80}}
REDIRECT: Object = {"type": "RequestRedirect", "requestRedirect": {"hostname": "other.example"}}
HARMFUL: dict[str, tuple[Callable[[str], Object], str]] = {
    "a Deployment of its own": (lambda ns: without(deployment("x", ns), "ownerReferences"), NO_CHILD),
    "a child without the label": (lambda ns: without(deployment("x", ns), "labels"), NO_CHILD),
    "a child of another name": (lambda ns: child("ServiceAccount", "x", ns, owner="y"), NO_CHILD),
    "an Ingress of its own": (lambda ns: without(ingress("x", ns), "ownerReferences"), NO_CHILD),
    "an Ingress of another name": (lambda ns: ingress("x", ns, owner="y"), NO_CHILD),
    "a Service of its own": (lambda ns: without(service("x", ns), "ownerReferences"), NO_CHILD),
    "a Service of another name": (lambda ns: service("x", ns, owner="y"), NO_CHILD),
    "a Service in kube-system": (lambda _: service("x", "kube-system"), "nothing in kube-* namespaces"),
    "an HTTPRoute of its own": (lambda ns: without(route("x", ns), "ownerReferences"), NO_CHILD),
    "an HTTPRoute of any name": (lambda ns: route("x", ns, owner="y"), NO_CHILD),
    "a ConfigMap of any name": (lambda ns: child("ConfigMap", "x", ns, owner="y"), NO_CHILD),
    "a revision of any name": (lambda ns: child("ControllerRevision", "x", ns, owner="y", **RECORD), NO_CHILD),
    "a revision of its own": (
        lambda ns: without(child("ControllerRevision", "x", ns, **RECORD), "ownerReferences"),
        NO_CHILD,
    ),
    "a child of another kind's": (
        lambda ns: json.loads(json.dumps(deployment("x", ns)).replace("coxswain.dev/v1", "example.com/v1")),
        NO_CHILD,
    ),
    "a child with a finalizer": (lambda ns: with_metadata(deployment("x", ns), finalizers=["orphan"]), OUTLIVING),
    "a child with another owner": (
        lambda ns: with_metadata(
            deployment("x", ns), ownerReferences=[*deployment("x", ns)["metadata"]["ownerReferences"], REMAINING]
        ),
        OUTLIVING,
    ),
    "a Deployment with another selector": (
        lambda ns: deployment("x", ns, selector={"app": "x"}),
        "with its own selector only",
    ),
    "a Service of other pods": (lambda ns: service("x", ns, selector={"app": "any"}), PUBLISHED),
    "an address of others": (lambda ns: service("x", ns, externalIPs=["192.0.2.1"]), PUBLISHED),
    "an Ingress of another Service": (lambda ns: ingress("x", ns, backend="y"), PUBLISHED),
    "an HTTPRoute of another Service": (lambda ns: route("x", ns, backend={"name": "y"}), PUBLISHED),
    "an HTTPRoute of another namespace": (lambda ns: route("x", ns, backend={"namespace": "default"}), PUBLISHED),
    "an HTTPRoute to another kind": (
        lambda ns: route("x", ns, backend={"group": "example.com", "kind": "Bucket"}),
        PUBLISHED,
    ),
    "an HTTPRoute that copies requests": (
        lambda ns: route("x", ns, backend={"filters": [{"type": "RequestMirror", "requestMirror": MIRROR}]}),
        PUBLISHED,
    ),
    "an HTTPRoute that redirects requests": (
        lambda ns: child("HTTPRoute", "x", ns, spec={"rules": [{"filters": [REDIRECT]}]}),
        PUBLISHED,
    ),
    "an Ingress with a default backend": (
        lambda ns: child(
            "Ingress", "x", ns, spec={"defaultBackend": {"service": {"name": "y", "port": {"number": 80}}}}
        ),
        PUBLISHED,
    ),
    "in kube-system": (lambda _: deployment("x", "kube-system"), "nothing in kube-* namespaces"),
    "in the operator's own namespace": (lambda _: deployment("x", "coxswain-system"), "nothing in kube-* namespaces"),
    "the node's network": (lambda ns: deployment("x", ns, hostNetwork=True), "access to its node: hostNetwork"),
    "the node's processes": (lambda ns: deployment("x", ns, hostPID=True, hostIPC=True), "hostPID, hostIPC"),
    "the node's files": (
        lambda ns: deployment("x", ns, volumes=[{"name": "root", "hostPath": {"path": "/"}}]),
        "hostPath",
    ),
    "a privileged container": (
        lambda ns: deployment("x", ns, containers=container(securityContext={"privileged": True})),
        "privileged",
    ),
    "an init container with a capability": (
        lambda ns: deployment(
            "x", ns, initContainers=container(name="i", securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})
        ),
        "capabilities.add",
    ),
    "a port of the node": (
        lambda ns: deployment("x", ns, containers=container(ports=[{"containerPort": 80, "hostPort": 80}])),
        "hostPort",
    ),
    "a volume that is no API object": (
        lambda ns: deployment("x", ns, volumes=[{"name": "v", "nfs": {"server": "nfs.example", "path": "/"}}]),
        "access to its node: volumes",
    ),
    "pods that never end": (
        lambda ns: deployment("x", ns, terminationGracePeriodSeconds=86401),
        "a grace period of more than a day",
    ),
    "pods with a finalizer": (
        lambda ns: with_pod_metadata(deployment("x", ns), finalizers=["example.com/stay"]),
        "gives no pod a finalizer",
    ),
    "a node of its choice": (lambda ns: deployment("x", ns, nodeName="control-plane"), "access to its node: nodeName"),
    "a SELinux type": (
        lambda ns: deployment("x", ns, containers=container(securityContext={"seLinuxOptions": {"type": "spc_t"}})),
        "access to its node: seLinuxOptions",
    ),
    "a SELinux user": (
        lambda ns: deployment("x", ns, securityContext={"seLinuxOptions": {"user": "system_u"}}),
        "access to its node: seLinuxOptions",
    ),
    "a kernel parameter": (
        lambda ns: deployment("x", ns, securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
        "access to its node: sysctls",
    ),
    "no filter of system calls": (
        lambda ns: deployment(
            "x",
            ns,
            containers=container(
                securityContext={
                    "seccompProfile": {"type": "Unconfined"},
                    "appArmorProfile": {"type": "Unconfined"},
                }
            ),
        ),
        "access to its node: seccompProfile, appArmorProfile",
    ),
    "the unmasked /proc": (
        lambda ns: deployment(
            "x", ns, containers=container(securityContext={"procMount": "Unmasked"}), hostUsers=False
        ),
        "access to its node: procMount",
    ),
    "a process of a Windows node": (
        lambda ns: deployment("x", ns, securityContext={"windowsOptions": {"hostProcess": True}}, hostNetwork=True),
        "hostProcess",
    ),
    "no AppArmor by an annotation": (
        lambda ns: with_pod_metadata(
            deployment("x", ns), annotations={"container.apparmor.security.beta.kubernetes.io/app": "unconfined"}
        ),
        "access to its node: appArmorProfile",
    ),
    "a probe of another host": (
        lambda ns: deployment(
            "x", ns, containers=container(livenessProbe={"httpGet": {"host": "127.0.0.1", "port": 10250}})
        ),
        "access to its node: host",
    ),
    "a network for all pods": (lambda ns: child("NetworkPolicy", "x", ns, spec={"podSelector": {}}), ELSEWHERE),
    "a network of its own": (
        lambda ns: without(child("NetworkPolicy", "x", ns, spec={"podSelector": {}}), "ownerReferences"),
        NO_CHILD,
    ),
    "a budget for other pods": (
        lambda ns: child("PodDisruptionBudget", "x", ns, spec={"selector": {"matchLabels": {LABEL: "y"}}}),
        ELSEWHERE,
    ),
    "an autoscaler for another Deployment": (lambda ns: scaler(ns, name="y"), ELSEWHERE),
    "an autoscaler for another kind": (lambda ns: scaler(ns, kind="StatefulSet"), ELSEWHERE),
    "an Event of a pod": (
        lambda ns: {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "x", "namespace": ns},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "coxswain.dev/operator",
            "reportingInstance": "x",
            "action": "x",
            "reason": "x",
            "type": "Normal",
            "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "x", "namespace": ns},
        },
        "Events of WebApps only",
    ),
}
