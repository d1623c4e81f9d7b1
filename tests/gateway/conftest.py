"""A throwaway Kubernetes with Contour, Envoy and a server for the pods, in a network namespace of its own."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster import ControlPlane
from cluster.build import build_own
from cluster.catalog import GATEWAY_PROGRAMS
from cluster.contour import Contour
from cluster.gateway_api import gateway_crds
from cluster.network_namespace import pods_are_reachable
from cluster.operator_process import OperatorProcess
from cluster.pod_server import PodServer
from cluster.programs import find_programs
from gateway.traffic import PORTS
from integration.scene import Scene
from kind.images import SOURCE

ROOT = Path(__file__).parents[2]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """A Kubernetes with the CRDs of the operator, of the Gateway API and of Contour."""
    if not pods_are_reachable():
        pytest.exit("these tests need a network namespace of their own: make gateway-test", returncode=2)
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml", *gateway_crds()]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        yield plane


@pytest.fixture(scope="session")
def operator(cluster: ControlPlane) -> Iterator[OperatorProcess]:
    """The operator, with the rights of the manifests and no others."""
    kubeconfig = cluster.service_account_kubeconfig("coxswain-system", "coxswain")
    process = OperatorProcess(kubeconfig, cluster.directory / "logs" / "operator.log")
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def contour(cluster: ControlPlane) -> Iterator[Contour]:
    """Contour and Envoy, and one server in place of all pods."""
    programs = {name: found.path for name, found in find_programs(programs=tuple(GATEWAY_PROGRAMS.values())).items()}
    with PodServer(cluster, PORTS), Contour(cluster, programs) as running:
        yield running


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The load generator of the kind suite, for a URL."""
    return build_own(SOURCE, tmp_path_factory.mktemp("workload") / "programs", os.environ, print)["workload"]


@pytest.fixture
def make_scene(
    cluster: ControlPlane, operator: OperatorProcess, contour: Contour, request: pytest.FixtureRequest
) -> Iterator[Callable[[], Scene]]:
    """Create namespaces, and delete them after the test."""
    made: list[str] = []

    def make() -> Scene:
        made.append(f"test-{next(_numbers)}")
        cluster.kubectl("create", "namespace", made[-1])
        return Scene(cluster, made[-1], operator)

    yield make
    if request.session.testsfailed:
        print("the end of the operator's log:\n" + "\n".join(operator.logged().splitlines()[-40:]))
        print(contour.tail())
    cluster.kubectl("delete", "namespace", *made, "--wait=false")


@pytest.fixture
def scene(make_scene: Callable[[], Scene]) -> Scene:
    """A namespace of the test's own, with everything running."""
    return make_scene()
