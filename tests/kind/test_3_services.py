"""Services of each type: names resolve, addresses answer, and requests reach every pod."""

import ipaddress
from typing import Any

from integration.scene import eventually
from kind.client import Client
from kind.images import V1
from kind.namespace import Namespace, spec
from kind.timings import Timings

STAND_IN_ADDRESS = "203.0.113.10"
"""The address that the test, in place of a cloud, gives a load balancer: reserved for documentation (RFC 5737)."""


def with_service(**service: Any) -> dict[str, Any]:
    """Return a spec with these fields of the Service."""
    base = spec(V1)
    return {**base, "service": {**base["service"], **service}}


def node_addresses(namespace: Namespace) -> list[str]:
    """Return the IPv4 address of each node."""
    return [
        address["address"]
        for name in namespace.cluster.nodes
        for address in namespace.get("node", name)["status"]["addresses"]
        if address["type"] == "InternalIP" and ipaddress.ip_address(address["address"]).version == 4
    ]


def test_requests_reach_every_pod(namespace: Namespace, client: Client, timings: Timings) -> None:
    namespace.apply_ready({**spec(V1), "replicas": 3})
    pods = set(namespace.pods())
    with client.load(namespace.address()) as load, timings.of("3 replicas: requests of three seconds") as row:
        for _ in range(3):
            load.versions_now()
    row.load = load.report.unharmed()
    shares = {who.split()[1]: count / load.report.requests for who, count in load.report.answered.items()}
    assert shares.keys() == pods
    # New connections are half of the requests and go to each pod with the same probability.
    assert min(shares.values()) > 0.1, shares


def test_a_node_port_answers_at_every_node(namespace: Namespace, client: Client) -> None:
    namespace.apply_ready(with_service(type="NodePort"))
    port = namespace.get("service")["spec"]["ports"][0]["nodePort"]
    addresses = node_addresses(namespace)
    assert len(addresses) == len(namespace.cluster.nodes)
    for address in addresses:
        assert client.get(f"http://{address}:{port}/").startswith("v1 web-")
    assert client.get(namespace.address()).startswith("v1 web-")


def test_a_load_balancer_answers_at_the_address_of_a_stand_in(namespace: Namespace, client: Client) -> None:
    """Without a cloud, the test writes the status of the Service. kube-proxy routes the address as in a cloud."""
    namespace.apply_ready(with_service(type="LoadBalancer"))
    waiting = [child for child in namespace.get("webapp")["status"]["children"] if child["kind"] == "Service"]
    assert "load balancer" in waiting[0]["message"]
    status = f'{{"status": {{"loadBalancer": {{"ingress": [{{"ip": "{STAND_IN_ADDRESS}"}}]}}}}}}'
    namespace.kubectl("patch", "service", "web", "--subresource=status", "--type=merge", f"--patch={status}")
    url = f"http://{STAND_IN_ADDRESS}"
    eventually(lambda: namespace.get("webapp")["status"]["url"] == url, "the WebApp has its URL", pause=0.3)
    assert client.get(url).startswith("v1 web-")


def test_a_headless_service_resolves_to_its_pods(namespace: Namespace, client: Client) -> None:
    namespace.apply_ready({**with_service(headless=True), "replicas": 2})
    pods = sorted(pod["status"]["podIP"] for pod in namespace.pods().values())
    name = f"web.{namespace.name}.svc.cluster.local"
    eventually(lambda: client.resolve(name)[1] == pods, "the name resolves to both pods", timeout=60, pause=1)
    assert client.get(f"http://{name}:8080/").startswith("v1 web-")


def test_an_external_name_is_a_cname(namespace: Namespace, client: Client) -> None:
    namespace.apply_ready(spec(V1))
    target = f"web.{namespace.name}.svc.cluster.local"
    namespace.apply_ready({"image": V1, "service": {"type": "ExternalName", "externalName": target}}, "alias")
    canonical, addresses = client.resolve(f"alias.{namespace.name}.svc.cluster.local")
    assert canonical == target
    assert addresses == [namespace.get("service")["spec"]["clusterIP"]]
    assert client.get(f"http://alias.{namespace.name}.svc.cluster.local/").startswith("v1 web-")
