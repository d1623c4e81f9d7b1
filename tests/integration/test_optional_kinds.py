"""F27: the CRD of HTTPRoutes is absent, installed, deleted and installed again while WebApps need it.

Also tests an installation without the right to list HTTPRoutes.
"""

from collections.abc import Iterator

import pytest
import yaml

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.conftest import ROOT
from integration.gateways import GATEWAY, PATIENCE_SECONDS, install, report, there, uninstall
from integration.scene import SPEC, Scene, eventually

pytestmark = pytest.mark.slow

ROLE = ROOT / "manifests" / "overlays" / "cluster" / "clusterrole.yaml"
ROUTED = {**SPEC, "routes": [{"parentRefs": [GATEWAY]}, {"name": "api", "parentRefs": [GATEWAY]}]}


@pytest.fixture(scope="module")
def plane() -> Iterator[tuple[ControlPlane, OperatorProcess]]:
    """A separate Kubernetes: the garbage collector of the other tests would wait for a deleted CRD."""
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml"]) as cluster:
        cluster.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        kubeconfig = cluster.service_account_kubeconfig("coxswain-system", "coxswain")
        operator = OperatorProcess(kubeconfig, cluster.directory / "logs" / "operator.log")
        operator.start()
        yield cluster, operator
        operator.stop()


@pytest.fixture
def without_gateway_api(plane: tuple[ControlPlane, OperatorProcess], request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A cluster without HTTPRoutes, before and after the test."""
    cluster, operator = plane
    namespace = f"optional-{'right' if 'right' in request.node.name else 'kind'}"
    cluster.kubectl("create", "namespace", namespace)
    yield Scene(cluster, namespace, operator)
    uninstall(cluster)


def missing(scene: Scene) -> None:
    """Wait until the status reports the missing API, while everything else works."""
    eventually(lambda: scene.condition("Stalled").get("reason") == "APIMissing", "the API is missing", PATIENCE_SECONDS)
    assert scene.condition("Ready")["reason"] == "APIMissing"
    message = scene.condition("Ready")["message"]
    assert message.startswith("HTTPRoute web: the cluster does not serve gateway.networking.k8s.io/v1. ")
    edit = f"kubectl edit webapp web -n {scene.namespace}"
    assert message.endswith(f"Install the Gateway API CRDs, or remove spec.routes: {edit}")
    eventually(lambda: scene.condition("Available")["status"] == "True", "the pods are available")


def accepted(scene: Scene) -> None:
    """Wait for both HTTPRoutes, let the Gateway accept them, and wait until the WebApp is Ready."""
    for name in ("web", "web-api"):
        there(scene, "httproute", name)
        report(scene, name)
    scene.ready()


def roll(scene: Scene, image: str) -> None:
    """Change the image, and wait until the Deployment has it."""
    scene.patch("webapp", {"spec": {"image": image}})

    def rolled() -> bool:
        [container] = scene.get("deployment")["spec"]["template"]["spec"]["containers"]
        return bool(container["image"] == image)

    eventually(rolled, f"the Deployment has {image}")


@pytest.mark.timeout(400)
def test_the_kind_comes_and_goes_without_a_restart(without_gateway_api: Scene) -> None:
    scene = without_gateway_api
    process = scene.operator.pid
    scene.apply_ready("other")
    scene.apply(spec=ROUTED)
    missing(scene)
    assert scene.operator.probe("/readyz")[0] == 200
    eventually(lambda: len(scene.awaited_events("APIMissing")) == 2, "an Event for each of both routes")
    for image in ("registry.example/web:2", "registry.example/web:3"):
        install(scene.cluster)
        accepted(scene)
        assert scene.condition("Contested")["status"] == "False"
        uninstall(scene.cluster)
        missing(scene)
        roll(scene, image)
    mark = scene.cluster.audit()
    scene.settled(mark)
    scene.ready("other")
    eventually(lambda: scene.operator.probe("/readyz")[0] == 200, "the operator is ready")
    assert scene.operator.pid == process
    # The other remedy in the message.
    scene.apply_ready(spec=SPEC)


@pytest.fixture
def without_the_right(without_gateway_api: Scene) -> Iterator[Scene]:
    """The API is served, but the operator's role does not include it."""
    scene = without_gateway_api
    install(scene.cluster)
    role = yaml.safe_load(ROLE.read_text(encoding="utf-8"))
    role["rules"] = [rule for rule in role["rules"] if "httproutes" not in rule["resources"]]
    scene.create(role)
    scene.operator.stop()
    scene.operator.start()
    yield scene
    scene.kubectl("apply", "-f", str(ROLE))


@pytest.mark.timeout(300)
def test_a_role_without_the_right_stops_only_the_routes(without_the_right: Scene) -> None:
    scene = without_the_right
    scene.apply_ready("other")
    scene.apply(spec=ROUTED)
    message = scene.not_ready("NotListed")["message"]
    assert "httproutes.gateway.networking.k8s.io cannot be listed in the cluster: 403" in message
    assert "No HTTPRoute is written until they can" in message
    assert scene.names("deployment") == ["web"]
    roll(scene, "registry.example/web:2")
    assert 'coxswain_unlisted{kind="httproutes",namespace=""} 1.0' in scene.operator.metrics()[1]
    process = scene.operator.pid
    scene.kubectl("apply", "-f", str(ROLE))
    accepted(scene)
    assert scene.operator.pid == process
