"""Nodes that are drained, and one whose kubelet stops and returns."""

from typing import Any

import pytest

from kind.client import Client
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.timings import Timings

DRAIN_SECONDS = 180
WRITES_OF_AN_OUTAGE = 8
"""Status writes that a node may cost that goes and returns: some at each turn, however long it is away."""


def disruption_budget(namespace: Namespace) -> dict[str, Any]:
    selector = namespace.get("webapp", "web")["status"]["selector"]
    label, _, value = selector.partition("=")
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {label: value}}},
    }


def nodes_of(namespace: Namespace) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in namespace.pods().values()}


def test_drained_nodes_fail_no_request(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """Each worker in turn. The second one has both pods, so the budget has to hold the second eviction back."""
    workers = namespace.cluster.nodes[1:]
    namespace.apply_ready(spec(replicas=2))
    assert nodes_of(namespace) == set(workers), "pods are spread by default"
    namespace.create(disruption_budget(namespace))
    with client.load(namespace.address()) as load, timings.of("drain of both workers, one after the other") as row:
        for worker in workers:
            drain(namespace, worker)
            namespace.ready()
            assert worker not in nodes_of(namespace)
    row.load = load.report.unharmed()
    operator.ready()


def drain(namespace: Namespace, node: str) -> None:
    """Cordon and drain a node, and uncordon it whatever comes."""
    options = ("--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={DRAIN_SECONDS}s")
    kubectl = namespace.cluster.kubectl
    try:
        kubectl("drain", node, *options, timeout_seconds=DRAIN_SECONDS + 30)
    finally:
        kubectl("uncordon", node)


@pytest.mark.usefixtures("alone")
def test_a_kubelet_that_stops_and_returns_fails_no_request(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """Its pods run on. The node's controller notices after 50 s, and takes them out of the Service."""
    cluster, worker = namespace.cluster, namespace.cluster.nodes[1]
    namespace.apply_ready(spec(replicas=2))
    pods, writes = runs(namespace), operator.writes()
    with client.load(namespace.address()) as load:
        with timings.of("kubelet stopped: to the WebApp not Ready") as row:
            cluster.on_node(worker, "systemctl", "stop", "kubelet")
            try:
                namespace.wait("condition=Ready=Unknown", f"node/{worker}")
                namespace.wait("condition=Ready=False", "webapp/web")
            finally:
                cluster.on_node(worker, "systemctl", "start", "kubelet")
        with timings.of("kubelet started again: to the WebApp Ready"):
            namespace.wait("condition=Ready", f"node/{worker}")
            namespace.ready()
    row.load = load.report.unharmed()
    assert runs(namespace) == pods
    written = operator.writes() - writes
    assert written.keys() <= {"webapps/status"}
    assert written.total() <= WRITES_OF_AN_OUTAGE


def runs(namespace: Namespace) -> dict[str, str]:
    """Return since when the container of each pod runs."""
    return {
        name: pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        for name, pod in namespace.pods().items()
    }
