"""The policy that limits the operator's token (S1): it denies attacks and permits the operator's own work.

All integration and fault tests run with the policy, so all writes of the operator pass it.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, KubectlError
from integration.scene import OPERATOR, SPEC, Scene, eventually

ROOT = Path(__file__).parents[2]
POLICY = "ValidatingAdmissionPolicy 'coxswain-operator' with binding 'coxswain-operator' denied request"
LABEL = "coxswain.dev/webapp"

Object = dict[str, Any]


class Thief:
    """An attacker with the operator's token: kubectl with its rights."""

    def __init__(self, cluster: ControlPlane, kubeconfig: Path) -> None:
        self._cluster = cluster
        self._kubeconfig = kubeconfig

    def refused(self, *arguments: str, thing: Object | None = None) -> str:
        """Try a command, and return the policy's message."""
        given = None if thing is None else json.dumps(thing)
        with pytest.raises(KubectlError) as refusal:
            self._cluster.kubectl(*arguments, input=given, kubeconfig=self._kubeconfig)
        text = str(refusal.value)
        assert POLICY in text, text
        return text.partition(POLICY)[2]


@pytest.fixture(scope="module")
def thief(cluster: ControlPlane, kubeconfig: Path) -> Thief:
    def is_in_force() -> bool:
        attempt = ("create", "configmap", "any", "--dry-run=server", "--namespace=default")
        try:
            cluster.kubectl(*attempt, kubeconfig=kubeconfig)
        except KubectlError as error:
            return POLICY in str(error)
        return False

    eventually(is_in_force, "the API server enforces the policy")
    return Thief(cluster, kubeconfig)


def child(kind: str, name: str, namespace: str, owner: str | None = None, **rest: Any) -> Object:
    """Return an object that claims to be the child of a WebApp."""
    owner = name if owner is None else owner
    reference = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": owner, "uid": "0", "controller": True}
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: owner}, "ownerReferences": [reference]}
    versions = {
        "Deployment": "apps/v1",
        "NetworkPolicy": "networking.k8s.io/v1",
        "PodDisruptionBudget": "policy/v1",
        "HorizontalPodAutoscaler": "autoscaling/v2",
        "HTTPRoute": "gateway.networking.k8s.io/v1",
        "Ingress": "networking.k8s.io/v1",
        "ControllerRevision": "apps/v1",
    }
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata, **rest}


def deployment(name: str, namespace: str, selector: Object | None = None, **pod: Any) -> Object:
    selector = selector or {LABEL: name}
    containers = pod.pop("containers", [{"name": "app", "image": "registry.example/any:1"}])
    template = {"metadata": {"labels": selector}, "spec": {"containers": containers, **pod}}
    spec = {"selector": {"matchLabels": selector}, "replicas": 0, "template": template}
    return child("Deployment", name, namespace, spec=spec)


def ingress(name: str, namespace: str, owner: str | None = None) -> Object:
    backend = {"service": {"name": "any", "port": {"number": 80}}}
    return child("Ingress", name, namespace, owner, spec={"defaultBackend": backend})


def service(name: str, namespace: str, owner: str | None = None) -> Object:
    return child("Service", name, namespace, owner, spec={"ports": [{"port": 80}], "selector": {"app": "any"}})


def route(name: str, namespace: str, owner: str | None = None) -> Object:
    backend = {"name": "any", "port": 80}
    return child("HTTPRoute", name, namespace, owner, spec={"rules": [{"backendRefs": [backend]}]})


def without(thing: Object, field: str) -> Object:
    """Return an object without one field of its metadata."""
    return {**thing, "metadata": {name: value for name, value in thing["metadata"].items() if name != field}}


def with_metadata(thing: Object, **fields: Any) -> Object:
    return {**thing, "metadata": {**thing["metadata"], **fields}}


def container(**fields: Any) -> list[Object]:
    return [{"name": "app", "image": "registry.example/any:1", **fields}]


def scaler(namespace: str, **target: str) -> Object:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", **target}
    return child("HorizontalPodAutoscaler", "x", namespace, spec={"scaleTargetRef": reference, "maxReplicas": 9})


RECORD: Object = {"revision": 1, "data": {"spec": {}}}
NO_CHILD = "creates only children of WebApps"
OUTLIVING = "adds no finalizer, and no owner except the WebApp"
REMAINING: Object = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": "0"}
ELSEWHERE = "only the pods of the WebApp that a child belongs to"
HARMFUL: dict[str, tuple[Callable[[str], Object], str]] = {
    "a Deployment of its own": (lambda ns: without(deployment("x", ns), "ownerReferences"), NO_CHILD),
    "a child without the label": (lambda ns: without(deployment("x", ns), "labels"), NO_CHILD),
    "a child of another name": (lambda ns: child("ServiceAccount", "x", ns, owner="y"), NO_CHILD),
    "an Ingress of its own": (lambda ns: without(ingress("x", ns), "ownerReferences"), NO_CHILD),
    "an Ingress of another name": (lambda ns: ingress("x", ns, owner="y"), NO_CHILD),
    "a Service of its own": (lambda ns: without(service("x", ns), "ownerReferences"), NO_CHILD),
    "a Service of another name": (lambda ns: service("x", ns, owner="y"), NO_CHILD),
    "a Service in kube-system": (lambda _: service("x", "kube-system"), "nothing in kube-* namespaces"),
    "an HTTPRoute of its own": (lambda ns: without(route("x", ns), "ownerReferences"), NO_CHILD),
    "an HTTPRoute of any name": (lambda ns: route("x", ns, owner="y"), NO_CHILD),
    "a ConfigMap of any name": (lambda ns: child("ConfigMap", "x", ns, owner="y"), NO_CHILD),
    "a revision of any name": (lambda ns: child("ControllerRevision", "x", ns, owner="y", **RECORD), NO_CHILD),
    "a revision of its own": (
        lambda ns: without(child("ControllerRevision", "x", ns, **RECORD), "ownerReferences"),
        NO_CHILD,
    ),
    "a child of another kind's": (
        lambda ns: json.loads(json.dumps(deployment("x", ns)).replace("coxswain.dev/v1", "example.com/v1")),
        NO_CHILD,
    ),
    "a child with a finalizer": (lambda ns: with_metadata(deployment("x", ns), finalizers=["orphan"]), OUTLIVING),
    "a child with another owner": (
        lambda ns: with_metadata(
            deployment("x", ns), ownerReferences=[*deployment("x", ns)["metadata"]["ownerReferences"], REMAINING]
        ),
        OUTLIVING,
    ),
    "a Deployment with another selector": (
        lambda ns: deployment("x", ns, selector={"app": "x"}),
        "with its own selector only",
    ),
    "in kube-system": (lambda _: deployment("x", "kube-system"), "nothing in kube-* namespaces"),
    "in the operator's own namespace": (lambda _: deployment("x", "coxswain-system"), "nothing in kube-* namespaces"),
    "the node's network": (lambda ns: deployment("x", ns, hostNetwork=True), "access to its node: hostNetwork"),
    "the node's processes": (lambda ns: deployment("x", ns, hostPID=True, hostIPC=True), "hostPID, hostIPC"),
    "the node's files": (
        lambda ns: deployment("x", ns, volumes=[{"name": "root", "hostPath": {"path": "/"}}]),
        "hostPath",
    ),
    "a privileged container": (
        lambda ns: deployment("x", ns, containers=container(securityContext={"privileged": True})),
        "privileged",
    ),
    "an init container with a capability": (
        lambda ns: deployment(
            "x", ns, initContainers=container(name="i", securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})
        ),
        "capabilities.add",
    ),
    "a port of the node": (
        lambda ns: deployment("x", ns, containers=container(ports=[{"containerPort": 80, "hostPort": 80}])),
        "hostPort",
    ),
    "a network for all pods": (lambda ns: child("NetworkPolicy", "x", ns, spec={"podSelector": {}}), ELSEWHERE),
    "a network of its own": (
        lambda ns: without(child("NetworkPolicy", "x", ns, spec={"podSelector": {}}), "ownerReferences"),
        NO_CHILD,
    ),
    "a budget for other pods": (
        lambda ns: child("PodDisruptionBudget", "x", ns, spec={"selector": {"matchLabels": {LABEL: "y"}}}),
        ELSEWHERE,
    ),
    "an autoscaler for another Deployment": (lambda ns: scaler(ns, name="y"), ELSEWHERE),
    "an autoscaler for another kind": (lambda ns: scaler(ns, kind="StatefulSet"), ELSEWHERE),
    "an Event of a pod": (
        lambda ns: {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "x", "namespace": ns},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "coxswain.dev/operator",
            "reportingInstance": "x",
            "action": "x",
            "reason": "x",
            "type": "Normal",
            "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "x", "namespace": ns},
        },
        "Events of WebApps only",
    ),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_nothing_harmful_is_created(thief: Thief, namespace: str, case: str) -> None:
    made, message = HARMFUL[case]
    assert message in thief.refused("create", "--validate=false", "-f", "-", thing=made(namespace))


def test_a_namespace_can_be_closed(cluster: ControlPlane, thief: Thief, namespace: str) -> None:
    cluster.kubectl("label", "namespace", namespace, "coxswain.dev/webapps=forbidden")
    refused = thief.refused("create", "--validate=false", "-f", "-", thing=deployment("x", namespace))
    assert "coxswain.dev/webapps=forbidden" in refused


@pytest.fixture
def theirs(cluster: ControlPlane, namespace: str) -> str:
    """A namespace with objects of other owners."""
    cluster.kubectl("create", "configmap", "theirs", "--from-literal=a=b", "-n", namespace)
    cluster.kubectl("create", "deployment", "theirs", "--image=registry.example/any:1", "--replicas=0", "-n", namespace)
    return namespace


def test_nothing_of_others_is_changed_or_deleted(cluster: ControlPlane, thief: Thief, theirs: str) -> None:
    where = ("-n", theirs)
    message = "changes and deletes only children of WebApps"
    assert message in thief.refused("delete", "configmap", "theirs", *where)
    assert message in thief.refused("delete", "deployment", "theirs", *where)
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example/evil:1"}]
    assert message in thief.refused("patch", "deployment", "theirs", "--type=json", "-p", json.dumps(image), *where)
    adopt = json.dumps({"metadata": {"annotations": {"coxswain.dev/adopt": "x"}, "labels": {LABEL: "x"}}})
    assert message in thief.refused("patch", "configmap", "theirs", "--type=merge", "-p", adopt, *where)
    cluster.kubectl("create", "serviceaccount", "theirs", "-n", theirs)
    forced = child("ServiceAccount", "theirs", theirs)
    apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=coxswain", "--validate=false", "-f", "-")
    assert message in thief.refused(*apply, thing=forced)


def test_of_a_child_no_host_access_is_made_and_it_is_not_given_away(scene: Scene, thief: Thief) -> None:
    scene.apply_ready(spec={**SPEC, "paused": False})
    scene.operator.stop()
    where = ("-n", scene.namespace)
    network = json.dumps({"spec": {"template": {"spec": {"hostNetwork": True}}}})
    assert "hostNetwork" in thief.refused("patch", "deployment", "web", "--type=merge", "-p", network, *where)
    away = [{"op": "replace", "path": "/metadata/ownerReferences/0/kind", "value": "Other"}]
    given = thief.refused("patch", "service", "web", "--type=json", "-p", json.dumps(away), *where)
    assert "gives no child away" in given


def test_no_child_outlives_the_garbage_collection(scene: Scene, thief: Thief) -> None:
    """Otherwise the pods of a WebApp that does not exist would run on."""
    scene.apply_ready(spec={**SPEC, "paused": False})
    scene.operator.stop()
    where = ("-n", scene.namespace)
    for change, message in (
        ([{"op": "remove", "path": "/metadata/ownerReferences"}], "gives no child away"),
        ([{"op": "replace", "path": "/metadata/ownerReferences/0/name", "value": "y"}], "gives no child away"),
        ([{"op": "add", "path": "/metadata/ownerReferences/-", "value": REMAINING}], OUTLIVING),
        ([{"op": "add", "path": "/metadata/finalizers", "value": ["orphan"]}], OUTLIVING),
    ):
        assert message in thief.refused("patch", "deployment", "web", "--type=json", "-p", json.dumps(change), *where)
    assert "only with their pods" in thief.refused("delete", "deployment", "web", "--cascade=orphan", *where)


def test_no_more_rights_let_it_create_a_token(cluster: ControlPlane, thief: Thief, namespace: str) -> None:
    """The denial also applies if the operator is bound to `edit` by mistake."""
    user = f"--user={OPERATOR}"
    cluster.kubectl("create", "rolebinding", "mistake", "--clusterrole=edit", user, "-n", namespace)
    cluster.kubectl("create", "serviceaccount", "powerful", "-n", namespace)
    may = ("auth", "can-i", "create", "serviceaccounts/token", "-n", namespace, f"--as={OPERATOR}")
    eventually(lambda: cluster.kubectl(*may, check=False).strip() == "yes", "the right is there")
    assert "creates no token" in thief.refused("create", "token", "powerful", "-n", namespace)


@pytest.mark.usefixtures("thief")
def test_the_operators_own_requests_are_permitted(scene: Scene) -> None:
    """Ten kinds of writes by the operator: creation, update, status, Event, healing, removal, adoption and others."""
    mark = scene.cluster.audit()
    spec = {**SPEC, "rollout": {"revisionHistoryLimit": 0}}
    scene.apply_ready(spec=spec)
    scene.apply_ready(spec={**spec, "image": "registry.example/web:2", "config": {"GREETING": "other"}})
    eventually(lambda: len(scene.names("configmap")) == 1, "the ConfigMap of the earlier revision is deleted")
    for stripped in ("/metadata/ownerReferences", "/metadata/labels/coxswain.dev~1webapp"):
        scene.json_patch("service", {"op": "remove", "path": stripped})
        eventually(lambda: _whole(scene), f"{stripped} is restored")
    scene.json_patch("configmap", {"op": "remove", "path": "/metadata/ownerReferences"}, name=_config(scene))
    scene.kubectl("scale", "deployment/web", "--replicas=3")
    eventually(lambda: scene.get("deployment")["spec"]["replicas"] == 1, "it is scaled back")
    scene.apply_ready(spec={name: value for name, value in spec.items() if name not in ("ports", "config")})
    eventually(lambda: not scene.names("service"), "the unwanted Service is deleted")
    scene.kubectl("create", "serviceaccount", "adopted")
    scene.kubectl("annotate", "serviceaccount", "adopted", "coxswain.dev/adopt=adopted")
    scene.apply_ready("adopted")
    wrote = [event for event in mark.events() if event.user == OPERATOR and event.namespace == scene.namespace]
    verbs = {(event.verb, event.resource) for event in wrote if event.code < 300}
    children = ("serviceaccounts", "configmaps", "services", "deployments")
    assert {("patch", kind) for kind in (*children, "webapps")} < verbs
    assert {("delete", "services"), ("delete", "configmaps"), ("create", "events")} < verbs
    assert not [event for event in wrote if event.code == 403], "the policy denies nothing"
    assert "ValidatingAdmissionPolicy" not in scene.operator.logged()


def _whole(scene: Scene) -> bool:
    metadata = scene.get("service")["metadata"]
    return bool(metadata.get("ownerReferences")) and LABEL in metadata.get("labels", {})


def _config(scene: Scene) -> str:
    return str(scene.child("configmap")["metadata"]["name"])


def test_other_writers_may_have_given_a_pod_host_access(scene: Scene) -> None:
    """The operator still writes the other fields of such a Deployment."""
    scene.apply_ready()
    network = json.dumps({"spec": {"template": {"spec": {"hostNetwork": True}}}})
    scene.kubectl("patch", "deployment", "web", "--type=merge", "-p", network)
    scene.apply(spec={**SPEC, "image": "registry.example/web:2"})

    def rolled() -> bool:
        pod = scene.get("deployment")["spec"]["template"]["spec"]
        return pod["containers"][0]["image"] == "registry.example/web:2" and pod["hostNetwork"] is True

    eventually(rolled, "the new image is written, and the other field stays")


@pytest.mark.slow
def test_a_renamed_operator_is_named_in_the_policy(cluster: ControlPlane, tmp_path: Path) -> None:
    """The lines of docs/security.md for a kustomization that moves and renames the operator."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "coxswain").symlink_to(ROOT)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kustomization.yaml").write_text(lines, encoding="utf-8")
    things = list(yaml.safe_load_all(cluster.kubectl("kustomize", str(tmp_path / "mine"))))
    (account,) = (thing["metadata"] for thing in things if thing["kind"] == "ServiceAccount")
    (policy,) = (thing["spec"] for thing in things if thing["kind"] == "ValidatingAdmissionPolicy")
    (condition,) = policy["matchConditions"]
    assert (account["namespace"], account["name"]) == ("platform", "my-coxswain")
    user = "system:serviceaccount:platform:my-coxswain"
    assert condition["expression"] == f'request.userInfo.username + ":" == "{user}:"'
    (binding,) = (thing["spec"] for thing in things if thing["kind"] == "ValidatingAdmissionPolicyBinding")
    (named,) = (thing["metadata"]["name"] for thing in things if thing["kind"] == "ValidatingAdmissionPolicy")
    assert binding["policyName"] == named
