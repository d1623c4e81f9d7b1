"""One kind cluster for the whole suite, with the operator installed like users do; a namespace for each test."""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import yaml

from cluster.kind.engine import find_engine
from cluster.kind.host import get_engine_ready
from cluster.kind.kind_cluster import KindCluster
from cluster.kind.operator_image import build_operator_image
from cluster.kubectl import KubectlError
from integration.scene import eventually
from kind import metrics_server
from kind import timings as record
from kind.client import NAMESPACE as CLIENTS
from kind.client import Client
from kind.images import build_images
from kind.installation import Installation
from kind.namespace import Namespace, temporary
from kind.timings import Timings

NAME = "coxswain-test"
TEST_SECONDS = 900
TIMED = pytest.StashKey[Timings]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="kubeconfig of a running kind cluster of `make kind-up`, which keeps running [a cluster of its own]",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the first test the time to create the cluster, and each test the sum of its deadlines."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TIMED] = Timings()


@pytest.fixture(scope="session")
def tell(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Print a line immediately despite pytest's capture, because the first test starts after minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def tell(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", end="", flush=True)

    return tell


@pytest.fixture(scope="session")
def timings(pytestconfig: pytest.Config) -> Timings:
    """The durations of operations."""
    return pytestconfig.stash[TIMED]


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config, tell: Callable[[str], None], timings: Timings) -> Iterator[KindCluster]:
    """A kind cluster with all images: created by the suite, or chosen by --kubeconfig."""
    chosen: Path | None = pytestconfig.getoption("--kubeconfig")
    if chosen is not None:
        context = yaml.safe_load(chosen.read_text(encoding="utf-8"))["current-context"]
        assert context.startswith("kind-"), f"{chosen} is not a kubeconfig of a kind cluster"
        yield _loaded(KindCluster(find_engine(), context.removeprefix("kind-"), chosen.absolute(), progress=tell), tell)
        return
    kubeconfig = record.RECORD.parent / f"{NAME}.kubeconfig"
    cluster = KindCluster(get_engine_ready(tell), NAME, kubeconfig, progress=tell)
    cluster.delete()  # left by an interrupted run
    with timings.of("a cluster of three nodes, from its image to all nodes Ready"):
        cluster.create()
    yield _loaded(cluster, tell)
    cluster.delete()


def _loaded(cluster: KindCluster, tell: Callable[[str], None]) -> KindCluster:
    cluster.load(build_operator_image(cluster.engine, os.environ, tell), *build_images(cluster.engine, tell))
    return cluster


@pytest.fixture(scope="session")
def installed(
    cluster: KindCluster, timings: Timings, tell: Callable[[str], None], pytestconfig: pytest.Config
) -> Installation:
    """The operator, from the manifests and the new image, beside metrics-server, whose first samples take long."""
    metrics_server.install(cluster, tell)
    installation = Installation(cluster)
    with timings.of("installation: `kubectl apply -k` to the operator Ready"):
        installation.install()
    if pytestconfig.getoption("--kubeconfig"):
        installation.restart()
    return installation


@pytest.fixture(scope="session")
def client(cluster: KindCluster) -> Client:
    """Clients in pods, in a separate namespace."""
    client = Client(Namespace(cluster, CLIENTS))
    client.start()
    return client


@pytest.fixture
def operator(installed: Installation) -> Installation:
    """The operator, Ready."""
    installed.ready()
    return installed


@pytest.fixture
def namespace(operator: Installation) -> Iterator[Namespace]:
    """A namespace of this test, with the operator Ready."""
    with temporary(operator.namespace.cluster) as namespace:
        yield namespace


@pytest.fixture
def alone(cluster: KindCluster) -> None:
    """Wait until no object of earlier tests is left, so that all writes of the operator belong to this test."""

    def ending() -> str:
        return cluster.kubectl("get", "namespaces", "--field-selector=status.phase=Terminating", "-o", "name")

    eventually(lambda: not ending(), "the namespaces of earlier tests are gone", timeout=120, pause=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Print the state of the cluster after a failed test, before its namespace is deleted."""
    report = yield
    used = item.funcargs.values()
    namespaces = [each for each in used if isinstance(each, Namespace)]
    namespaces += [each.namespace for each in used if isinstance(each, Installation)]
    if report.when == "call" and report.failed and namespaces:
        report.sections.append(("the cluster", "\n".join(_state(namespaces[0]))))
    return report


def _state(namespace: Namespace) -> Iterator[str]:
    name = namespace.name
    for command in (
        "get nodes,namespaces",
        f"-n {name} get webapps,deployments,replicasets,pods,poddisruptionbudgets,resourcequotas -o wide",
        f"-n {name} describe webapps",
        f"-n {name} describe pods",
        f"-n {name} get events --sort-by=.lastTimestamp",
        "-n clients logs -l app=load --tail=3 --prefix",
        "-n coxswain-system get pods -o wide",
        "-n coxswain-system logs -l app.kubernetes.io/component=operator --prefix --tail=60",
    ):
        yield f"$ kubectl {command}"
        try:
            yield namespace.cluster.kubectl(*command.split(), timeout_seconds=20)
        except KubectlError as error:
            yield str(error)


def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[TIMED].keep()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("timings")
    terminalreporter.write_line(record.table(record.read()))
