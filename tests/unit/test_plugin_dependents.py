"""`plan` of children that the operator holds back, because they need a child that is not usable."""

from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, SERVICE, SERVICE_ACCOUNT, WEBAPP
from model_cluster.api_server import Refusal
from unit.plugin_bench import LAST_APPLIED, PluginBench
from unit.test_plugin_plan import manifest


@pytest.fixture
def bench() -> PluginBench:
    found = PluginBench()
    found.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {LAST_APPLIED: manifest()}}})
    found.model.reconcile()
    return found


def refuse(bench: PluginBench, kind: str) -> None:
    """Let a quota refuse all writes of a kind."""

    def refusal(_: str, new: Any, __: Any, ___: str) -> Any:
        return Refusal(403, "Forbidden", "exceeded quota") if (new or {}).get("kind") == kind else None

    bench.model.api.admission.append(refusal)


def planned(bench: PluginBench, **spec: Any) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """Return whether pods restart, and action and message of each child."""
    [found] = bench.json("plan", "-f", "-", stdin=manifest(**spec))["items"]
    return found["restart"], {each["object"]: (each["action"], each["message"]) for each in found["children"]}


def test_a_deployment_waits_for_a_refused_configmap(bench: PluginBench) -> None:
    refuse(bench, "ConfigMap")
    restart, children = planned(bench, image="registry.example/web:2", config={"B": "3"})
    needed = next(name for name, (action, _) in children.items() if name.startswith("ConfigMap/") and action != "None")
    because = f"waits for {needed.replace('/', ' ')}"
    assert children["Deployment/web"] == ("Blocked", because)
    assert (restart["restarts"], restart["because"]) == (False, f"Deployment/web is not written: {because}")
    assert children[needed] == ("Blocked", "the API server would refuse it: exceeded quota")


def test_a_deployment_waits_for_a_serviceaccount_of_somebody_else(bench: PluginBench) -> None:
    bench.model.delete(SERVICE_ACCOUNT.path("shop", "web"))
    bench.model.post(
        SERVICE_ACCOUNT.path("shop"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
    )
    restart, children = planned(bench, image="registry.example/web:2")
    assert children["Deployment/web"] == ("Blocked", "waits for ServiceAccount web")
    assert not restart["restarts"]
    _, new = planned(bench, image="registry.example/web:2", autoscaling={"maxReplicas": 5})
    assert new["HorizontalPodAutoscaler/web"] == ("Create", ""), "the Deployment exists, so it serves"


def test_what_is_missing_holds_back_its_dependents_in_turn(bench: PluginBench) -> None:
    refuse(bench, "ConfigMap")
    bench.model.delete(DEPLOYMENT.path("shop", "web"))
    _, children = planned(bench, config={"B": "3"}, autoscaling={"maxReplicas": 5})
    assert children["Deployment/web"][0] == "Blocked"
    assert children["HorizontalPodAutoscaler/web"] == ("Blocked", "waits for Deployment web")


def test_a_refused_change_of_a_usable_child_holds_back_nothing(bench: PluginBench) -> None:
    bench.model.patch(SERVICE_ACCOUNT.path("shop", "web"), {"automountServiceAccountToken": True})
    refuse(bench, "ServiceAccount")
    restart, children = planned(bench, image="registry.example/web:2")
    assert children["ServiceAccount/web"][0] == "Blocked"
    assert children["Deployment/web"][0] == "Change"
    assert restart["restarts"]


def test_running_pods_go_without_their_networkpolicy(bench: PluginBench) -> None:
    refuse(bench, "NetworkPolicy")
    spec: dict[str, Any] = {"image": "registry.example/web:2", "network": {"defaultDeny": True}}
    restart, children = planned(bench, **spec)
    assert children["Deployment/web"] == ("Blocked", "waits for NetworkPolicy web")
    bench.model.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": {"replicas": 1}})
    restart, children = planned(bench, **spec)
    assert children["Deployment/web"][0] == "Change"
    assert restart["restarts"]


def test_a_paused_webapp_waits_for_its_pause_alone(bench: PluginBench) -> None:
    bench.model.delete(SERVICE_ACCOUNT.path("shop", "web"))
    bench.model.post(
        SERVICE_ACCOUNT.path("shop"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
    )
    _, children = planned(bench, image="registry.example/web:2", paused=True)
    assert children["Deployment/web"][0] == "Paused"


def test_a_child_that_is_held_back_and_would_be_refused_waits(bench: PluginBench) -> None:
    refuse(bench, "ConfigMap")
    refuse(bench, "Deployment")
    _, children = planned(bench, image="registry.example/web:2", config={"B": "3"})
    assert children["Deployment/web"][1].startswith("waits for ConfigMap ")


def test_a_deployment_that_cannot_be_read_may_restart(bench: PluginBench) -> None:
    bench.model.delete(SERVICE_ACCOUNT.path("shop", "web"))
    bench.model.post(
        SERVICE_ACCOUNT.path("shop"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
    )
    bench.kubectl.forbidden |= {("list", "deployments"), ("get", "deployments")}
    restart, children = planned(bench, image="registry.example/web:2")
    assert children["Deployment/web"][0] == "Unknown"
    assert "restarts" not in restart
    assert restart["because"] == "the Deployment cannot be read"


def test_an_autoscaler_beside_one_of_the_user_is_not_created(bench: PluginBench) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    head = {"apiVersion": HORIZONTAL_POD_AUTOSCALER.api_version, "kind": HORIZONTAL_POD_AUTOSCALER.kind}
    made = {**head, "metadata": {"name": "theirs"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}
    bench.model.post(HORIZONTAL_POD_AUTOSCALER.path("shop"), made)
    _, children = planned(bench, autoscaling={"maxReplicas": 5})
    action, message = children["HorizontalPodAutoscaler/web"]
    assert action == "Blocked"
    assert message.startswith("HorizontalPodAutoscaler theirs targets Deployment web as well")


def test_an_adopted_service_serves_although_a_field_of_it_is_immutable() -> None:
    """As in a reconcile: after the adoption it is a child, and an Ingress leads to it."""
    bench = PluginBench(service={"type": "ClusterIP"})
    bench.model.delete(SERVICE.path("shop", "web"))
    metadata = {"name": "web", "annotations": {"coxswain.dev/adopt": "web"}}
    made = {"clusterIP": "None", "selector": {"coxswain.dev/webapp": "web"}, "ports": [{"port": 8080}]}
    bench.model.post(SERVICE.path("shop"), {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": made})
    available = {"type": "Available", "status": "True"}
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
    rolled_out = {**counts, "observedGeneration": 99, "conditions": [available]}
    bench.model.patch(DEPLOYMENT.path("shop", "web", "status"), {"status": rolled_out})
    ingress = {"hosts": [{"host": "web.example"}]}
    _, children = planned(bench, service={"type": "ClusterIP"}, ingress=ingress)
    assert children["Service/web"][0] == "Adopt"
    assert children["Ingress/web"] == ("Create", "")
    refuse(bench, "Service")
    _, children = planned(bench, service={"type": "ClusterIP"}, ingress=ingress)
    assert children["Ingress/web"] == ("Blocked", "waits for Service web")
