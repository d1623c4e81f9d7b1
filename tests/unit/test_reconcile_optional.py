"""The reconcile with an optional kind that is not served or cannot be listed, and with several children of a kind."""

from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.webapp.kinds import HTTP_ROUTE, SERVICE
from coxswain.webapp.workload import WORKLOAD
from unit.bench import WEB, Bench

ROUTES: list[dict[str, Any]] = [
    {"parentRefs": [{"name": "public"}]},
    {"name": "api", "parentRefs": [{"name": "public"}]},
]


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a WebApp of two HTTPRoutes, while the cluster does not serve HTTPRoutes."""
    bench = Bench()
    bench.coverage.not_available = {HTTP_ROUTE: None}
    bench.webapp(routes=ROUTES)
    bench.run()
    bench.roll_out()
    return bench


def test_everything_else_is_written_and_the_status_says_what_to_do(bench: Bench) -> None:
    bench.run()
    assert [str(child.kind) for child in bench.children()] == [
        "ConfigMap",
        "ControllerRevision",
        "Deployment",
        "Service",
        "ServiceAccount",
    ]
    assert bench.conditions()["Ready"] == bench.conditions()["Progressing"] == ("False", "APIMissing")
    assert bench.conditions()["Stalled"] == ("True", "APIMissing")
    assert bench.conditions()["Available"][0] == "True"
    assert bench.message_of("Ready") == (
        "HTTPRoute web: the cluster does not serve gateway.networking.k8s.io/v1. The operator creates it as soon as "
        "the cluster does. Install the Gateway API CRDs, or remove spec.routes: kubectl edit webapp web -n shop"
    )
    assert ("APIMissing", "Warning") in [(told.reason, told.type) for told in bench.events.told]
    bench.run()
    assert bench.writer.sent == []


def test_other_kinds_are_still_enforced(bench: Bench) -> None:
    bench.run()
    bench.webapp(version=500, generation=2, routes=ROUTES, image="registry.example/web:2")
    bench.run()
    assert "update Deployment" in bench.writer.sent


def test_the_kind_appears_and_goes(bench: Bench) -> None:
    bench.run()
    bench.coverage.not_available = {}
    bench.run()
    assert bench.writer.sent == ["create HTTPRoute", "create HTTPRoute", "status"]
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")
    assert bench.conditions()["Ready"] == ("False", "NotAccepted")
    bench.coverage.not_available = {HTTP_ROUTE: None}
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "APIMissing")


def test_a_kind_that_comes_and_goes_is_no_write_war(bench: Bench) -> None:
    for _ in range(12):
        bench.coverage.not_available = {}
        bench.run()
        assert bench.writer.sent.count("create HTTPRoute") == 2
        for route in bench.store.objects_of(WEB, HTTP_ROUTE):
            bench.writer.version += 1
            bench.store.forget(HTTP_ROUTE, Key("shop", route.name), bench.writer.version)
        bench.coverage.not_available = {HTTP_ROUTE: None}
        bench.run()
    assert bench.conditions()["Contested"][0] == "False"


def test_a_missing_right_is_reported(bench: Bench) -> None:
    bench.coverage.not_available = {HTTP_ROUTE: "httproutes cannot be listed in the cluster: 403."}
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "NotListed")
    assert "httproutes cannot be listed" in bench.message_of("Ready")
    assert bench.conditions()["Stalled"] == ("False", "NotStalled"), "the LIST is retried"


def test_a_webapp_without_routes_is_unaffected() -> None:
    bench = Bench()
    bench.coverage.not_available = {HTTP_ROUTE: None}
    bench.converge()
    bench.run()
    assert bench.writer.sent == []


def test_a_paused_webapp_says_it_too(bench: Bench) -> None:
    bench.run()
    bench.webapp(version=500, generation=2, routes=ROUTES, paused=True)
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "APIMissing")


# Several children of one kind.


def test_each_of_several_children_is_created_corrected_and_removed() -> None:
    bench = Bench()
    bench.webapp(routes=ROUTES)
    bench.run()
    names = [route.name for route in bench.store.objects_of(WEB, HTTP_ROUTE)]
    assert names == ["web", "web-api"]
    changed = [ROUTES[0], {**ROUTES[1], "hostnames": ["api.example.com"]}]
    bench.webapp(version=500, generation=2, routes=changed)
    bench.run()
    assert bench.writer.sent.count("update HTTPRoute") == 1
    assert bench.writer.manifests["HTTPRoute"]["metadata"]["name"] == "web-api"
    bench.webapp(version=600, generation=3, routes=changed[:1])
    bench.run()
    assert bench.writer.sent.count("remove HTTPRoute") == 1


def test_the_name_of_a_child_may_belong_to_several_webapps() -> None:
    raw = {"metadata": {"name": "shop-api-eu", "uid": "u", "resourceVersion": "1"}}
    assert WORKLOAD.projector.observe(HTTP_ROUTE, raw).namesakes == ("shop-api-eu", "shop-api", "shop")
    assert WORKLOAD.projector.observe(SERVICE, raw).namesakes == ("shop-api-eu",)
