"""The watches are started again whatever ends them, and nothing is lost meanwhile; in a Kubernetes of its own."""

import signal
from collections.abc import Iterator

import pytest

from cluster import ControlPlane
from cluster.operator_process import OperatorProcess
from integration.conftest import ROOT
from integration.scene import SPEC, Scene, eventually

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
    eventually(lambda: "install the CRDs" in lonely.operator.probe("/readyz")[1], "readiness says what is missing")
    assert lonely.operator.probe("/healthz")[0] == 200
    lonely.cluster.kubectl("create", "--filename", str(CRDS))
    lonely.cluster.kubectl("wait", "crd", "webapps.coxswain.dev", "--for=condition=Established")
    lonely.apply("after")
    eventually(lambda: lonely.find("deployment", "after"), "a Deployment after the CRD's return", timeout=60)
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
    eventually(lambda: lonely.kubectl(*replicas) == "3", "the change is followed", timeout=60)
    eventually(lambda: lonely.find("service", "steady"), "the deleted Service is made anew", timeout=60)
    assert lonely.operator.pid == pid, "the operator has outlived the outage"
