"""The nodes of a WebApp's pods, and their drain."""

from kind.namespace import Namespace

DRAIN_SECONDS = 180


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
