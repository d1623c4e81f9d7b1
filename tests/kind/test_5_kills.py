"""Killed containers: the operator's, the API server's, etcd's."""

from collections.abc import Callable

import pytest

from cluster.kind.kind_cluster import KindCluster
from cluster.kubectl import KubectlError
from integration.scene import eventually
from kind.client import Client
from kind.images import V1, V2
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.nodes import wait_for_kube_proxies
from kind.timings import Timings

RETURN_SECONDS = 120


def kill_container(cluster: KindCluster, node: str, *selection: str) -> str:
    """Kill a container with SIGKILL; return its id."""
    container = running(cluster, node, *selection)
    cluster.on_node(node, "crictl", "stop", "--timeout=0", container)
    return container


def running(cluster: KindCluster, node: str, *selection: str) -> str:
    """Return the id of a running container in a node, or an empty string."""
    return cluster.on_node(node, "crictl", "ps", "--quiet", "--state=running", *selection).strip()


def delete_pod_by_force(operator: Installation) -> None:
    name = operator.pod()["metadata"]["name"]
    operator.namespace.kubectl("delete", "pod", name, "--force", "--grace-period=0")


def kill_process(operator: Installation) -> None:
    pod = operator.pod()
    label = f"--label=io.kubernetes.pod.uid={pod['metadata']['uid']}"
    kill_container(operator.namespace.cluster, pod["spec"]["nodeName"], label)


@pytest.mark.parametrize("kill", [delete_pod_by_force, kill_process])
def test_the_operator_killed_in_the_middle_of_a_rollout(
    namespace: Namespace,
    client: Client,
    operator: Installation,
    timings: Timings,
    kill: Callable[[Installation], None],
) -> None:
    namespace.apply_ready(spec(V1, replicas=3, config={"GREETING": "hello"}))
    old, old_operator = namespace.pods(), operator.container()
    (config_map,) = config_maps(namespace)
    with client.load(namespace.address()) as load:
        with timings.of(f"operator killed ({kill.__name__}) in the middle of a rollout: to Ready") as row:
            namespace.apply(spec(V2, replicas=3, config={"GREETING": "good day"}))
            namespace.wait("jsonpath={.status.updatedReplicas}=1", "deployment/web")
            kill(operator)
            # A change while no operator runs, found by the next one.
            namespace.kubectl("scale", "webapp", "web", "--replicas=2")
            namespace.ready()
        namespace.gone(*old)
        assert load.versions_now() == {"v2"}
    row.load = load.report.unharmed()
    assert operator.container() != old_operator
    eventually(lambda: len(namespace.pods()) == 2, "the third new pod is gone", pause=0.3)
    assert config_map in config_maps(namespace), "the recorded revision needs it"
    assert len(config_maps(namespace)) == 2


def config_maps(namespace: Namespace) -> list[str]:
    return [found["metadata"]["name"] for found in namespace.list("configmap", "coxswain.dev/webapp=web")]


@pytest.mark.parametrize("program", ["kube-apiserver", "etcd"])
def test_a_killed_program_of_the_control_plane(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings, program: str
) -> None:
    cluster, node = namespace.cluster, namespace.cluster.nodes[0]
    namespace.apply_ready(spec(V1, replicas=2))
    old = namespace.pods()
    with client.load(namespace.address()) as load:
        with timings.of(f"{program} killed: to the API server ready again") as row:
            killed = kill_container(cluster, node, f"--name=^{program}$")
            eventually(
                lambda: running(cluster, node, f"--name=^{program}$") not in ("", killed) and answers(cluster),
                f"{program} is back",
                timeout=RETURN_SECONDS,
                pause=0.5,
            )
        # Until then the nodes would route to the old pods after their end, whatever the operator does.
        with timings.of(f"{program} back: to the watches of each kube-proxy resumed"):
            wait_for_kube_proxies(namespace)
        with timings.of(f"{program} back: a new image to Ready"):
            namespace.apply_ready(spec(V2, replicas=2))
        namespace.gone(*old)
        assert load.versions_now() == {"v2"}
    row.load = load.report.unharmed()
    operator.ready()


def answers(cluster: KindCluster) -> bool:
    try:
        return cluster.kubectl("get", "--raw", "/readyz", timeout_seconds=10) == "ok"
    except KubectlError:
        return False
