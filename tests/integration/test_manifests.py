"""The manifests as users apply them, on a real API server with Pod Security admission."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, KubectlError
from demo.render import OVERLAY, RENDERED, render
from integration.scene import eventually

ROOT = Path(__file__).parents[2]
SINGLE_NAMESPACE = OVERLAY.parent / "single-namespace"
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
SERVED = "../coxswain/manifests/overlays/served-namespace"
KUSTOMIZATIONS = re.findall(r"^```yaml\n(.*?)^```", INSTALL, re.MULTILINE | re.DOTALL)

Kustomize = Callable[[str], Path]


@pytest.fixture
def whole(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster; the operator's Deployment is deleted afterwards, because the tests run the operator as a process."""
    yield cluster
    cluster.kubectl("delete", "deployment", "coxswain", "--namespace=coxswain-system", "--ignore-not-found")


@pytest.fixture
def kustomize(tmp_path: Path) -> Kustomize:
    """Write a kustomization into a folder beside a clone of the repository, as docs/install.md does."""
    (tmp_path / "coxswain").symlink_to(ROOT)
    (tmp_path / "mine").mkdir()

    def write(text: str) -> Path:
        (tmp_path / "mine" / "kustomization.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "mine"

    return write


def unchanged(answer: str) -> bool:
    """Return whether kubectl reports all objects as unchanged.

    kubectl replaces the selector of each PodDisruptionBudget (`patchStrategy: replace`), and calls it configured.
    """
    expected = (" unchanged", "poddisruptionbudget.policy/coxswain configured")
    return all(line.endswith(expected) for line in answer.splitlines())


def test_make_manifests_renders_the_committed_file() -> None:
    assert render(print) == RENDERED.read_text(encoding="utf-8")


def test_the_whole_can_be_applied_again_and_from_one_file(whole: ControlPlane) -> None:
    whole.kubectl("apply", "-k", str(OVERLAY))
    assert unchanged(whole.kubectl("apply", "-k", str(OVERLAY)))
    assert unchanged(whole.kubectl("apply", "-f", str(RENDERED)))


def test_pod_security_admits_the_operator(whole: ControlPlane) -> None:
    """The namespace enforces `restricted`, so it would not admit every pod."""
    answer = whole.kubectl("apply", "-k", str(OVERLAY))
    whole.kubectl("rollout", "status", "deployment/coxswain", "--namespace=coxswain-system", "--timeout=50s")
    assert "deployment.apps/coxswain" in answer
    with pytest.raises(KubectlError, match='violates PodSecurity "restricted:latest"'):
        whole.kubectl("run", "any", "--image=registry.example/any:1", "--namespace=coxswain-system", "--dry-run=server")


def can(cluster: ControlPlane, user: str, verb: str, resource: str, namespace: str) -> bool:
    """Return whether a user has a right in a namespace."""
    kind, _, subresource = resource.partition("/")
    question = ("auth", "can-i", verb, kind, f"--subresource={subresource}", f"--namespace={namespace}", f"--as={user}")
    return cluster.kubectl(*question, check=False).strip() == "yes"


def bind(cluster: ControlPlane, role: str, namespace: str) -> str:
    """Bind one of Kubernetes' own roles in a namespace to a new user; return the user's name."""
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
    """Uses only the rights in that namespace, for a ServiceAccount without other rights."""
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
    """S2: it runs in its own namespace; the admins of the other namespaces grant its rights there."""
    served, other = make_namespace(), make_namespace()
    user = bind(cluster, "admin", served)
    eventually(lambda: can(cluster, user, "patch", "webapps/status", served), "the roles are aggregated")
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "webapps", served)
    overlay = kustomize(apart(SERVED))
    cluster.kubectl("apply", "-n", served, "-k", str(overlay), f"--as={user}")
    assert can(cluster, OPERATOR_OF_SEVERAL, "patch", "webapps/status", served)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "webapps", other)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "webapps", "coxswain-apart")


def test_the_right_on_httproutes_is_given_by_whoever_has_it(
    cluster: ControlPlane, make_namespace: Callable[[], str], kustomize: Kustomize
) -> None:
    """Kubernetes' own role `admin` has no right on them, so it cannot grant it."""
    served, routes = make_namespace(), "httproutes.gateway.networking.k8s.io"
    user = bind(cluster, "admin", served)
    overlay = kustomize(apart("../coxswain/manifests/overlays/routes"))
    with pytest.raises(KubectlError, match="attempting to grant RBAC permissions not currently held"):
        cluster.kubectl("apply", "-n", served, "-k", str(overlay), f"--as={user}")
    assert not can(cluster, OPERATOR_OF_SEVERAL, "patch", routes, served)
    cluster.kubectl("apply", "-n", served, "-k", str(overlay))
    assert can(cluster, OPERATOR_OF_SEVERAL, "patch", routes, served)


def test_the_right_on_secrets_is_given_by_an_admin_of_the_namespace(
    cluster: ControlPlane, make_namespace: Callable[[], str], kustomize: Kustomize
) -> None:
    served, other = make_namespace(), make_namespace()
    user = bind(cluster, "admin", served)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "secrets", served)
    overlay = kustomize(apart("../coxswain/manifests/overlays/restart-on"))
    cluster.kubectl("apply", "-n", served, "-k", str(overlay), f"--as={user}")
    assert can(cluster, OPERATOR_OF_SEVERAL, "watch", "secrets", served)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "get", "secrets", served)
    assert not can(cluster, OPERATOR_OF_SEVERAL, "list", "secrets", other)


OPERATOR_OF_SEVERAL = "system:serviceaccount:coxswain-apart:coxswain"
"""Not in coxswain-system, where these tests give an operator rights on the whole cluster."""


def apart(overlay: str) -> str:
    """Return a kustomization that grants its rights to an operator in another namespace."""
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
    """Return one of the operator's two pods."""
    found, _ = json.loads(
        cluster.kubectl("get", "pods", "-l", "app.kubernetes.io/name=coxswain", "-n", namespace, "-o", "json")
    )["items"]
    return dict(found)


def containers(cluster: ControlPlane, overlay: Path) -> list[dict[str, Any]]:
    """Return the containers of the Deployments of an overlay."""
    rendered = yaml.safe_load_all(cluster.kubectl("kustomize", str(overlay)))
    return [
        container
        for thing in rendered
        if thing["kind"] == "Deployment"
        for container in thing["spec"]["template"]["spec"]["containers"]
    ]


@pytest.mark.slow
def test_the_kustomizations_of_the_docs(cluster: ControlPlane, kustomize: Kustomize) -> None:
    """For one namespace (applied above), also with routes, for several, and with a custom image and setting."""
    _, routes, several, own = KUSTOMIZATIONS
    rendered = list(yaml.safe_load_all(cluster.kubectl("kustomize", str(kustomize(routes)))))
    bindings = {thing["metadata"]["name"]: thing for thing in rendered if thing["kind"] == "RoleBinding"}
    assert bindings["coxswain-routes"]["metadata"]["namespace"] == "team-a"
    assert [each["namespace"] for each in bindings["coxswain-routes"]["subjects"]] == ["team-a"]
    (container,) = containers(cluster, kustomize(several))
    assert container["env"] == [{"name": "COXSWAIN_NAMESPACES", "value": "team-a,team-b"}]
    (container,) = containers(cluster, kustomize(own))
    assert container["image"].startswith("registry.example.com/coxswain/operator:")
    assert container["args"] == ["--listen=:8080", "--metrics-listen=:8443", "--log-format=json"]


def test_the_component_of_slots_patches_deployment_and_role(cluster: ControlPlane, kustomize: Kustomize) -> None:
    page = (ROOT / "docs" / "high-availability.md").read_text(encoding="utf-8")
    [components] = re.findall(r"^```yaml\n(components:.*?)^```", page, re.MULTILINE | re.DOTALL)
    overlay = kustomize(f"resources:\n  - ../coxswain/manifests/overlays/cluster\n{components}")
    rendered = yaml.safe_load_all(cluster.kubectl("kustomize", str(overlay)))
    found = {(thing["kind"], thing["metadata"]["name"]): thing for thing in rendered}
    deployment = found["Deployment", "coxswain"]["spec"]
    [container] = deployment["template"]["spec"]["containers"]
    assert (deployment["replicas"], container["env"]) == (3, [{"name": "COXSWAIN_SLOTS", "value": "6"}])
    assert container["args"], "the rest stays"
    rules = found["Role", "coxswain-leader-election"]["rules"]
    assert [rule["verbs"] for rule in rules] == [["create"], ["get", "update"], ["list"], ["get", "update"]]
    assert len(rules[-1]["resourceNames"]) == 64
