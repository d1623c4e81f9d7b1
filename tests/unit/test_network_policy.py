"""The NetworkPolicy: traffic allowed by each part of spec.network, and traffic that stays denied."""

from typing import Any

import pytest

from coxswain.webapp.children.network_policy import DNS, network_policy
from unit.bench import Bench
from unit.objects import webapp
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
