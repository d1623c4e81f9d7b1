"""The manifests as users apply them, on a real API server with its admission of pods."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, KubectlError
from cluster.render import OVERLAY, RENDERED, render
from integration.scene import eventually

ROOT = Path(__file__).parents[2]
SINGLE_NAMESPACE = OVERLAY.parent / "single-namespace"
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
SERVED = "../coxswain/manifests/overlays/served-namespace"
KUSTOMIZATIONS = re.findall(r"^```yaml\n(.*?)^```", INSTALL, re.MULTILINE | re.DOTALL)

Kustomize = Callable[[str], Path]


@pytest.fixture
def whole(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster, which gets rid of the operator's Deployment again: here the operator is a process of the tests."""
    yield cluster
    cluster.kubectl("delete", "deployment", "coxswain", "--namespace=coxswain-system", "--ignore-not-found")


@pytest.fixture
def kustomize(tmp_path: Path) -> Kustomize:
    """Write a kustomization into a folder beside a clone of the repository, where docs/install.md has it."""
    (tmp_path / "coxswain").symlink_to(ROOT)
    (tmp_path / "mine").mkdir()

    def write(text: str) -> Path:
        (tmp_path / "mine" / "kustomization.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "mine"

    return write


def unchanged(answer: str) -> bool:
    """Whether kubectl says of each object that it is as it was."""
    return all(line.endswith(" unchanged") for line in answer.splitlines())


def test_the_rendered_file_is_what_make_manifests_renders() -> None:
    assert render(print) == RENDERED.read_text(encoding="utf-8")


def test_the_whole_can_be_applied_again_and_from_one_file(whole: ControlPlane) -> None:
    whole.kubectl("apply", "-k", str(OVERLAY))
    assert unchanged(whole.kubectl("apply", "-k", str(OVERLAY)))
    assert unchanged(whole.kubectl("apply", "-f", str(RENDERED)))


def test_pod_security_admits_the_operator(whole: ControlPlane) -> None:
    """And it would not admit every pod: the namespace enforces `restricted`."""
    answer = whole.kubectl("apply", "-k", str(OVERLAY))
    whole.kubectl("rollout", "status", "deployment/coxswain", "--namespace=coxswain-system", "--timeout=50s")
    assert "deployment.apps/coxswain" in answer
    with pytest.raises(KubectlError, match='violates PodSecurity "restricted:latest"'):
        whole.kubectl("run", "any", "--image=registry.example/any:1", "--namespace=coxswain-system", "--dry-run=server")


def can(cluster: ControlPlane, user: str, verb: str, resource: str, namespace: str) -> bool:
    """Whether a user may do something in a namespace."""
    kind, _, subresource = resource.partition("/")
    question = ("auth", "can-i", verb, kind, f"--subresource={subresource}", f"--namespace={namespace}", f"--as={user}")
    return cluster.kubectl(*question, check=False).strip() == "yes"


def bind(cluster: ControlPlane, role: str, namespace: str) -> str:
    """Give a new user one of Kubernetes' own roles in a namespace; return his name."""
    user = f"{role}-of-{namespace}"
    cluster.kubectl(
        "create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}", f"--namespace={namespace}"
    )
    return user


READ = {
    ("get", "webapps"),
    ("list", "webapps"),
    ("watch", "webapps"),
    ("get", "webapps/status"),
    ("get", "webapps/scale"),
}
WRITE = {
    *((verb, "webapps") for verb in ("create", "update", "patch", "delete", "deletecollection")),
    *((verb, "webapps/scale") for verb in ("update", "patch")),
}
INSTALLER = {("patch", "webapps/status")}
NOBODY = {("update", "webapps/status")}


@pytest.mark.parametrize(
    ("role", "granted"),
    [("view", READ), ("edit", READ | WRITE), ("admin", READ | WRITE | INSTALLER)],
    ids=["view", "edit", "admin"],
)
def test_the_roles_of_kubernetes_are_extended(
    cluster: ControlPlane, namespace: str, role: str, granted: set[tuple[str, str]]
) -> None:
    user = bind(cluster, role, namespace)
    eventually(lambda: can(cluster, user, "list", "webapps", namespace), "the roles are aggregated")
    asked = READ | WRITE | INSTALLER | NOBODY
    assert {(verb, resource) for verb, resource in asked if can(cluster, user, verb, resource, namespace)} == granted


def test_an_admin_of_a_namespace_installs_it_there(
    cluster: ControlPlane, make_namespace: Callable[[], str], kustomize: Kustomize
) -> None:
    """With the rights in that namespace alone, for a ServiceAccount that has no others."""
    namespace, other = make_namespace(), make_namespace()
    user = bind(cluster, "admin", namespace)
    eventually(lambda: can(cluster, user, "patch", "webapps/status", namespace), "the roles are aggregated")
    overlay = kustomize(KUSTOMIZATIONS[0].replace("team-a", namespace))
    cluster.kubectl("apply", "-k", str(overlay), f"--as={user}")
    assert unchanged(cluster.kubectl("apply", "-k", str(overlay), f"--as={user}"))
    cluster.kubectl("rollout", "status", "deployment/coxswain", f"--namespace={namespace}", "--timeout=50s")
    account = f"system:serviceaccount:{namespace}:coxswain"
    assert can(cluster, account, "patch", "webapps/status", namespace)
    assert not can(cluster, account, "list", "webapps", other)
    (container,) = pod(cluster, namespace)["spec"]["containers"]
    assert container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"


def test_an_operator_of_several_namespaces(
    cluster: ControlPlane, make_namespace: Callable[[], str], kustomize: Kustomize
) -> None:
    """S2: it runs in a namespace of its own; its rights in the others are given by their admins."""
    served, other = make_namespace(), make_namespace()
    user = bind(cluster, "admin", served)
    eventually(lambda: can(cluster, user, "patch", "webapps/status", served), "the roles are aggregated")
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "webapps", served)
    overlay = kustomize(apart(SERVED))
    cluster.kubectl("apply", "-n", served, "-k", str(overlay), f"--as={user}")
    assert can(cluster, OPERATOR_OF_SEVERAL, "patch", "webapps/status", served)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "webapps", other)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "webapps", "coxswain-apart")


OPERATOR_OF_SEVERAL = "system:serviceaccount:coxswain-apart:coxswain"
"""Not in coxswain-system: there an operator of the whole cluster has rights in these tests."""


def apart(overlay: str) -> str:
    """A kustomization that grants its rights to an operator in another namespace."""
    operations = [{"op": "replace", "path": "/subjects/0/namespace", "value": "coxswain-apart"}]
    patch = {"target": {"kind": "RoleBinding"}, "patch": yaml.safe_dump(operations)}
    return yaml.safe_dump(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [overlay],
            "patches": [patch],
        }
    )


def pod(cluster: ControlPlane, namespace: str) -> dict[str, Any]:
    """The operator's pod."""
    (found,) = json.loads(
        cluster.kubectl("get", "pods", "-l", "app.kubernetes.io/name=coxswain", "-n", namespace, "-o", "json")
    )["items"]
    return dict(found)


def containers(cluster: ControlPlane, overlay: Path) -> list[dict[str, Any]]:
    """The containers of the Deployments of an overlay."""
    rendered = yaml.safe_load_all(cluster.kubectl("kustomize", str(overlay)))
    return [
        container
        for thing in rendered
        if thing["kind"] == "Deployment"
        for container in thing["spec"]["template"]["spec"]["containers"]
    ]


def test_the_kustomizations_of_the_docs(cluster: ControlPlane, kustomize: Kustomize) -> None:
    """For one namespace (applied above), for several, and with an image and a setting of one's own."""
    _, several, own = KUSTOMIZATIONS
    (container,) = containers(cluster, kustomize(several))
    assert container["env"] == [{"name": "COXSWAIN_NAMESPACES", "value": "team-a,team-b"}]
    (container,) = containers(cluster, kustomize(own))
    assert container["image"].startswith("registry.example.com/coxswain/operator:")
    assert container["args"] == ["--listen=:8080", "--log-format=json"]
