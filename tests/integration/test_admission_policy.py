"""The policy that limits the operator's token (S1): it denies attacks and permits the operator's own work.

All integration and fault tests run with the policy, so all writes of the operator pass it.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from cluster import ControlPlane, KubectlError
from integration.harmful_objects import HARMFUL, LABEL, OUTLIVING, PUBLISHED, REMAINING, Object, child, deployment
from integration.scene import OPERATOR, SPEC, Scene, eventually

ROOT = Path(__file__).parents[2]
POLICY = "ValidatingAdmissionPolicy 'coxswain-operator' with binding 'coxswain-operator' denied request"


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


def test_no_traffic_of_others_is_taken_or_published(scene: Scene, thief: Thief) -> None:
    scene.apply_ready(spec={**SPEC, "paused": False})
    scene.operator.stop()
    for spec in ({"selector": {LABEL: "other"}}, {"externalIPs": ["192.0.2.1"]}):
        patch = json.dumps({"spec": spec})
        assert PUBLISHED in thief.refused("patch", "service", "web", "--type=merge", "-p", patch, "-n", scene.namespace)


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


def test_other_writers_may_have_set_addresses_of_a_service(scene: Scene) -> None:
    """The operator still writes the other fields of such a Service."""
    scene.apply_ready()
    addresses = json.dumps({"spec": {"externalIPs": ["192.0.2.1"]}})
    scene.kubectl("patch", "service", "web", "--type=merge", "-p", addresses)
    scene.apply(spec={**SPEC, "service": {"sessionAffinity": "ClientIP"}})

    def written() -> bool:
        spec = scene.get("service")["spec"]
        return (spec["sessionAffinity"], spec["externalIPs"]) == ("ClientIP", ["192.0.2.1"])

    eventually(written, "the change is written, and the other field stays")


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
