"""The nodes of a WebApp's pods, their drain, and their kube-proxy."""

import uuid

from integration.scene import eventually
from kind.namespace import Namespace

DRAIN_SECONDS = 180
PROXY_SECONDS = 180
"""Two waits of kube-proxy before it opens a watch again. The backoff of client-go's reflector grows to 60 s."""

_UNUSED_ADDRESS = "192.0.2.1"
"""An address that no host has (RFC 5737)."""


def nodes_of(namespace: Namespace) -> set[str]:
    """Return the names of the nodes that have the WebApp's pods."""
    return {pod["spec"]["nodeName"] for pod in namespace.pods().values()}


def drain(namespace: Namespace, node: str) -> None:
    """Cordon and drain a node, and always uncordon it."""
    options = ("--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={DRAIN_SECONDS}s")
    kubectl = namespace.cluster.kubectl
    try:
        kubectl("drain", node, *options, timeout_seconds=DRAIN_SECONDS + 30)
    finally:
        kubectl("uncordon", node)


def wait_for_kube_proxies(namespace: Namespace) -> None:
    """Wait until the kube-proxy of each node has resumed its watches after an outage of the API server.

    It has when it routes to the endpoint of a new Service. Then it also receives the changes of a WebApp's endpoints.
    """
    name = f"probe-{uuid.uuid4().hex[:6]}"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"port": 80}],
        "endpoints": [{"addresses": [_UNUSED_ADDRESS]}],
    }
    namespace.create(service, endpoints)
    cluster, rule = namespace.cluster, f"{namespace.name}/{name} -> {_UNUSED_ADDRESS}"
    waiting = set(cluster.nodes)

    def all_resumed() -> bool:
        waiting.difference_update(node for node in list(waiting) if rule in cluster.on_node(node, "iptables-save"))
        return not waiting

    eventually(all_resumed, "each kube-proxy has resumed its watches", timeout=PROXY_SECONDS, pause=0.5)
    namespace.kubectl("delete", f"service/{name}", f"endpointslice/{name}")
