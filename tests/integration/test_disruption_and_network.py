"""PodDisruptionBudget and NetworkPolicy on the real API server, with the real disruption controller."""

from typing import Any

import pytest

from integration.scene import SPEC, Scene, eventually

SEVERAL = {**SPEC, "replicas": 2}
NETWORK: dict[str, Any] = {
    "ingress": [{"from": {"sameNamespace": True, "cidrs": [{"cidr": "10.0.0.0/8"}]}, "ports": [{"port": "http"}]}],
    "egress": [{"to": {"webapps": [{"name": "db"}], "namespaces": ["mail"]}}],
}


def allowed(scene: Scene) -> int:
    status = scene.get("poddisruptionbudget").get("status", {})
    return int(status.get("disruptionsAllowed", 0))


def message(scene: Scene, kind: str) -> str:
    children = scene.get("webapp")["status"]["children"]
    return next((str(child.get("message", "")) for child in children if child["kind"] == kind), "")


def test_two_replicas_cost_one_more_create_and_one_replica_none(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready(spec=SEVERAL)
    requests = scene.settled(mark)
    assert requests["patch poddisruptionbudgets"] == 1
    mark = scene.cluster.audit()
    scene.apply_ready()
    eventually(lambda: not scene.names("poddisruptionbudget"), "a single pod needs no budget")
    assert scene.settled(mark)["delete poddisruptionbudgets"] == 1
    mark = scene.cluster.audit()
    scene.apply_ready("other")
    requests = scene.settled(mark)
    assert not [request for request in requests if "poddisruption" in request or "networkpol" in request]


def test_a_drain_may_evict_one_pod(scene: Scene) -> None:
    scene.apply_ready(spec=SEVERAL)
    eventually(lambda: allowed(scene) == 1, "one disruption is allowed")
    assert message(scene, "PodDisruptionBudget") == ""


def test_a_budget_that_blocks_drains_is_reported_and_the_webapp_is_ready(scene: Scene) -> None:
    scene.apply_ready(spec={**SEVERAL, "disruption": {"minAvailable": 2}})
    eventually(lambda: "node drains" in message(scene, "PodDisruptionBudget"), "the status reports it")
    scene.ready()
    scene.apply_ready(spec={**SEVERAL, "disruption": {"minAvailable": 1}})
    eventually(lambda: allowed(scene) == 1, "one disruption is allowed")
    eventually(lambda: message(scene, "PodDisruptionBudget") == "", "the status no longer reports it")


def test_the_budget_of_another_is_the_only_one(scene: Scene) -> None:
    """The eviction API answers 500 for a pod with two budgets."""
    selector = {"matchLabels": {"app.kubernetes.io/name": "web"}}
    theirs = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "theirs"},
        "spec": {"selector": selector, "maxUnavailable": 1},
    }
    scene.apply_ready(spec=SEVERAL)
    scene.create(theirs)
    eventually(lambda: not scene.names("poddisruptionbudget"), "ours goes")
    scene.kubectl("delete", "pdb", "theirs")
    eventually(lambda: scene.names("poddisruptionbudget") == ["web"], "ours is created again")
    scene.create(theirs)
    scene.apply(spec={**SEVERAL, "disruption": {"enabled": True}})
    eventually(lambda: "PodDisruptionBudget theirs" in message(scene, "PodDisruptionBudget"), "the status reports it")
    scene.ready()


@pytest.mark.parametrize("first", ["minAvailable", "maxUnavailable"])
def test_one_limit_replaces_the_other_even_of_another_manager(scene: Scene, first: str) -> None:
    second = {"minAvailable": "maxUnavailable", "maxUnavailable": "minAvailable"}[first]
    scene.apply_ready(spec={**SEVERAL, "disruption": {first: 1}})
    scene.apply_ready(spec={**SEVERAL, "disruption": {second: "50%"}})
    spec = scene.get("poddisruptionbudget")["spec"]
    assert (spec.get(first), spec[second]) == (None, "50%")
    scene.patch("poddisruptionbudget", {"spec": {second: None, first: 0}})
    eventually(lambda: scene.get("poddisruptionbudget")["spec"].get(second) == "50%", "it is corrected")
    assert first not in scene.get("poddisruptionbudget")["spec"]


def test_a_network_comes_changes_and_goes(scene: Scene) -> None:
    scene.apply_ready(spec={**SPEC, "network": NETWORK})
    spec = scene.get("networkpolicy")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert len(spec["egress"]) == 2, "DNS and the rule"
    scene.apply_ready(spec={**SPEC, "network": {"defaultDeny": True}})
    spec = scene.get("networkpolicy")["spec"]
    assert "ingress" not in spec
    assert len(spec["egress"]) == 1
    scene.apply_ready()
    eventually(lambda: not scene.names("networkpolicy"), "it is removed")


@pytest.mark.parametrize(
    "change",
    [{"ingress": None}, {"policyTypes": ["Egress"]}, {"podSelector": {}}],
    ids=lambda change: next(iter(change)),
)
def test_a_network_that_someone_opens_is_closed_again(scene: Scene, change: dict[str, Any]) -> None:
    scene.apply_ready(spec={**SPEC, "network": NETWORK})
    before = scene.get("networkpolicy")["spec"]
    scene.patch("networkpolicy", {"spec": change})
    eventually(lambda: scene.get("networkpolicy")["spec"] == before, "it is corrected")


def test_a_new_deployment_waits_for_its_network(scene: Scene) -> None:
    theirs = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "web"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
    }
    scene.create(theirs)
    scene.apply(spec={**SPEC, "network": NETWORK})
    scene.not_ready("NameTaken")
    assert scene.find("deployment") is None
    scene.kubectl("annotate", "networkpolicy", "web", "coxswain.dev/adopt=web")
    # An object without our label is read once a minute, and after each change of the WebApp.
    scene.apply(spec={**SPEC, "network": {**NETWORK, "defaultDeny": True}})
    scene.ready()
    assert scene.get("networkpolicy")["spec"]["podSelector"] == {"matchLabels": {"coxswain.dev/webapp": "web"}}


def test_a_foreign_budget_or_policy_with_the_name_of_a_webapp_is_ignored(scene: Scene) -> None:
    scene.kubectl("create", "pdb", "web", "--selector=a=b", "--min-available=1")
    scene.apply_ready()
    assert scene.get("poddisruptionbudget")["spec"]["selector"] == {"matchLabels": {"a": "b"}}
