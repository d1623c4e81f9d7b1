"""The NetworkPolicy of the pods: the traffic that `spec.network` allows. Only a network plugin can enforce it."""

from collections.abc import Mapping, Sequence

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.workload import ChildType, Desired, Removal, World
from coxswain.webapp.identity import metadata, selector
from coxswain.webapp.kinds import NETWORK_POLICY
from coxswain.webapp.spec import WebApp
from coxswain.webapp.spec.network import NetworkPort, Peers

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label that the API server sets on each namespace."""

DNS = {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}
"""Egress rule for DNS. It names no peer: caches on the nodes answer too, under an address that is no pod's."""


def network_policy(webapp: WebApp) -> Manifest | None:
    """Return the NetworkPolicy, or None if `spec.network` restricts nothing."""
    network = webapp.spec.get("network", {})
    ingress, egress = network.get("ingress"), network.get("egress")
    if network.get("defaultDeny"):
        ingress, egress = ingress or [], egress or []
    rules = {}
    if ingress is not None:
        rules["ingress"] = [_rule("from", rule.get("from"), rule.get("ports")) for rule in ingress]
    if egress is not None:
        rules["egress"] = [DNS, *(_rule("to", rule.get("to"), rule.get("ports")) for rule in egress)]
    if not rules:
        return None
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(webapp),
        "spec": {
            "podSelector": {"matchLabels": selector(webapp.name)},
            "policyTypes": [direction.capitalize() for direction in rules],
            # The API server does not store an empty list. The policy type alone denies everything.
            **{direction: allowed for direction, allowed in rules.items() if allowed},
        },
    }


def _rule(side: str, peers: Peers | None, ports: Sequence[NetworkPort] | None) -> Manifest:
    """Return a rule. Without peers it allows all of them, without ports all ports."""
    rule: Manifest = {}
    if peers is not None:
        rule[side] = _peers(peers)
    if ports:
        rule["ports"] = [{"protocol": port.get("protocol", "TCP"), "port": port["port"]} for port in ports]
    return rule


def _peers(peers: Peers) -> list[Manifest]:
    found: list[Manifest] = [{"podSelector": {}}] if peers.get("sameNamespace") else []
    if namespaces := list(peers.get("namespaces", [])):
        found.append({"namespaceSelector": _named(namespaces)})
    for webapp in peers.get("webapps", []):
        elsewhere = {"namespaceSelector": _named([webapp["namespace"]])} if "namespace" in webapp else {}
        found.append({**elsewhere, "podSelector": {"matchLabels": selector(webapp["name"])}})
    for block in peers.get("cidrs", []):
        excluded = list(block.get("except", []))
        found.append({"ipBlock": {"cidr": block["cidr"], **({"except": excluded} if excluded else {})}})
    return found


def _named(namespaces: list[str]) -> Mapping[str, object]:
    return {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "In", "values": namespaces}]}


def _desired(webapp: WebApp, _: World) -> Desired | None:
    manifest = network_policy(webapp)
    return None if manifest is None else Desired(manifest)


TYPE = ChildType(NETWORK_POLICY, _desired, identity=("spec.podSelector",), removal=Removal.AT_ONCE)
