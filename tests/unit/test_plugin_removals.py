"""What `kubectl coxswain plan` says of values that go: what an apply removes, and nothing that stays."""

import json
from typing import Any

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import DEPLOYMENT, INGRESS, SERVICE, WEBAPP
from model_cluster.api_server import APPLY
from unit.model_bench import SPEC
from unit.plugin_bench import LAST_APPLIED, PluginBench

MINE: dict[str, Any] = {"annotations": {"mine": "1"}}
THEIRS: dict[str, Any] = {"annotations": {"theirs": "2"}}


def manifest(**spec: Any) -> str:
    """Return a WebApp as a user writes it."""
    metadata = {"name": "web", "namespace": "shop"}
    return json.dumps({"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": metadata, "spec": SPEC | spec})


def plan(bench: PluginBench, stdin: str) -> dict[str, Any]:
    """Return the plan with the fields of each child."""
    [found] = bench.json("plan", "-f", "-", stdin=stdin)["items"]
    fields = {each["object"]: [field["field"] for field in each["fields"]] for each in found["children"]}
    return {**found, "fields": fields}


@pytest.fixture
def bench() -> PluginBench:
    """A WebApp with an annotation. Others have set one as well, in the Deployment and in its pods."""
    found = PluginBench(**MINE)
    found.model.patch(WEBAPP.path("shop", "web"), {"metadata": {"annotations": {LAST_APPLIED: manifest(**MINE)}}})
    found.model.patch(DEPLOYMENT.path("shop", "web"), {"metadata": THEIRS, "spec": {"template": {"metadata": THEIRS}}})
    found.model.reconcile()
    return found


def test_a_removed_annotation_is_announced_beside_those_of_others(bench: PluginBench) -> None:
    """As after `kubectl rollout restart`, which leaves an annotation in the pod template."""
    found = plan(bench, manifest())
    assert found["restart"]["restarts"]
    assert found["fields"]["Deployment/web"] == ["metadata.annotations.mine", "spec.template.metadata.annotations.mine"]
    bench.model.patch(WEBAPP.path("shop", "web"), {"spec": {"annotations": None}})
    bench.model.reconcile()
    stored = bench.model.request("GET", DEPLOYMENT.path("shop", "web"), None, "").body
    left = stored["spec"]["template"]["metadata"]["annotations"]
    assert left == THEIRS["annotations"], "the operator does what the plan says"


def test_what_the_former_tool_of_an_adopted_object_owns_stays(bench: PluginBench) -> None:
    adopted = {"metadata": {"annotations": {"coxswain.dev/adopt": "web"}}}
    bench.model.patch(DEPLOYMENT.path("shop", "web"), adopted)
    found = plan(bench, manifest())
    assert found["fields"]["Deployment/web"] == ["metadata.annotations.mine", "spec.template.metadata.annotations.mine"]
    assert found["restart"]["restarts"]


def test_values_without_an_owner_stay(bench: PluginBench) -> None:
    """An apply of a map leaves its other keys. Some tools remove managedFields."""
    bench.model.patch(SERVICE.path("shop", "web"), {"metadata": {**THEIRS, "managedFields": [{}]}})
    assert plan(bench, manifest(**MINE))["fields"]["Service/web"] == []


def test_what_the_former_tool_of_an_adopted_object_owns_too_goes() -> None:
    """The operator releases it first, so a dry-run of the apply alone would keep it."""
    bench = PluginBench()
    bench.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"template": {"metadata": MINE}}})
    bench.model.patch(
        WEBAPP.path("shop", "web"), {"metadata": {"annotations": {LAST_APPLIED: manifest(**MINE)}}, "spec": MINE}
    )
    bench.model.reconcile()
    adopted = {"metadata": {"annotations": {"coxswain.dev/adopt": "web"}}}
    bench.model.patch(DEPLOYMENT.path("shop", "web"), adopted)
    found = plan(bench, manifest())
    assert found["restart"]["fields"] == ["spec.template.metadata.annotations[mine]"]


def test_the_replicas_that_an_autoscaler_takes_over_stay(bench: PluginBench) -> None:
    fields = plan(bench, manifest(**MINE, autoscaling={"maxReplicas": 5}))["fields"]
    assert fields["Deployment/web"] == ["metadata.annotations[coxswain.dev/replicas]"]


@pytest.mark.parametrize(
    ("manager", "uid", "action"),
    [("coxswain", "", "Remove"), ("coxswain", "of-a-former-namesake", None), ("helm", "", None)],
)
def test_only_own_children_are_removed(bench: PluginBench, manager: str, uid: str, action: str | None) -> None:
    """Neither those of a deleted WebApp of the same name, nor objects with our label that the operator never wrote."""
    owner = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web", "controller": True}
    metadata: dict[str, Any] = {"name": "web", "labels": {"coxswain.dev/webapp": "web"}}
    metadata["ownerReferences"] = [{**owner, "uid": uid or bench.raw["metadata"]["uid"]}]
    made = {"apiVersion": INGRESS.api_version, "kind": INGRESS.kind, "metadata": metadata, "spec": {"rules": []}}
    bench.model.request("PATCH", INGRESS.path("shop", "web"), made, APPLY, fieldManager=manager)
    actions = {each["object"]: each["action"] for each in plan(bench, manifest(**MINE))["children"]}
    assert actions.get("Ingress/web") == action


# What an adoption removes

CHART = {"app": "chart"}
CHARTS: dict[Kind, dict[str, Any]] = {
    DEPLOYMENT: {
        "selector": {"matchLabels": CHART},
        "template": {
            "metadata": {"labels": CHART},
            "spec": {
                "containers": [{"name": "main", "image": "a:0", "volumeMounts": [{"name": "old", "mountPath": "/a"}]}],
                "volumes": [{"name": "old", "emptyDir": {}}],
            },
        },
    },
    SERVICE: {"selector": CHART, "ports": [{"name": "http", "port": 80}, {"name": "admin", "port": 9000}]},
}
GONE = {
    "Deployment/web": [
        "spec.template.spec.containers[name=main].image",
        "spec.template.spec.containers[name=main].volumeMounts[name=old].mountPath",
        "spec.template.spec.volumes[name=old].emptyDir",
    ],
    "Service/web": ["spec.ports[port=80,protocol=TCP].port", "spec.ports[port=9000,protocol=TCP].port"],
}


@pytest.fixture
def charts() -> PluginBench:
    """A WebApp beside Deployment and Service of a chart, with its name."""
    found = PluginBench(reconciled=False)
    for kind, spec in CHARTS.items():
        made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "web"}, "spec": spec}
        found.model.post(kind.path("shop"), made)
    found.model.reconcile()
    return found


@pytest.mark.parametrize("child", GONE)
def test_adopt_shows_what_the_adoption_removes(charts: PluginBench, child: str) -> None:
    """The Service waits for the Deployment, and its ports go then."""
    assert charts.run("adopt", "web", "--yes") == 0
    shown = charts.out.partition(f" {child}: ")[2]
    assert [field for field in GONE[child] if f"      {field}: " not in shown] == []


def test_plan_shows_what_the_adoption_removes(charts: PluginBench) -> None:
    charts.run("adopt", "web", "--yes")
    fields = plan(charts, manifest())["fields"]
    assert {child: [field for field in gone if field not in fields[child]] for child, gone in GONE.items()} == {
        child: [] for child in GONE
    }
