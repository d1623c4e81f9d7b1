"""Drained nodes, a node with a stopped kubelet, and the frozen node of the leader."""

import pytest

from integration.scene import eventually
from kind.client import Client
from kind.images import V1, V2
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.nodes import drain, nodes_of
from kind.timings import Timings

WRITES_OF_AN_OUTAGE = 8
"""Allowed status writes for a node outage: a few at its start and end, independent of its duration."""


def test_drained_nodes_fail_no_request(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """Drain each worker in turn. The second one has both pods, so the default budget must delay the second eviction."""
    workers = namespace.cluster.nodes[1:]
    namespace.apply_ready(spec(replicas=2))
    assert nodes_of(namespace) == set(workers), "pods are spread by default"
    assert namespace.get("poddisruptionbudget")["spec"]["maxUnavailable"] == 1
    with client.load(namespace.address()) as load, timings.of("drain of both workers, one after the other") as row:
        for worker in workers:
            drain(namespace, worker)
            namespace.ready()
            assert worker not in nodes_of(namespace)
    row.load = load.report.unharmed()
    operator.ready()


def test_a_node_leaves_and_joins_again(namespace: Namespace, client: Client, timings: Timings) -> None:
    """A drained node is deleted from the cluster; its kubelet registers it again, and it gets pods."""
    cluster, worker = namespace.cluster, namespace.cluster.nodes[2]
    namespace.apply_ready(spec(replicas=2))
    with client.load(namespace.address()) as load:
        with timings.of("a node drained and deleted: to the WebApp Ready on the other one") as row:
            drain(namespace, worker)
            cluster.on_node(worker, "systemctl", "stop", "kubelet")
            cluster.kubectl("delete", "node", worker)
            namespace.ready()
        assert nodes_of(namespace) == {cluster.nodes[1]}
        with timings.of("the node registered again: to pods on it"):
            cluster.on_node(worker, "systemctl", "start", "kubelet")
            eventually(lambda: worker in cluster.kubectl("get", "nodes", "-o", "name"), "it is registered", timeout=60)
            namespace.wait("condition=Ready", f"node/{worker}")
            namespace.kubectl("scale", "webapp", "web", "--replicas=4")
            namespace.ready()
        assert nodes_of(namespace) == set(cluster.nodes[1:])
        assert load.versions_now() == {"v1"}
    row.load = load.report.unharmed()


@pytest.mark.usefixtures("alone")
def test_a_kubelet_that_stops_and_returns_fails_no_request(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """Its pods keep running. After 50 s, the node controller marks the node and removes them from the Service."""
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


@pytest.mark.usefixtures("alone")
def test_a_frozen_node_of_the_leader_fails_no_request(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    """The standby on the other node takes over and rolls an edit out. The old leader ends when its node continues."""
    operator.spread()
    cluster, leader = namespace.cluster, operator.pod()
    node = leader["spec"]["nodeName"]
    (other,) = set(cluster.nodes[1:]) - {node}
    place = {"replicas": 2, "nodeSelector": {"kubernetes.io/hostname": other}}
    namespace.apply_ready(spec(V1, **place))
    with client.load(namespace.address()) as load:
        with timings.of("node of the leader frozen: to an edit rolled out by the standby") as row, cluster.frozen(node):
            namespace.apply(spec(V2, **place))
            namespace.ready()
        # A pod of the earlier version still serves during its preStop sleep.
        eventually(lambda: load.versions_now() == {"v2"}, "only the new version answers")
        namespace.wait("condition=Ready", f"node/{node}")
        operator.ready()
    row.load = load.report.unharmed()
    assert operator.pod()["metadata"]["name"] != leader["metadata"]["name"]


def runs(namespace: Namespace) -> dict[str, str]:
    """Return the start time of each pod's container."""
    return {
        name: pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        for name, pod in namespace.pods().items()
    }
