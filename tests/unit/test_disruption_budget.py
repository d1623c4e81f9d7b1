"""The conditions for a disruption budget, and the warning about one that blocks drains."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.budgets import concerned, selects
from coxswain.webapp.children import disruption_budget
from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.kinds import DEPLOYMENT, POD_DISRUPTION_BUDGET
from rendered import Empty, observe
from unit.bench import Bench
from unit.objects import observed_autoscaler, stored, webapp

LABELS = {"coxswain.dev/webapp": "web", "app.kubernetes.io/name": "web", "team": "red"}


def budget(selector: dict[str, Any], *, version: int = 10, **status: int) -> Projection:
    """Return a budget of another owner."""
    metadata = {"name": "theirs", "namespace": "shop", "uid": "theirs", "resourceVersion": str(version)}
    spec = {"selector": selector, "maxUnavailable": 1}
    return observe(POD_DISRUPTION_BUDGET, {"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"team": "red"}}, True),
        ({"matchLabels": {"team": "red", "tier": "web"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["red", "blue"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["red"]}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
    ],
)
def test_selectors(selector: dict[str, Any] | None, matches: bool) -> None:
    assert selects(selector, LABELS) is matches


@pytest.mark.parametrize(
    ("spec", "there"),
    [
        ({}, False),
        ({"replicas": 0}, False),
        ({"replicas": 2}, True),
        ({"autoscaling": {"maxReplicas": 1}}, False),
        ({"autoscaling": {"maxReplicas": 2}}, True),
        ({"disruption": {"maxUnavailable": 0}}, True),
        ({"disruption": {"minAvailable": 1}}, True),
        ({"disruption": {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}}, False),
        ({"disruption": {"enabled": False, "minAvailable": 1}}, False),
        ({"disruption": {"enabled": True}}, True),
        ({"replicas": 2, "disruption": {"enabled": False}}, False),
    ],
)
def test_there_is_one_if_there_can_be_several_pods(spec: dict[str, Any], there: bool) -> None:
    assert (disruption_budget.TYPE.desired(webapp(**spec), Empty()) is not None) is there


def sent(bench: Bench) -> list[str]:
    bench.run()
    return [request for request in bench.writer.sent if "PodDisruptionBudget" in request]


@pytest.mark.parametrize("target", ["Deployment", "WebApp"])
def test_an_autoscaler_of_the_user_can_make_several_pods(target: str) -> None:
    bench = Bench()
    bench.converge()
    scaler = observed_autoscaler(version=500)
    if target == "WebApp":
        reference = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "name": "web"}
        metadata = {"name": "scaler", "namespace": "shop", "uid": "scaler", "resourceVersion": "500"}
        scaler = observe(scaler.kind, {"metadata": metadata, "spec": {"scaleTargetRef": reference}})
    bench.writer.version = 500
    bench.store.observe(scaler)
    assert sent(bench) == ["create PodDisruptionBudget"]
    assert ("update Deployment" in bench.writer.sent) is (target == "Deployment")


def test_a_kept_count_keeps_its_budget() -> None:
    """The autoscaler was deleted and left 5 pods, while spec.replicas is 1."""
    bench = Bench()
    bench.converge()
    bench.writer.version = 500
    scaler = observed_autoscaler(version=500)
    bench.store.observe(scaler)
    assert sent(bench) == ["create PodDisruptionBudget"]
    deployment = next(each for each in bench.children() if each.kind.kind == "Deployment")
    raw = {**deployment.content, "spec": {**deployment.content["spec"], "replicas": 5}}
    bench.writer.version += 10
    bench.store.observe(dataclasses.replace(deployment, version=bench.writer.version, content=raw))
    bench.store.forget(scaler.kind, Key("shop", "scaler"), bench.writer.version)
    assert sent(bench) == []


def test_another_budget_for_the_pods_stands_in_for_the_default_one() -> None:
    """Kubernetes refuses to evict a pod with two budgets."""
    bench = Bench()
    bench.webapp(replicas=2)
    assert sent(bench) == ["create PodDisruptionBudget"]
    bench.writer.version = 500
    bench.store.observe(budget({"matchLabels": {"app.kubernetes.io/instance": "web"}}, version=500))
    assert sent(bench) == ["remove PodDisruptionBudget"]


@pytest.mark.parametrize("label", ["coxswain.dev/webapp", "app.kubernetes.io/name", "app.kubernetes.io/instance"])
def test_a_budget_may_name_the_webapp_in_an_expression(label: str) -> None:
    bench = Bench()
    expression = {"key": label, "operator": "In", "values": ["other", "web"]}
    bench.store.observe(budget({"matchExpressions": [expression]}))
    bench.webapp(replicas=2)
    assert sent(bench) == []


@pytest.mark.parametrize(
    ("key", "operator", "values"), [("team", "In", ["web"]), ("app.kubernetes.io/name", "NotIn", ["web"])]
)
def test_other_expressions_name_no_webapp(key: str, operator: str, values: list[str]) -> None:
    selector = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    assert list(concerned({"spec": {"selector": selector}})) == []


def test_a_budget_names_64_webapps_at_most() -> None:
    """A tenant's list of 170,000 names cost 70 MB, and each change of the budget reconciled as many names."""
    label, names = "app.kubernetes.io/instance", [f"web-{number}" for number in range(100)]
    expressions = [{"key": label, "operator": "In", "values": part} for part in (names[:10], names[10:])]
    selector = {"matchLabels": {label: "first"}, "matchExpressions": expressions}
    assert list(concerned({"spec": {"selector": selector}})) == ["first", *names[:63]]
    assert list(concerned({"spec": {"selector": {"matchExpressions": expressions[:1]}}})) == names[:10]


@pytest.mark.parametrize("adopt", ["", "web"])
def test_a_foreign_budget_of_its_name_stands_in_too_unless_it_is_adopted(adopt: str) -> None:
    """For example the budget of a chart. A default budget would report NameTaken."""
    bench = Bench()
    raw = stored(disruption_budget.pod_disruption_budget(webapp()))
    raw["metadata"] |= {"annotations": {"coxswain.dev/adopt": adopt}, "labels": {"app": "x"}, "managedFields": []}
    raw["metadata"].pop("ownerReferences")
    raw["spec"]["selector"] = {"matchLabels": {"app": "x"}}
    bench.store.observe(observe(POD_DISRUPTION_BUDGET, raw))
    bench.webapp(replicas=2)
    assert sent(bench) == (["update PodDisruptionBudget"] if adopt else [])
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("False", "RollingOut")


def test_a_budget_for_the_pods_is_adopted_too() -> None:
    """It selects them already, so it stands in for the default one only unless it may be adopted."""
    bench = Bench()
    raw = stored(disruption_budget.pod_disruption_budget(webapp()))
    raw["metadata"] |= {"annotations": {"coxswain.dev/adopt": "web"}, "labels": {"app": "x"}, "managedFields": []}
    raw["metadata"].pop("ownerReferences")
    raw["spec"]["selector"] = {"matchLabels": {"app.kubernetes.io/instance": "web"}}
    bench.store.observe(observe(POD_DISRUPTION_BUDGET, raw))
    bench.webapp(replicas=2)
    assert sent(bench) == ["update PodDisruptionBudget"]


def test_its_own_without_an_owner_reference_stays() -> None:
    bench = Bench()
    bench.webapp(replicas=2)
    assert sent(bench) == ["create PodDisruptionBudget"]
    (ours,) = [each for each in bench.children() if each.kind is POD_DISRUPTION_BUDGET]
    bench.writer.version += 1
    metadata = {key: value for key, value in ours.content["metadata"].items() if key != "ownerReferences"}
    content = {**ours.content, "metadata": metadata}
    bench.store.observe(dataclasses.replace(ours, version=bench.writer.version, controller=None, content=content))
    assert sent(bench) == ["update PodDisruptionBudget"]


def test_one_for_other_pods_does_not() -> None:
    bench = Bench()
    bench.store.observe(budget({"matchLabels": {"app.kubernetes.io/instance": "web", "tier": "db"}}))
    bench.webapp(replicas=2)
    assert sent(bench) == ["create PodDisruptionBudget"]


def test_a_wanted_budget_beside_another_is_told() -> None:
    bench = Bench()
    bench.converge()
    bench.store.observe(budget({"matchLabels": {"app.kubernetes.io/instance": "web"}}))
    bench.webapp(version=500, generation=2, disruption={"enabled": True})
    assert sent(bench) == ["create PodDisruptionBudget"]
    (told,) = [child for child in bench.webapp_now().content["status"]["children"] if "message" in child][:1]
    assert (told["kind"], told["health"]) == ("PodDisruptionBudget", "Healthy")
    assert "PodDisruptionBudget theirs selects" in told["message"]
    assert told["message"].endswith("or delete the other one: kubectl delete pdb theirs -n shop")
    second = budget({"matchLabels": {"app.kubernetes.io/instance": "web"}})
    bench.store.observe(dataclasses.replace(second, name="others", uid="others"))
    assert bench.run().after == 1.0, "a message alone waits for the next status write"
    bench.now += 1
    bench.run()
    (told,) = [child for child in bench.webapp_now().content["status"]["children"] if "message" in child][:1]
    assert "PodDisruptionBudgets others, theirs select" in told["message"]
    assert told["message"].endswith("Delete these: kubectl delete pdb others theirs -n shop")


BLOCKED = {"observedGeneration": 1, "expectedPods": 2, "currentHealthy": 2, "disruptionsAllowed": 0}


@pytest.mark.parametrize(
    ("changes", "blocks"),
    [
        ({}, True),
        ({"disruptionsAllowed": 1}, False),
        ({"currentHealthy": 1}, False),
        ({"expectedPods": 0, "currentHealthy": 0}, False),
        ({"observedGeneration": 0}, False),
    ],
)
def test_one_that_blocks_drains_is_told(changes: dict[str, int], blocks: bool) -> None:
    manifest = disruption_budget.pod_disruption_budget(webapp(disruption={"minAvailable": 2}))
    live = observe(POD_DISRUPTION_BUDGET, stored(manifest, status={**BLOCKED, **changes}))
    health = disruption_budget.TYPE.health(live)
    assert disruption_budget.TYPE.explain is not None
    found = disruption_budget.TYPE.explain(webapp(), live, health, Empty(), datetime.now(UTC)).health
    assert ("node drains and cluster upgrades wait" in found.message) is blocks
    assert found.level.text == "Healthy"


@pytest.mark.parametrize(
    ("limit", "step"),
    [
        ({"minAvailable": 2}, "Run more replicas, or change spec.disruption.minAvailable: kubectl edit webapp web"),
        ({"maxUnavailable": 0}, "wait. Change spec.disruption.maxUnavailable: kubectl edit webapp web"),
        ({"maxUnavailable": "0%"}, "wait. Change spec.disruption.maxUnavailable: kubectl edit webapp web"),
        ({"minAvailable": "100%"}, "wait. Change spec.disruption.minAvailable: kubectl edit webapp web"),
    ],
)
def test_more_replicas_are_advised_only_if_they_help(limit: dict[str, Any], step: str) -> None:
    manifest = disruption_budget.pod_disruption_budget(webapp(disruption=limit))
    live = observe(POD_DISRUPTION_BUDGET, stored(manifest, status=BLOCKED))
    assert disruption_budget.TYPE.explain is not None
    health = disruption_budget.TYPE.health(live)
    found = disruption_budget.TYPE.explain(webapp(), live, health, Empty(), datetime.now(UTC)).health
    assert step in found.message


def test_the_counts_of_a_rollout_are_no_news() -> None:
    manifest = disruption_budget.pod_disruption_budget(webapp(replicas=2))
    contents = [
        observe(POD_DISRUPTION_BUDGET, stored(manifest, status={**BLOCKED, "currentHealthy": count})).content
        for count in (0, 1)
    ]
    assert contents[0] == contents[1]


def test_a_warning_is_an_event_once() -> None:
    bench = Bench()
    bench.converge()
    bench.store.observe(budget({"matchLabels": {"app.kubernetes.io/instance": "web"}}))
    bench.webapp(version=500, generation=2, disruption={"enabled": True})
    for _ in range(3):
        bench.run()
    assert [told.reason for told in bench.events.told if told.type == "Warning"] == ["DisruptionBlocked"]


class Adopting(Empty):
    """A chart's Deployment that is about to be adopted, and a budget."""

    def __init__(self, deployment: Projection, budget: Projection) -> None:
        self._deployment, self._budget = deployment, budget

    def live(self, kind: Kind, name: str) -> Projection | None:  # noqa: ARG002
        return self._deployment if kind == DEPLOYMENT else None

    def related(self, kind: Kind) -> Sequence[Projection]:
        return (self._budget,) if kind == POD_DISRUPTION_BUDGET else ()


@pytest.mark.parametrize(("instance", "told"), [("release-1", True), ("web", False)])
def test_the_pods_of_an_adopted_deployment_have_the_labels_of_its_selector(instance: str, told: bool) -> None:
    raw = stored(deployment(webapp()))
    raw["metadata"] |= {"annotations": {"coxswain.dev/adopt": "web"}, "managedFields": []}
    raw["metadata"].pop("ownerReferences")
    raw["spec"]["selector"] = {"matchLabels": {"app.kubernetes.io/instance": "release-1"}}
    other = budget({"matchLabels": {"app.kubernetes.io/instance": instance}})
    world = Adopting(observe(DEPLOYMENT, raw), other)
    ours = observe(POD_DISRUPTION_BUDGET, stored(disruption_budget.pod_disruption_budget(webapp())))
    explain = disruption_budget.TYPE.explain
    assert explain is not None
    found = explain(webapp(), ours, Health(Level.HEALTHY), world, datetime.now(UTC))
    assert (found.health.reason == "DisruptionBlocked") is told
