"""One throwaway Kubernetes and one running operator for all integration tests; a namespace for each."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import Quiet, Scene

ROOT = Path(__file__).parents[2]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """A Kubernetes with the CRD and the manifests, but for the operator's Deployment: it runs as a process here."""
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml"]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        yield plane


@pytest.fixture(scope="session")
def kubeconfig(cluster: ControlPlane) -> Path:
    """The kubeconfig of the operator's ServiceAccount."""
    return cluster.service_account_kubeconfig("coxswain-system", "coxswain")


@pytest.fixture(scope="session")
def _operator(cluster: ControlPlane, kubeconfig: Path) -> Iterator[OperatorProcess]:
    process = OperatorProcess(kubeconfig, cluster.directory / "logs" / "operator.log")
    yield process
    process.stop()


@pytest.fixture(scope="session")
def quiet(cluster: ControlPlane, _operator: OperatorProcess) -> Quiet:
    """A converged WebApp that nobody touches while all the tests run."""
    _operator.start()
    cluster.kubectl("create", "namespace", "quiet")
    scene = Scene(cluster, "quiet", _operator)
    mark = cluster.audit()
    scene.apply_ready()
    scene.settled(mark)
    return Quiet(scene, cluster.audit(), time.monotonic())


@pytest.fixture
def operator(quiet: Quiet, request: pytest.FixtureRequest) -> Iterator[OperatorProcess]:
    """The operator, running; with the rights of the manifests and no others. A test may stop and start it."""
    process = quiet.scene.operator
    process.start()
    yield process
    if request.session.testsfailed:
        print("the end of the operator's log:\n" + "\n".join(process.logged().splitlines()[-40:]))


@pytest.fixture
def another_operator(
    cluster: ControlPlane, kubeconfig: Path, _operator: OperatorProcess
) -> Iterator[Callable[..., OperatorProcess]]:
    """Run an operator with arguments, and perhaps another kubeconfig, in the place of the usual one."""
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
    """Make namespaces that go after the test."""
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
    """A namespace of the test's own."""
    return make_namespace()


@pytest.fixture
def scene(cluster: ControlPlane, namespace: str, operator: OperatorProcess) -> Scene:
    """A namespace of the test's own, with the operator running."""
    return Scene(cluster, namespace, operator)
