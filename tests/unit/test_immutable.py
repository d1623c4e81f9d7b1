"""Immutable fields, and headless Services."""

import copy
from typing import Any

import pytest

from coxswain.kernel.conflicts.immutable import Obstacle, Remedy
from coxswain.kernel.objects.commands import delete_command
from coxswain.kernel.objects.manifests import Manifest
from coxswain.webapp.children.service_urls import service_urls
from rendered import desired, in_place, obstacle
from unit.objects import webapp

PORTS = [{"name": "http", "containerPort": 8080}]
SETTLED = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2}
AROUND_PODS = Obstacle("spec.selector", Remedy.REPLACE_AROUND_PODS)
BY_HAND = Obstacle("spec.selector", Remedy.BY_HAND)


def made(kind: str, **spec: Any) -> Manifest:
    """Return the manifest of one child."""
    found = desired(webapp(**{"ports": PORTS, "config": {"A": "1"}, **spec}))
    return next(manifest for manifest in found if manifest["kind"] == kind)


def live(manifest: Manifest, **more: Any) -> dict[str, Any]:
    """Return a child in its state after the creation."""
    found = copy.deepcopy(manifest)
    found["metadata"]["generation"] = 1
    return {**found, **more}


@pytest.mark.parametrize("kind", ["ServiceAccount", "ConfigMap", "Service", "Deployment"])
@pytest.mark.parametrize("adopting", [True, False])
def test_nothing_stands_in_the_way_of_what_is_equal(kind: str, adopting: bool) -> None:
    assert obstacle(made(kind), live(made(kind)), adopting=adopting) is None


def test_a_config_map_that_someone_made_anew_is_replaced() -> None:
    wanted = made("ConfigMap")
    other = {**live(wanted), "data": {"A": "2"}}
    assert obstacle(wanted, other) == Obstacle("data", Remedy.REPLACE)
    assert obstacle(wanted, other, adopting=True) == Obstacle("data", Remedy.BY_HAND)
    assert obstacle(wanted, {**other, "data": {}}) == Obstacle("data", Remedy.REPLACE)


def test_a_config_map_that_can_be_changed_is() -> None:
    wanted = made("ConfigMap")
    assert obstacle(wanted, {**live(wanted), "immutable": False, "data": {"A": "2"}}) is None
    assert obstacle(wanted, {**live(wanted), "data": {"A": "1", "MORE": "2"}}) is None


def selected_otherwise(**status: int) -> dict[str, Any]:
    """Return a Deployment with another selector. Its pods have our labels and one more."""
    found = live(made("Deployment"), status={**SETTLED, **status})
    found["spec"]["selector"] = {"matchLabels": {"app": "web"}}
    found["spec"]["template"]["metadata"]["labels"]["app"] = "web"
    return found


@pytest.mark.parametrize("adopting", [True, False])
def test_a_deployment_with_another_selector_is_replaced_around_pods_that_the_new_one_finds(adopting: bool) -> None:
    assert obstacle(made("Deployment"), selected_otherwise(), adopting=adopting) == AROUND_PODS


def test_pods_that_the_new_one_would_not_find_are_left_to_a_person() -> None:
    unlabelled = selected_otherwise()
    del unlabelled["spec"]["template"]["metadata"]["labels"]["coxswain.dev/webapp"]
    assert obstacle(made("Deployment"), unlabelled) == BY_HAND
    assert obstacle(made("Deployment"), selected_otherwise(updatedReplicas=1)) == BY_HAND, (
        "the other pods may lack the label"
    )
    assert obstacle(made("Deployment"), selected_otherwise(observedGeneration=0)) == BY_HAND


def test_containers_of_another_name_would_run_besides_ours() -> None:
    wanted, theirs = made("Deployment"), live(made("Deployment"), status=SETTLED)
    theirs["spec"]["template"]["spec"]["containers"][0]["name"] = "web"
    assert obstacle(wanted, theirs) is None, "someone renamed the container of our child, so the name is restored"
    assert obstacle(wanted, theirs, adopting=True) is None, "the only container is replaced"
    theirs["spec"]["template"]["spec"]["containers"] += [{"name": "proxy", "image": "other"}, {"name": "more"}]
    theirs["spec"]["template"]["spec"]["containers"][0]["image"] = "theirs"
    theirs["spec"]["template"]["spec"]["containers"][0].pop("ports")
    found = obstacle(wanted, theirs, adopting=True)
    assert found == Obstacle("spec.template.spec.containers", Remedy.REPLACE_AROUND_PODS)
    theirs["spec"]["template"]["spec"]["containers"].append({"name": "app"})
    assert obstacle(wanted, theirs, adopting=True) is None


@pytest.mark.parametrize(("wanted", "found"), [(True, "10.0.0.1"), (False, "None")])
def test_headless_or_not_is_found_from_the_live_service_and_leaves_the_rest(wanted: bool, found: str) -> None:
    manifest = made("Service", service={"headless": wanted})
    other = live(manifest)
    other["spec"] = {**other["spec"], "clusterIP": found}
    assert blocked(manifest, other) == ("spec.clusterIP", Remedy.BY_HAND, True)
    rest = in_place(manifest, other)["spec"]
    assert rest == {key: value for key, value in manifest["spec"].items() if key != "clusterIP"}


def blocked(manifest: Manifest, other: dict[str, Any]) -> tuple[str, Remedy, bool] | None:
    """Return the obstacle of a Service without its advice."""
    found = obstacle(manifest, other)
    if found is None:
        return None
    assert "set spec.service.replace: Allowed" in found.advice
    return found.field, found.remedy, found.others_mutable


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_a_headless_service_stays_headless_in_place_and_takes_nothing_of_the_other_type(kind: str) -> None:
    ports = [{"name": "http", "port": 80, "targetPort": "http", "nodePort": 30080}]
    wanted = made("Service", service={"type": kind, "externalTrafficPolicy": "Local", "ports": ports})
    other = live(made("Service", service={"headless": True}))
    assert blocked(wanted, other) == ("spec.clusterIP", Remedy.BY_HAND, True)
    rest = in_place(wanted, other)["spec"]
    assert rest["type"] == "ClusterIP"
    assert "externalTrafficPolicy" not in rest
    assert rest["ports"] == [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]


@pytest.mark.parametrize(("found", "kept"), [("other", "other"), (None, None)])
def test_a_load_balancer_keeps_its_class(found: str | None, kept: str | None) -> None:
    wanted = made("Service", service={"type": "LoadBalancer", "loadBalancerClass": "ours"})
    other = live(made("Service", service={"type": "LoadBalancer", **({"loadBalancerClass": found} if found else {})}))
    assert blocked(wanted, other) == ("spec.loadBalancerClass", Remedy.BY_HAND, True)
    assert in_place(wanted, other)["spec"].get("loadBalancerClass") == kept
    assert blocked(made("Service", service={"type": "LoadBalancer"}), other) is None, (
        "without a class in the spec, any class is accepted"
    )


ALIAS = {"type": "ExternalName", "externalName": "example.com"}


@pytest.mark.parametrize("service", [{}, {"headless": True}, {"type": "NodePort"}, {"type": "LoadBalancer"}])
def test_an_alias_becomes_any_service_in_place_and_back(service: dict[str, Any]) -> None:
    for one, other in ((service, ALIAS), (ALIAS, service)):
        wanted, found = made("Service", service=one), live(made("Service", service=other))
        assert obstacle(wanted, found) is None
        assert in_place(wanted, found) == wanted


def test_a_service_of_the_right_sort_is_applied_as_a_whole() -> None:
    for headless, address in ((True, "None"), (False, "10.0.0.1")):
        manifest = made("Service", service={"headless": headless})
        same = live(manifest)
        same["spec"] = {**same["spec"], "clusterIP": address}
        assert obstacle(manifest, same) is None
        assert in_place(manifest, same) == manifest


def test_the_commands_keep_the_pods() -> None:
    assert delete_command("Deployment", "shop", "ns") == "kubectl delete deployment shop --cascade=orphan -n ns"
    assert delete_command("StatefulSet", "db", "ns") == "kubectl delete statefulset db --cascade=orphan -n ns"
    assert delete_command("Service", "shop", "ns") == "kubectl delete service shop -n ns"


def test_a_field_that_is_left_alone_is_no_obstacle() -> None:
    assert Obstacle("data", Remedy.REPLACE).is_left_alone(["data[A]"])
    assert not Obstacle("spec.selector", Remedy.REPLACE).is_left_alone(["spec.replicas", "spec.selectors"])


@pytest.mark.parametrize(
    ("ports", "address"),
    [
        (None, "http://web.shop.svc:8080"),
        ([{"name": "web", "port": 80, "targetPort": "http"}], "http://web.shop.svc:8080"),
        ([{"name": "web", "port": 80, "targetPort": 9090}], "http://web.shop.svc:9090"),
        ([{"name": "web", "port": 80}], "http://web.shop.svc"),
        ([{"name": "web", "port": 443, "targetPort": "http"}], "https://web.shop.svc:8080"),
    ],
)
def test_the_url_of_a_headless_service_has_the_port_of_the_pods(ports: Any, address: str) -> None:
    service = {"headless": True, **({"ports": ports} if ports else {})}
    app = webapp(ports=PORTS, service=service)
    (live,) = [each for each in desired(app) if each["kind"] == "Service"]
    assert service_urls(app, live) == [address]
