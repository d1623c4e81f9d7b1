"""Thirty WebApps at once, and changes of children by people with kubectl."""

import pytest

from integration.scene import CHILDREN, eventually, manifest
from kind.client import Client
from kind.images import V1
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.timings import Timings

MANY = 30


@pytest.mark.usefixtures("alone")
def test_thirty_at_once(namespace: Namespace, operator: Installation, timings: Timings) -> None:
    names = [f"web-{number}" for number in range(MANY)]
    before = operator.writes()
    with timings.of(f"{MANY} WebApps in one `kubectl apply`: to all Ready"):
        namespace.create(*(manifest(name, spec()) for name in names))
        namespace.wait("condition=Ready", *(f"webapp/{name}" for name in names), seconds=300)
    writes = operator.writes() - before
    children = ("serviceaccounts", "services", "deployments")
    assert {kind: writes[kind] for kind in children} == dict.fromkeys(children, MANY)
    # Not Ready, Ready, and intermediate counts on a slow machine.
    assert writes["webapps/status"] <= 3 * MANY


def drift_told(namespace: Namespace, *words: str) -> None:
    """Wait for an Event about drift that contains all these words."""

    def check() -> bool:
        notes = [event["note"] for event in namespace.events() if event["reason"] == "DriftCorrected"]
        return any(all(word in note for word in words) for note in notes)

    eventually(check, f"an Event contains {', '.join(words)}", pause=0.3)


def image(namespace: Namespace) -> str:
    return str(namespace.get("deployment", "web")["spec"]["template"]["spec"]["containers"][0]["image"])


def test_a_change_by_kubectl_edit_is_corrected(namespace: Namespace, timings: Timings) -> None:
    namespace.apply_ready(spec())
    # Runs in the node, where an editor can be set: the suite's kubectl has a clean environment.
    control_plane = namespace.cluster.nodes[0]
    editor = "KUBE_EDITOR=sed -i s,workload:v1,workload:v2,"
    kubectl = ("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "-n", namespace.name)
    with timings.of("`kubectl edit` of the Deployment's image: to the WebApp Ready again"):
        namespace.cluster.on_node(control_plane, "env", editor, *kubectl, "edit", "deployment", "web")
        eventually(lambda: image(namespace) == V1, "the image is corrected", pause=0.2)
        namespace.ready()
    drift_told(namespace, "image", "workload:v2", "workload:v1", "kubectl-edit")


def test_the_webapp_is_scaled_and_not_its_deployment(namespace: Namespace) -> None:
    namespace.apply_ready(spec())
    namespace.kubectl("scale", "deployment", "web", "--replicas=3")
    drift_told(namespace, "spec.replicas 3 to 1", f"kubectl edit webapp web -n {namespace.name}")
    namespace.kubectl("scale", "webapp", "web", "--replicas=2")
    namespace.ready()
    namespace.wait("jsonpath={.status.readyReplicas}=2", "webapp/web")
    assert namespace.get("deployment", "web")["spec"]["replicas"] == 2


def test_a_rollout_restart_stays(namespace: Namespace, client: Client, timings: Timings) -> None:
    namespace.apply_ready(spec(replicas=2))
    old = namespace.pods()
    with client.load(namespace.address()) as load:
        with timings.of("`kubectl rollout restart` of 2: to all old pods gone") as row:
            namespace.kubectl("rollout", "restart", "deployment", "web")
            namespace.gone(*old)
        namespace.ready()
    row.load = load.report.unharmed()
    template = namespace.get("deployment", "web")["spec"]["template"]["metadata"]
    assert "kubectl.kubernetes.io/restartedAt" in template["annotations"]
    assert not [event for event in namespace.events() if event["reason"] == "DriftCorrected"]


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_deleted_child_is_recreated(namespace: Namespace, client: Client, kind: str) -> None:
    namespace.apply_ready(spec(config={"GREETING": "hello"}))
    old = namespace.list(kind, "coxswain.dev/webapp=web")[0]["metadata"]
    namespace.kubectl("delete", kind, old["name"])

    def anew() -> bool:
        found = namespace.list(kind, "coxswain.dev/webapp=web")
        return len(found) == 1 and found[0]["metadata"]["uid"] != old["uid"]

    eventually(anew, f"a new {kind}", pause=0.3)
    namespace.ready()
    assert client.get(namespace.address()).startswith("v1 ")
