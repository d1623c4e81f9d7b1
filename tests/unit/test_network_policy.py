"""The NetworkPolicy: traffic allowed by each part of spec.network, and traffic that stays denied."""

from typing import Any

import pytest

from coxswain.webapp.children.network_policy import DNS, network_policy
from coxswain.webapp.kinds import NETWORK_POLICY
from unit.bench import Bench
from unit.objects import webapp
from unit.release_bench import ReleaseBench
from unit.server import refusal


def spec(**network: Any) -> dict[str, Any]:
    manifest = network_policy(webapp(network=network))
    assert manifest is not None
    found: dict[str, Any] = manifest["spec"]
    assert found.pop("podSelector") == {"matchLabels": {"coxswain.dev/webapp": "web"}}
    return found


@pytest.mark.parametrize("given", [{}, {"network": {}}, {"network": {"defaultDeny": False}}])
def test_without_a_restriction_there_is_none(given: dict[str, Any]) -> None:
    assert network_policy(webapp(**given)) is None


@pytest.mark.parametrize(
    ("network", "policy"),
    [
        ({"ingress": []}, {"policyTypes": ["Ingress"]}),
        ({"egress": []}, {"policyTypes": ["Egress"], "egress": [DNS]}),
        ({"defaultDeny": True}, {"policyTypes": ["Ingress", "Egress"], "egress": [DNS]}),
        (
            {"defaultDeny": True, "ingress": [{"ports": [{"port": 80}]}]},
            {
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"ports": [{"protocol": "TCP", "port": 80}]}],
                "egress": [DNS],
            },
        ),
    ],
)
def test_a_direction_that_is_named_is_closed_but_for_dns(network: dict[str, Any], policy: dict[str, Any]) -> None:
    assert spec(**network) == policy


def peers(**given: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = spec(egress=[{"to": given}])["egress"][1]["to"]
    return found


def test_peers() -> None:
    assert peers(sameNamespace=True) == [{"podSelector": {}}]
    (namespaces,) = peers(namespaces=["a", "b"])
    assert namespaces["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]
    assert "podSelector" not in namespaces, "all pods of these namespaces match"
    (neighbour,) = peers(webapps=[{"name": "db"}])
    assert neighbour == {"podSelector": {"matchLabels": {"coxswain.dev/webapp": "db"}}}
    (far,) = peers(webapps=[{"name": "db", "namespace": "data"}])
    assert far.keys() == {"podSelector", "namespaceSelector"}, "both selectors must match, as parts of one peer"
    assert peers(cidrs=[{"cidr": "10.0.0.0/8", "except": []}]) == [{"ipBlock": {"cidr": "10.0.0.0/8"}}]
    assert len(peers(sameNamespace=False, namespaces=["a"], webapps=[], cidrs=[])) == 1


def test_a_new_deployment_waits_for_it() -> None:
    bench = Bench()
    bench.webapp(network={"ingress": []})
    bench.writer.fail("create NetworkPolicy", refusal(403))
    bench.run()
    assert "create Deployment" not in bench.writer.sent
    bench.writer.answers.clear()
    bench.run()
    assert "create Deployment" in bench.writer.sent


def restricted_beside_another(bench: ReleaseBench, **spec: Any) -> None:
    """Restrict the network in a change of the spec, while a NetworkPolicy of another owner has the name."""
    theirs = {"podSelector": {}, "policyTypes": ["Ingress"]}
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "web"},
        "spec": theirs,
    }
    bench.post(NETWORK_POLICY.path("shop"), policy)
    bench.change(network={"defaultDeny": True}, **spec)
    for _ in range(3):
        bench.reconcile_once()
        bench.pass_time(30)


def test_running_pods_do_not_wait_for_a_policy_that_cannot_be_created() -> None:
    """They run without it already, and a change may be urgent."""
    bench = ReleaseBench(image="registry.example/web:1")
    bench.settle()
    bench.roll_out()
    restricted_beside_another(bench, image="registry.example/web:2")
    assert bench.running == "registry.example/web:2"
    assert (bench.condition("Stalled") or ())[:2] == ("True", "NameTaken")


def test_a_deployment_without_pods_waits_for_the_policy() -> None:
    bench = ReleaseBench(replicas=0)
    bench.settle()
    bench.roll_out()
    restricted_beside_another(bench, replicas=1)
    assert bench.deployment["spec"]["replicas"] == 0
    (held,) = [child for child in bench.status["children"] if child["kind"] == "Deployment"]
    assert held["message"] == "waits for NetworkPolicy web"


@pytest.mark.parametrize("network", [{"ingress": []}, {"defaultDeny": True}])
def test_a_rule_of_another_manager_does_not_open_a_denied_direction(network: dict[str, Any]) -> None:
    """The operator owns no rule of that direction, only its policy type."""
    bench = ReleaseBench(network=network)
    bench.settle()
    bench.roll_out()
    before = bench.live("NetworkPolicy")[0]["spec"]
    assert "ingress" not in before
    bench.patch(NETWORK_POLICY.path("shop", "web"), {"spec": {"ingress": [{}]}})
    assert bench.settle() > 0
    assert bench.live("NetworkPolicy")[0]["spec"] == before
    assert [each["field"] for each in bench.status["drift"]] == ["spec.ingress"]


def test_an_adopted_policy_loses_the_rules_of_a_denied_direction() -> None:
    bench = ReleaseBench(network={"ingress": []}, paused=True)
    metadata = {"name": "web", "namespace": "shop", "annotations": {"coxswain.dev/adopt": "web"}}
    open_to_all = {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"], "ingress": [{}]}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": open_to_all}
    bench.post(NETWORK_POLICY.path("shop"), policy)
    bench.change(paused=False)
    bench.settle()
    spec = bench.live("NetworkPolicy")[0]["spec"]
    assert (spec["policyTypes"], spec.get("ingress")) == (["Ingress"], None)
