"""The Service: its types, its health, its URLs, and the fields kept of the live one."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import HEALTHY, Level
from coxswain.webapp.children import service, service_manifest
from coxswain.webapp.children.service_kept import Kept, kept_of
from coxswain.webapp.children.service_urls import service_urls
from coxswain.webapp.kinds import SERVICE
from coxswain.webapp.spec import WebApp
from rendered import Empty, observe, observed_as
from unit.objects import fields_of, stored, webapp

PORTS = [{"name": "http", "containerPort": 8080}]
HTTP = {"name": "http", "port": 80, "targetPort": "http"}
NOTE = "coxswain.dev/service-type"
INSIDE = "http://web.shop.svc:8080"


def app(**wanted: Any) -> WebApp:
    """Return a WebApp with a Service."""
    return webapp(ports=PORTS, service=wanted)


def manifest(kept: Kept | None = None, **wanted: Any) -> Manifest:
    """Return the manifest of the Service."""
    made = service_manifest.service(app(**wanted), kept)
    assert made is not None
    return made


class Cluster(Empty):
    """A world with at most one Service."""

    def __init__(self, live: Projection | None) -> None:
        self._live = live

    def live(self, kind: Kind, name: str) -> Projection | None:
        assert (kind, name) == (SERVICE, "web")
        return self._live


def found(made: Manifest, *, ours: bool = True, adopt: str | None = None, **spec: Any) -> Projection:
    """Return a live Service, written by us or by another manager."""
    raw = stored({**made, "spec": {**made["spec"], **spec}})
    if not ours:
        raw["metadata"] |= {"labels": {}, "ownerReferences": []}
        raw["metadata"]["managedFields"][0] |= {"manager": "helm", "operation": "Update"}
    if adopt:
        raw["metadata"]["annotations"] = {**raw["metadata"].get("annotations", {}), "coxswain.dev/adopt": adopt}
    return observe(SERVICE, raw)


def kept(live: Projection | None, **wanted: Any) -> Kept:
    """Return the fields kept of a live Service."""
    return kept_of(app(**wanted), Cluster(live))


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_an_adopted_service_keeps_its_type(kind: str) -> None:
    theirs = found(manifest(type=kind), ours=False, adopt="web")
    assert kept(theirs) == Kept(kind)
    adopted = manifest(kept(theirs))
    assert (adopted["spec"]["type"], adopted["metadata"]["annotations"]) == (kind, {NOTE: kind})
    # The type stays after the adoption, even without the annotation that allowed it.
    assert manifest(kept(found(adopted))) == adopted
    assert manifest(kept(found(adopted, type="ClusterIP"))) == adopted, "another type is drift"
    assert manifest(kept(found(adopted)), type="ClusterIP") == manifest(type="ClusterIP"), "the spec sets a type"


def test_a_service_keeps_its_type_between_the_two_writes_of_its_adoption() -> None:
    """The first write takes over the ports that go, so the Service has an entry of ours, and no note yet."""
    theirs = found(manifest(type="NodePort"), ours=False, adopt="web")
    ports: dict[str, Any] = {"f:spec": {"f:ports": {'k:{"port":8888,"protocol":"TCP"}': {".": {}}}}}
    begun = dataclasses.replace(theirs, owned=ports)
    assert begun.is_child_of(app())
    assert kept(begun) == Kept("NodePort")
    orphan = dataclasses.replace(begun, owned=fields_of(manifest()))
    assert kept(orphan) == Kept(), "a child without its owner: another type is drift"
    assert kept(dataclasses.replace(begun, adopter=None)) == Kept()


def test_an_adopted_headless_service_stays_headless() -> None:
    theirs = found(manifest(headless=True), ours=False, adopt="web")
    adopted = manifest(kept(theirs))
    assert adopted["spec"] == manifest(headless=True)["spec"]
    assert adopted["metadata"]["annotations"] == {NOTE: "Headless"}
    assert "clusterIP" not in manifest(kept(theirs), headless=False)["spec"]
    assert manifest(kept(theirs), headless=True) == manifest(headless=True)


@pytest.mark.parametrize("more", [{"type": "ClusterIP"}, {"type": "ExternalName", "externalName": "example.com"}])
def test_other_services_become_cluster_ip(more: dict[str, Any]) -> None:
    assert kept(found(manifest(**more), ours=False, adopt="web")) == Kept()


def test_nothing_is_kept_of_a_service_that_is_not_adopted() -> None:
    theirs = manifest(type="NodePort")
    assert kept(None) == Kept()
    assert kept(found(theirs)) == Kept(), "this is a child whose spec sets the type"
    assert kept(found(theirs, ours=False)) == Kept()
    assert kept(found(theirs, ours=False, adopt="another")) == Kept()


def test_a_note_of_another_manager_says_nothing() -> None:
    live = found(manifest())
    content = {**live.content, "metadata": {**live.content["metadata"], "annotations": {NOTE: "NodePort"}}}
    entry = ManagedFieldsEntry("kubectl-edit", {"f:metadata": {"f:annotations": {f"f:{NOTE}": {}}}})
    assert kept(dataclasses.replace(live, content=content, others=(entry,))) == Kept()


def test_what_the_server_does_not_let_go_is_kept() -> None:
    wanted: dict[str, Any] = {"type": "LoadBalancer", "loadBalancerClass": "example.com/a"}
    wanted["ipFamilyPolicy"] = "PreferDualStack"
    live = found(manifest(**wanted))
    assert kept(live, type="LoadBalancer") == Kept(None, "example.com/a", single_stack=True)
    spec = manifest(kept(live), type="LoadBalancer")["spec"]
    assert (spec["loadBalancerClass"], spec["ipFamilyPolicy"]) == ("example.com/a", "SingleStack")
    assert manifest(kept(live), **wanted) == manifest(**wanted)
    assert "loadBalancerClass" not in manifest(kept(live), type="NodePort")["spec"]
    assert "ipFamilyPolicy" not in manifest(kept(live), type="ExternalName", externalName="a.example")["spec"]
    foreign = dataclasses.replace(live, owned=fields_of(manifest(type="LoadBalancer")))
    assert kept(foreign, type="LoadBalancer") == Kept(), "a webhook has set these fields"


def test_an_alias_has_nothing_that_leads_to_pods() -> None:
    alias: dict[str, Any] = {"type": "ExternalName", "externalName": "example.com"}
    assert manifest(**alias, sessionAffinity="ClientIP")["spec"] == alias
    without_ports = service_manifest.service(webapp(service=alias))
    assert without_ports is not None
    assert without_ports["spec"] == alias
    assert manifest(**alias, ports=[HTTP])["spec"]["ports"] == [{**HTTP, "protocol": "TCP"}]


def test_only_a_load_balancer_waits_for_an_address_and_ready_does_not() -> None:
    for wanted in ({}, {"headless": True}, {"type": "NodePort"}, {"type": "ExternalName", "externalName": "a.b"}):
        assert service.TYPE.health(found(manifest(**wanted))) == HEALTHY
    balanced = found(manifest(type="LoadBalancer")).content
    waiting = service.TYPE.health(observed_as(SERVICE, balanced))
    assert (waiting.level, waiting.reason, waiting.non_blocking) == (Level.PROGRESSING, "WaitingForAddress", True)
    assert waiting.message.startswith("waiting for an address of the load balancer")
    assert service.TYPE.health(observed_as(SERVICE, addressed(balanced, {"ip": "192.0.2.1"}))) == HEALTHY
    assert service.TYPE.health(observed_as(SERVICE, addressed(balanced, {}))).non_blocking


def addressed(content: Any, *ingress: Any) -> Any:
    """Return a Service whose load balancer has these addresses."""
    return {**content, "status": {"loadBalancer": {"ingress": list(ingress)}}}


def live_urls(**wanted: Any) -> list[str]:
    """Return the URLs of a WebApp whose Service is as it should be."""
    return service_urls(app(**wanted), found(manifest(**wanted)).content)


def test_urls() -> None:
    balanced = found(manifest(type="LoadBalancer")).content
    assert live_urls() == [INSIDE]
    assert live_urls(type="NodePort") == [INSIDE]
    assert service_urls(app(type="LoadBalancer"), balanced) == [INSIDE], "the load balancer has no address yet"
    ingress = [{"ip": "192.0.2.1"}, {"hostname": "lb.example", "ip": "192.0.2.9"}, {"ip": "2001:db8::1"}]
    assert service_urls(app(type="LoadBalancer"), addressed(balanced, *ingress)) == [
        "http://192.0.2.1:8080",
        "http://lb.example:8080",
        "http://[2001:db8::1]:8080",
        INSIDE,
    ]
    assert service_urls(
        app(type="NodePort"), addressed(found(manifest(type="NodePort")).content, {"ip": "192.0.2.1"})
    ) == [INSIDE], "this type has no load balancer address"
    assert service_urls(webapp(), balanced) == []


def test_urls_of_an_alias() -> None:
    alias = {"type": "ExternalName", "externalName": "shop.example"}
    assert live_urls(**alias) == [], "the ports of the other host are unknown"
    https = {"name": "https", "port": 443}
    assert live_urls(**alias, ports=[https]) == ["https://shop.example", "https://web.shop.svc"]


def test_the_url_is_that_of_the_live_service() -> None:
    """An adopted headless Service, and one with a difference in an immutable field."""
    headless = found(manifest(headless=True, ports=[HTTP])).content
    assert service_urls(app(ports=[HTTP]), headless) == [INSIDE]
    assert live_urls(ports=[HTTP]) == ["http://web.shop.svc"]
