"""The adoption of a Deployment: fields that it keeps, and fields that the rolling update removes."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.kernel.objects.field_paths import minus_path, text
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.webapp.children import deployment, disruption_budget, service, service_manifest
from coxswain.webapp.children.deployment_adoption import replaced_container
from coxswain.webapp.kinds import DEPLOYMENT, POD_DISRUPTION_BUDGET, SERVICE
from coxswain.webapp.spec import WebApp
from rendered import Empty, observe
from unit.objects import stored, webapp

OURS = {"coxswain.dev/webapp": "web"}
CHART = {"app.kubernetes.io/name": "storefront", "app.kubernetes.io/instance": "blue"}
RELEASE = {"app": "storefront", "release": "blue"}
PORTS = [{"name": "http", "containerPort": 8080}]
APP = webapp(ports=PORTS, labels={"release": "green", "team": "red"}, image="registry.example:5000/shop/web:2")
SETTLED = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
SELECTOR = ("f:spec", "f:selector")


class Cluster(Empty):
    """A world with a Deployment, a Service and a PodDisruptionBudget."""

    def __init__(
        self, live: Projection | None = None, fronted_by: Projection | None = None, budget: Projection | None = None
    ) -> None:
        self._live = {DEPLOYMENT: live, SERVICE: fronted_by, POD_DISRUPTION_BUDGET: budget}

    def live(self, kind: Kind, name: str) -> Projection | None:  # noqa: ARG002
        return self._live.get(kind)


def theirs(
    selector: dict[str, Any], *containers: dict[str, Any], adopt: str = "web", labels: Any = None, **pod: Any
) -> Projection:
    """Return a Deployment like one from a chart."""
    wanted = {"matchLabels": selector} if "matchExpressions" not in selector else selector
    labels = labels if labels is not None else {**wanted.get("matchLabels", {}), "chart": "1"}
    spec = {
        "replicas": 1,
        "selector": wanted,
        "template": {"metadata": {"labels": labels}, "spec": {"containers": list(containers), **pod}},
    }
    metadata = {"name": "web", "namespace": "shop", "labels": {}, "annotations": {"coxswain.dev/adopt": adopt}}
    raw = stored({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    raw["metadata"]["managedFields"][0] |= {"manager": "helm", "operation": "Update"}
    raw["metadata"]["generation"] = 1
    raw["status"] = {**SETTLED, "conditions": [{"type": "Available", "status": "True"}]}
    return observe(DEPLOYMENT, raw)


def desired(live: Projection | None, app: WebApp = APP) -> Manifest:
    """Return the desired Deployment."""
    [found] = deployment.TYPE.all_desired(app, Cluster(live))
    return found.manifest


def adopted(manifest: Manifest, *, annotated: bool = False) -> Projection:
    """Return the Deployment after its adoption."""
    raw = stored(manifest)
    raw["metadata"]["generation"] = 1
    if annotated:
        raw["metadata"]["annotations"] = {"coxswain.dev/adopt": "web"}
    return observe(DEPLOYMENT, raw)


MAIN = {
    "name": "storefront",
    "image": "registry.example:5000/shop/web:1",
    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
}
PROXY = {
    "name": "proxy",
    "image": "registry.example:5000/proxy:1",
    "ports": [{"containerPort": 9000, "protocol": "TCP"}],
}


@pytest.mark.parametrize("selector", [CHART, RELEASE])
def test_the_selector_is_kept_and_the_pods_keep_its_labels_beside_ours(selector: dict[str, str]) -> None:
    made = desired(theirs(selector, MAIN))
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["selector"] == {"matchLabels": selector}
    assert {**OURS, "team": "red", **selector}.items() <= labels.items()
    assert made["metadata"]["labels"]["app.kubernetes.io/name"] == "web"
    assert made["metadata"]["labels"]["release"] == "green"
    assert deployment.TYPE.obstacle(made, theirs(selector, MAIN).content, True) is None


@pytest.mark.parametrize("annotated", [True, False])
def test_it_is_kept_after_the_adoption_and_derived_from_the_live_object(annotated: bool) -> None:
    made = desired(theirs(CHART, MAIN))
    live = adopted(made, annotated=annotated)
    again = desired(live)
    assert again["spec"]["selector"] == made["spec"]["selector"]
    assert again["spec"]["template"] == made["spec"]["template"]
    stripped = dataclasses.replace(live, owned=minus_path(live.owned or {}, SELECTOR))
    kept = desired(stripped)["spec"]["selector"]["matchLabels"]
    assert kept == (CHART if annotated else OURS), "a foreign selector of a child that was never adopted is an obstacle"


@pytest.mark.parametrize(
    "selector",
    [
        {"coxswain.dev/webapp": "another"},
        {"app": "x", "pod-template-hash": "1"},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}], "matchLabels": {"app": "x"}},
    ],
)
def test_what_cannot_be_kept(selector: dict[str, Any]) -> None:
    live = theirs(selector, MAIN)
    assert desired(live)["spec"]["selector"] == {"matchLabels": OURS}
    assert deployment.TYPE.obstacle(desired(live), live.content, True) is not None


def test_a_kept_selector_has_no_budget_by_default() -> None:
    """The chart may have a budget for the same pods, and a second one blocks their evictions."""

    def has_budget(live: Projection | None, **spec: Any) -> bool:
        app = webapp(replicas=3, **spec)
        return bool(disruption_budget.TYPE.all_desired(app, Cluster(live)))

    kept = adopted(desired(theirs(CHART, MAIN)))
    assert not has_budget(theirs(CHART, MAIN))
    assert not has_budget(kept)
    assert has_budget(kept, disruption={"enabled": True})
    assert has_budget(theirs(OURS, MAIN))
    assert has_budget(theirs(CHART, MAIN, adopt="another"))


@pytest.mark.parametrize("adopt", ["web", "another", ""])
@pytest.mark.parametrize("ours", [False, True])
def test_the_budget_of_the_chart_is_adopted_with_it_and_stays(adopt: str, ours: bool) -> None:
    """Otherwise its adoption ended in its deletion: the pods lost the budget that the chart gave them."""
    raw = stored(disruption_budget.pod_disruption_budget(webapp()))
    raw["metadata"]["annotations"] = {"coxswain.dev/adopt": adopt}
    if not ours:
        raw["metadata"] |= {"labels": {}, "managedFields": [], "ownerReferences": []}
        raw["spec"]["selector"] = {"matchLabels": CHART}
    budget = observe(POD_DISRUPTION_BUDGET, raw)
    for live in (theirs(CHART, MAIN), adopted(desired(theirs(CHART, MAIN)))):
        wanted = disruption_budget.TYPE.all_desired(webapp(replicas=3), Cluster(live, budget=budget))
        assert bool(wanted) is (adopt == "web")


@pytest.mark.parametrize("adopt", ["", "another"])
def test_nothing_is_kept_of_a_foreign_deployment(adopt: str) -> None:
    assert desired(theirs(CHART, MAIN, adopt=adopt)) == desired(None)


labels = st.dictionaries(
    st.sampled_from([*CHART, *RELEASE, *OURS, "x"]), st.sampled_from(["web", "a", "b"]), min_size=1
)


@given(labels, st.dictionaries(st.sampled_from(["x", "app", "team"]), st.sampled_from(["a", "b"])))
def test_the_pods_always_match_the_selector_and_have_our_label(selector: dict[str, str], spec: dict[str, str]) -> None:
    app = webapp(labels=spec, ports=PORTS)
    made = desired(theirs(selector, MAIN), app)
    pods = made["spec"]["template"]["metadata"]["labels"]
    assert {**made["spec"]["selector"]["matchLabels"], **OURS}.items() <= pods.items()
    assert desired(adopted(made, annotated=True), app)["spec"]["template"] == made["spec"]["template"]
    assert made["spec"]["template"]["spec"] == desired(None, app)["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("containers", "replaced"),
    [
        ([MAIN], "storefront"),
        ([{"name": "any", "image": "other"}], "any"),
        ([{**MAIN, "name": "app"}], None),
        ([{**MAIN, "name": "app"}, MAIN], None),
        ([PROXY, MAIN], "storefront"),
        ([PROXY, {**MAIN, "image": "registry.example:5000/shop/web@sha256:0"}], "storefront"),
        ([PROXY, {**MAIN, "image": "registry.example:5000/shop/web"}], "storefront"),
        ([PROXY, {**MAIN, "image": "other"}], "storefront"),
        ([{**PROXY, "ports": MAIN["ports"]}, {**MAIN, "image": "other"}], None),
        ([PROXY, {"name": "more", "image": "other"}], None),
        ([{**MAIN, "name": "one"}, {**MAIN, "name": "two"}], None),
        ([], None),
    ],
)
def test_the_container_that_ours_replaces(containers: list[dict[str, Any]], replaced: str | None) -> None:
    live = theirs(CHART, *containers)
    assert replaced_container(desired(live), live.content) == replaced
    named = any(container["name"] == "app" for container in containers)
    found = deployment.TYPE.obstacle(desired(live), live.content, True)
    assert (found is None) is (named or replaced is not None)


def former(live: Projection, app: WebApp = APP) -> list[str]:
    """Return the fields removed by the adoption."""
    return [text(path) for path in deployment.TYPE.former(desired(live, app), live.content, ())]


def mounting(container: dict[str, Any], *volumes: str) -> dict[str, Any]:
    """Return a container with volumes."""
    return {**container, "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in volumes]}


def test_its_volumes_go_with_it_unless_another_container_has_them() -> None:
    volumes = [{"name": name} for name in ("settings", "shared", "init", "unused", "files")]
    live = theirs(
        CHART,
        mounting(MAIN, "settings", "shared", "init", "files", "claimed"),
        mounting(PROXY, "shared"),
        volumes=volumes,
        initContainers=[mounting({"name": "setup"}, "init")],
    )
    pod = "spec.template.spec"
    files = webapp(image=APP.spec["image"], files=[{"path": "/etc/a", "content": "x"}])
    assert former(live, files) == [f"{pod}.containers[name=storefront]", f"{pod}.volumes[name=settings]"]
    assert former(theirs(CHART, {**mounting(MAIN, "settings"), "name": "app"}, volumes=volumes)) == []


SIDECAR = {"name": "proxy", "image": "registry.example/proxy:2"}


@pytest.mark.parametrize("field", ["sidecars", "initContainers"])
def test_a_container_gives_its_name_to_an_init_container(field: str) -> None:
    """Names are unique over both lists, so the API server would reject the Deployment."""
    spec: dict[str, Any] = {"image": APP.spec["image"], "ports": PORTS, field: [SIDECAR]}
    app = webapp(**spec)
    volumes = [{"name": name} for name in ("shared", "of-proxy")]
    live = theirs(CHART, mounting(MAIN, "shared"), mounting(PROXY, "shared", "of-proxy"), volumes=volumes)
    pod = "spec.template.spec"
    containers = [f"{pod}.containers[name=storefront]", f"{pod}.containers[name=proxy]"]
    assert former(live, app) == [*containers, f"{pod}.volumes[name=of-proxy]", f"{pod}.volumes[name=shared]"]
    [found] = deployment.TYPE.all_desired(app, Cluster(live))
    assert found.enforced == (*containers, f"{pod}.initContainers[name=proxy]", f"{pod}.initContainers")
    named = theirs(CHART, {**MAIN, "name": "app"}, PROXY)
    assert former(named, app) == [f"{pod}.containers[name=proxy]"]


def test_an_init_container_gives_its_name_to_the_main_container() -> None:
    live = theirs(CHART, MAIN, initContainers=[{"name": "app", "image": "x"}])
    pod = "spec.template.spec"
    assert former(live) == [f"{pod}.containers[name=storefront]", f"{pod}.initContainers[name=app]"]


def test_a_container_with_the_name_of_a_sidecar_is_not_the_replaced_one() -> None:
    app = webapp(image="other", ports=PORTS, sidecars=[SIDECAR])
    live = theirs(CHART, {**PROXY, "ports": MAIN["ports"]}, {"name": "shop", "image": "one"})
    assert replaced_container(desired(live, app), live.content) == "shop"
    alone = theirs(CHART, PROXY)
    assert deployment.TYPE.obstacle(desired(alone, app), alone.content, True) is None


def test_no_policy_keeps_the_replaced_container() -> None:
    live = theirs(CHART, MAIN)
    [found] = deployment.TYPE.all_desired(APP, Cluster(live))
    assert found.enforced == ("spec.template.spec.containers[name=storefront]",)
    [ours] = deployment.TYPE.all_desired(APP, Cluster(adopted(found.manifest, annotated=True)))
    assert ours.enforced == ()


def fronting(selector: dict[str, str], *, ours: bool = False, adopt: str = "web") -> Projection:
    """Return a Service in front of the pods of a chart."""
    made = service_manifest.service(APP)
    assert made is not None
    raw = stored({**made, "spec": {**made["spec"], "selector": selector}})
    if not ours:
        annotations = {"coxswain.dev/adopt": adopt} if adopt else {}
        raw["metadata"] |= {"labels": {}, "ownerReferences": [], "annotations": annotations}
        raw["metadata"]["managedFields"][0] |= {"manager": "helm", "operation": "Update"}
    return observe(SERVICE, raw)


def waits_for(live: Projection, fronted_by: Projection | None) -> str | None:
    return deployment.TYPE.adoptable_when(APP, live, Cluster(live, fronted_by))


def test_a_service_that_would_lose_the_new_pods_comes_first() -> None:
    live = theirs({"app": "x"}, MAIN, labels={"app": "x", **CHART, "chart": "1"})
    waiting = waits_for(live, fronting({**CHART, "app": "x"})) or ""
    assert "the selector of Service web lacks app.kubernetes.io/instance, app.kubernetes.io/name," in waiting
    assert "kubectl edit service web -n shop" in waiting
    of_service = service.TYPE.adoptable_when(APP, fronting(CHART), Cluster(live, fronting(CHART)))
    assert of_service == waits_for(live, fronting(CHART)), "both children report the cause"
    unknown = waits_for(live, fronting({"app": "x"}, adopt="")) or ""
    assert "kubectl annotate service web -n shop coxswain.dev/adopt=web --overwrite" in unknown
    assert waits_for(theirs({"app": "x"}, MAIN), fronting({"app": "x"}, adopt="")) is None, "no label is changed"
    controlled = dataclasses.replace(fronting({}, adopt=""), controller=Controller("Shop", "theirs", "uid-9"))
    assert waits_for(live, controlled) is None, "a controlled Service is never adopted"
    for harmless in ({"app": "x"}, {"chart": "1"}, {"elsewhere": "1"}, {**CHART, "elsewhere": "1"}, {}):
        assert waits_for(live, fronting(harmless)) is None
    assert waits_for(live, None) is None
    assert waits_for(live, fronting(CHART, ours=True)) is None
    assert waits_for(theirs(CHART, MAIN), fronting(CHART)) is None, "the labels are kept with the selector"


def test_the_service_waits_for_the_rollout_of_an_adopted_deployment() -> None:
    """Its condition Available is True at once: it counts the old pods, which lack our label."""
    made = adopted(desired(theirs(CHART, MAIN)), annotated=True)
    available = {"conditions": [{"type": "Available", "status": "True"}]}
    rolling = dataclasses.replace(made, content={**made.content, "status": {**SETTLED, **available, "replicas": 2}})
    for selector in (CHART, {"other": "pods"}):
        waiting = service.TYPE.adoptable_when(APP, fronting(selector), Cluster(rolling))
        assert waiting == "Deployment web is rolled out"
    done = dataclasses.replace(made, content={**made.content, "status": {**SETTLED, **available}})
    assert service.TYPE.adoptable_when(APP, fronting(CHART), Cluster(done)) is None
