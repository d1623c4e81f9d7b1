"""The watches are restarted after any failure, and no change is lost meanwhile; in a separate Kubernetes."""

import signal
from collections.abc import Iterator

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.conftest import ROOT
from integration.scene import SPEC, Scene, eventually

pytestmark = pytest.mark.slow

CRDS = ROOT / "crds" / "webapps.yaml"


@pytest.fixture(scope="module")
def lonely() -> Iterator[Scene]:
    """A Kubernetes without nodes, and an operator."""
    with ControlPlane(manifests=[CRDS], nodes=0) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        kubeconfig = plane.service_account_kubeconfig("coxswain-system", "coxswain")
        operator = OperatorProcess(kubeconfig, plane.directory / "logs" / "operator.log")
        operator.start()
        yield Scene(plane, "default", operator)
        operator.stop()


def test_the_crd_is_deleted_and_installed_again(lonely: Scene) -> None:
    lonely.apply("before")
    eventually(lambda: lonely.find("deployment", "before"), "a Deployment")
    lonely.cluster.kubectl("delete", "--filename", str(CRDS))
    eventually(lambda: "Install the CRDs" in lonely.operator.probe("/readyz")[1], "readiness names the missing CRDs")
    assert lonely.operator.probe("/healthz")[0] == 200
    lonely.cluster.kubectl("create", "--filename", str(CRDS))
    lonely.cluster.wait_for_crds()
    lonely.apply("after")
    eventually(lambda: lonely.find("deployment", "after"), "a Deployment after the CRD's return", timeout=75)
    assert lonely.operator.probe("/readyz")[0] == 200


def test_the_api_server_is_killed_and_returns(lonely: Scene) -> None:
    lonely.apply("steady")
    eventually(lambda: lonely.find("deployment", "steady"), "a Deployment")
    pid = lonely.operator.pid
    lonely.cluster.stop_program("kube-apiserver", signal.SIGKILL)
    lonely.cluster.start_program("kube-apiserver")
    lonely.apply("steady", {**SPEC, "replicas": 3})
    lonely.kubectl("delete", "service", "steady")
    replicas = ("get", "deployment", "steady", "-o", "jsonpath={.spec.replicas}")
    eventually(lambda: lonely.kubectl(*replicas) == "3", "the change is applied", timeout=75)
    eventually(lambda: lonely.find("service", "steady"), "the deleted Service is created again", timeout=75)
    assert lonely.operator.pid == pid, "the operator survived the outage"
