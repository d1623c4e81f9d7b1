"""One throwaway Kubernetes and one running operator for all integration tests; a namespace for each test."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster import ControlPlane
from cluster.gateway_api import httproute_crd
from cluster.metrics_api import MetricsApi
from cluster.operator_process import OperatorProcess
from integration.collection import Collection
from integration.scene import Quiet, Scene

ROOT = Path(__file__).parents[2]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """A Kubernetes with the CRD and the manifests except the operator's Deployment: the operator is a local process."""
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml", httproute_crd()]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        yield plane


@pytest.fixture(scope="session")
def kubeconfig(cluster: ControlPlane) -> Path:
    """The kubeconfig of the operator's ServiceAccount."""
    return cluster.service_account_kubeconfig("coxswain-system", "coxswain")


@pytest.fixture(scope="session")
def _operator(cluster: ControlPlane, kubeconfig: Path) -> Iterator[OperatorProcess]:
    log = cluster.directory / "logs" / "operator.log"
    process = OperatorProcess(kubeconfig, log, program=("integration.launch",))
    yield process
    process.stop()


@pytest.fixture(scope="session")
def quiet(cluster: ControlPlane, _operator: OperatorProcess) -> Quiet:
    """A converged WebApp that no test changes."""
    _operator.start()
    cluster.kubectl("create", "namespace", "quiet")
    scene = Scene(cluster, "quiet", _operator)
    mark = cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    return Quiet(scene, cluster.audit(), time.monotonic())


@pytest.fixture
def operator(quiet: Quiet, request: pytest.FixtureRequest) -> Iterator[OperatorProcess]:
    """The running operator, with only the rights of the manifests. A test may stop and restart it."""
    process = quiet.scene.operator
    process.start()
    yield process
    if request.session.testsfailed:
        print("the end of the operator's log:\n" + "\n".join(process.logged().splitlines()[-40:]))


@pytest.fixture
def another_operator(
    cluster: ControlPlane, kubeconfig: Path, _operator: OperatorProcess
) -> Iterator[Callable[..., OperatorProcess]]:
    """Run an operator with other arguments or another kubeconfig instead of the usual one."""
    started: list[OperatorProcess] = []

    def start(*arguments: str, kubeconfig: Path = kubeconfig) -> OperatorProcess:
        _operator.stop()
        process = OperatorProcess(kubeconfig, cluster.directory / "logs" / "another-operator.log", arguments)
        started.append(process)
        process.start()
        return process

    yield start
    for process in started:
        process.stop()


@pytest.fixture
def make_namespace(cluster: ControlPlane) -> Iterator[Callable[[], str]]:
    """Create namespaces that are deleted after the test."""
    made: list[str] = []

    def make() -> str:
        name = f"test-{next(_numbers)}"
        cluster.kubectl("create", "namespace", name)
        made.append(name)
        return name

    yield make
    if made:
        cluster.kubectl("delete", "namespace", *made, "--wait=false")


@pytest.fixture
def namespace(make_namespace: Callable[[], str]) -> str:
    """A namespace of this test."""
    return make_namespace()


@pytest.fixture
def scene(cluster: ControlPlane, namespace: str, operator: OperatorProcess) -> Scene:
    """A namespace of this test, with the operator running."""
    return Scene(cluster, namespace, operator)


@pytest.fixture
def collection(cluster: ControlPlane, namespace: str) -> Iterator[Collection]:
    """A collection of objects in the namespace of the test, over plain HTTP."""
    found = Collection(cluster, namespace)
    with found.session:
        yield found


@pytest.fixture(scope="module")
def metrics(cluster: ControlPlane) -> Iterator[MetricsApi]:
    """A metrics API in which the test sets the usage of pods."""
    with MetricsApi(cluster) as api:
        yield api
