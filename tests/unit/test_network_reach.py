"""Who may reach the pods of a WebApp under `spec.network`, judged by a tool that is not ours.

No network plugin of the test clusters enforces NetworkPolicies.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from coxswain.webapp.children.network_policy import network_policy
from network.reach import ALL, NONE, PROGRAM, Ports, Reach, reaches
from rendered import desired
from unit.objects import webapp

LABEL = "kubernetes.io/metadata.name"
HTTP = [{"name": "http", "containerPort": 8080}]
DNS: Ports = frozenset({"TCP 53", "UDP 53"})
WEB, SECOND = "shop/web", "shop/web-2"
PODS = {WEB: "web", SECOND: "web", "shop/cart": "cart", "shop/chart": None, "data/db": "db", "data/cart": "cart"}
"""Pods, and the WebApp of each. The other cart is of a namesake, the chart's pod is of no WebApp."""
NEAR, EXCEPTED, FAR = "10.2.0.1", "10.1.0.1", "192.0.2.1"
NEAR6, EXCEPTED6 = "2001:db8:2::1", "2001:db8:1::1"
ADDRESSES = (NEAR, EXCEPTED, FAR, NEAR6, EXCEPTED6)
OTHERS = (*(pod for pod in PODS if pod not in (WEB, SECOND)), *ADDRESSES)

Expected = dict[str, Ports]


@dataclass(frozen=True)
class Case:
    """`spec.network`, and the peers of the WebApp that may connect to it or be connected to."""

    network: dict[str, Any]
    into: Expected
    out: Expected
    within: Ports = ALL
    """From one pod of the WebApp to another."""


def all_of(ports: Ports = ALL, *but: str, **more: Ports) -> dict[str, Ports]:
    return {peer: ports for peer in OTHERS if peer not in but} | more


def some(*peers: str, ports: Ports = ALL) -> dict[str, Ports]:
    return dict.fromkeys(peers, ports)


def to(*ports: str) -> Ports:
    return frozenset(ports)


def ports(*numbers: int | str, protocol: str = "TCP") -> list[dict[str, Any]]:
    return [{"port": number, "protocol": protocol} for number in numbers]


CIDR = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}
CIDR6 = {"cidr": "2001:db8::/32", "except": ["2001:db8:1::/48"]}
EVERYONE = {"sameNamespace": True, "namespaces": ["data"], "cidrs": [{"cidr": "0.0.0.0/0"}, {"cidr": "::/0"}]}
"""All peers by name. The CRD refuses a rule without peers and ports (tests/integration/test_schema.py)."""

CASES = {
    "nothing but DNS": Case({"defaultDeny": True}, {}, all_of(DNS), NONE),
    "nobody may connect": Case({"ingress": []}, {}, all_of(), NONE),
    "it may connect to DNS": Case({"egress": []}, all_of(), all_of(DNS), DNS),
    "everyone": Case({"ingress": [{"from": EVERYONE}]}, all_of(), all_of()),
    "defaultDeny closes the other direction": Case(
        {"defaultDeny": True, "ingress": [{"from": EVERYONE}]}, all_of(), all_of(DNS), DNS
    ),
    "the namespace": Case({"ingress": [{"from": {"sameNamespace": True}}]}, some("shop/cart", "shop/chart"), all_of()),
    "another namespace, at a named port": Case(
        {"ingress": [{"from": {"namespaces": ["data"]}, "ports": ports("http")}]},
        some("data/db", "data/cart", ports=to("TCP 8080")),
        all_of(),
        NONE,
    ),
    "a WebApp of the namespace": Case(
        {"ingress": [{"from": {"webapps": [{"name": "cart"}]}}]}, some("shop/cart"), all_of(), NONE
    ),
    "a WebApp of another namespace": Case(
        {"ingress": [{"from": {"webapps": [{"name": "cart", "namespace": "data"}]}}]}, some("data/cart"), all_of(), NONE
    ),
    "addresses": Case({"ingress": [{"from": {"cidrs": [CIDR]}}]}, some(NEAR), all_of(), NONE),
    "the peers of one rule are alternatives": Case(
        {
            "ingress": [
                {"from": {"webapps": [{"name": "db", "namespace": "data"}], "cidrs": [CIDR], "sameNamespace": True}}
            ]
        },
        some("data/db", "shop/cart", "shop/chart", NEAR),
        all_of(),
    ),
    "ports without peers": Case(
        {"ingress": [{"ports": [*ports(8080, 9090), *ports(9090, protocol="UDP")]}]},
        all_of(to("TCP 8080", "TCP 9090", "UDP 9090")),
        all_of(),
        to("TCP 8080", "TCP 9090", "UDP 9090"),
    ),
    "rules add up": Case(
        {
            "ingress": [
                {"from": {"sameNamespace": True}, "ports": ports("http")},
                {"from": {"webapps": [{"name": "cart"}]}, "ports": ports(7, protocol="SCTP")},
            ]
        },
        {"shop/cart": to("TCP 8080", "SCTP 7"), "shop/chart": to("TCP 8080")},
        all_of(),
        to("TCP 8080"),
    ),
    "to a WebApp": Case(
        {"egress": [{"to": {"webapps": [{"name": "db", "namespace": "data"}]}, "ports": ports(5432)}]},
        all_of(),
        {**all_of(DNS), "data/db": DNS | {"TCP 5432"}},
        DNS,
    ),
    "to namespaces": Case(
        {"egress": [{"to": {"namespaces": ["data"], "sameNamespace": True}}]},
        all_of(),
        {**some(*(pod for pod in OTHERS if "/" in pod)), **some(*ADDRESSES, ports=DNS)},
    ),
    "to addresses": Case(
        {"egress": [{"to": {"cidrs": [CIDR, CIDR6]}}]}, all_of(), {**all_of(DNS), **some(NEAR, NEAR6)}, DNS
    ),
    "everywhere": Case({"egress": [{"to": EVERYONE}]}, all_of(), all_of()),
}


def cluster() -> list[dict[str, Any]]:
    """Return the namespaces and pods, each pod with the labels and ports that the operator gives it."""
    names = {pod.split("/")[0] for pod in PODS}
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: name}}} for name in names
    ]
    return [*namespaces, *(pod_of(place, owner) for place, owner in PODS.items())]


def pod_of(place: str, owner: str | None) -> dict[str, Any]:
    namespace, name = place.split("/")
    made = desired(webapp(owner or "chart", ports=HTTP))[-1]["spec"]["template"]
    labels = made["metadata"]["labels"] if owner else {"app.kubernetes.io/name": "web"}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reach]:
    if not PROGRAM.exists():
        pytest.skip("network-config-analyzer is not installed: `make network` and `make test` do it")
    policies = {name: network_policy(webapp(ports=HTTP, network=case.network)) for name, case in CASES.items()}
    return reaches(cluster(), policies, tmp_path_factory.mktemp("nca"))


@pytest.mark.parametrize("name", CASES)
def test_who_may_reach_whom(judged: dict[str, Reach], name: str) -> None:
    case, found = CASES[name], judged[name]
    for pod in (WEB, SECOND):
        assert {peer: found.ports(peer, pod) for peer in OTHERS} == dict.fromkeys(OTHERS, NONE) | case.into
        assert {peer: found.ports(pod, peer) for peer in OTHERS} == dict.fromkeys(OTHERS, NONE) | case.out
    assert found.ports(WEB, SECOND) == found.ports(SECOND, WEB) == case.within


def test_pods_of_others_are_not_restricted(judged: dict[str, Reach]) -> None:
    for found in judged.values():
        pairs = [(source, target) for source in OTHERS for target in OTHERS if "/" in source + target]
        assert {found.ports(*pair) for pair in pairs if pair[0] != pair[1]} == {ALL}
