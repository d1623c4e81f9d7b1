"""Requests from outside through Contour and Envoy, by an HTTPRoute and by an Ingress; also during changes.

Envoy runs on the control plane's node, which is not drained.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from cluster.contour import CLASS, GATEWAY
from cluster.kind.kind_cluster import KindCluster
from kind import gateway
from kind.client import Client, Load, Report
from kind.images import V1, V2
from kind.installation import Installation
from kind.namespace import Namespace, spec
from kind.nodes import drain, nodes_of
from kind.timings import Timings

FEWEST_REQUESTS = 1000


@pytest.fixture(scope="module")
def envoy(
    cluster: KindCluster, installed: Installation, timings: Timings, tell: Callable[[str], None]
) -> Iterator[str]:
    """Envoy's HOST:PORT. The Gateway API comes after the operator, and goes before the other tests."""
    installed.ready()
    with timings.of("Contour and Envoy: from their programs to the Gateway Programmed"):
        address = gateway.install(cluster, tell)
    yield address
    with timings.of("Contour, Envoy and the CRDs of the Gateway API removed"):
        gateway.remove(cluster)


@pytest.fixture
def outside(client: Client, envoy: str) -> Client:
    """Clients that connect to Envoy."""
    return replace(client, connect_to=envoy)


def urls(namespace: Namespace) -> list[str]:
    """Return the URLs by the route and by the Ingress."""
    return [f"http://{way}-{namespace.name}.{gateway.DOMAIN}" for way in ("route", "ingress")]


def exposed(namespace: Namespace, image: str = V1, **fields: Any) -> dict[str, Any]:
    """Return a spec with a route and an Ingress."""
    by_route, by_ingress = (url.removeprefix("http://") for url in urls(namespace))
    routes = [{"hostnames": [by_route], "parentRefs": [GATEWAY]}]
    return spec(image, routes=routes, ingress={"className": CLASS, "hosts": [{"host": by_ingress}]}, **fields)


def unharmed(load: Load, pods: set[str]) -> Report:
    """Return the report of a load of which no request failed, and that all of these pods have answered."""
    report = load.report.unharmed()
    assert report.requests > FEWEST_REQUESTS
    assert report.pods == pods
    return report


def test_requests_arrive_by_the_route_and_by_the_ingress(
    namespace: Namespace, outside: Client, timings: Timings
) -> None:
    with timings.of("a WebApp with a route and an Ingress: `kubectl apply` to Ready"):
        namespace.apply_ready(exposed(namespace))
    status = namespace.get("webapp")["status"]
    assert status["url"] == urls(namespace)[0]
    assert status["urls"][:2] == urls(namespace)
    for url in urls(namespace):
        assert outside.get(url).startswith("v1 web-")


def test_a_rollout_behind_a_gateway_fails_no_request(namespace: Namespace, outside: Client, timings: Timings) -> None:
    namespace.apply_ready(exposed(namespace, replicas=2))
    old = set(namespace.pods())
    by_route, by_ingress = (outside.load(url) for url in urls(namespace))
    what = "rolling update of 2 behind Envoy: new image to Ready"
    with by_route, by_ingress:
        with timings.of(f"{what}; by HTTPRoute") as row_of_route, timings.of(f"{what}; by Ingress") as row_of_ingress:
            namespace.apply_ready(exposed(namespace, V2, replicas=2))
        namespace.gone(*old)
        assert by_route.versions_now() == by_ingress.versions_now() == {"v2"}
        new = set(namespace.pods())
    assert not old & new
    row_of_route.load, row_of_ingress.load = unharmed(by_route, old | new), unharmed(by_ingress, old | new)


def test_drained_nodes_behind_a_gateway_fail_no_request(
    namespace: Namespace, outside: Client, operator: Installation, timings: Timings
) -> None:
    """Drain each worker in turn. One pod moves, then both."""
    workers = namespace.cluster.nodes[1:]
    namespace.apply_ready(exposed(namespace, replicas=2))
    assert nodes_of(namespace) == set(workers)
    assert namespace.get("poddisruptionbudget")["spec"]["maxUnavailable"] == 1
    pods = set(namespace.pods())
    by_route, by_ingress = (outside.load(url) for url in urls(namespace))
    what = "drain of both workers behind Envoy"
    row_of_route, row_of_ingress = timings.of(f"{what}; by HTTPRoute"), timings.of(f"{what}; by Ingress")
    with by_route, by_ingress, row_of_route as first, row_of_ingress as second:
        for worker in workers:
            drain(namespace, worker)
            namespace.ready()
            assert worker not in nodes_of(namespace)
            pods |= set(namespace.pods())
    assert len(pods) == 5
    first.load, second.load = unharmed(by_route, pods), unharmed(by_ingress, pods)
    operator.ready()
