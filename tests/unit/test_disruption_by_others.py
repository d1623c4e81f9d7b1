"""The warning about budgets of others that block evictions, for a WebApp without a budget."""

import dataclasses
from typing import Any

import pytest

from coxswain.webapp.kinds import POD_DISRUPTION_BUDGET
from rendered import observe
from unit.bench import Bench
from unit.test_disruption_budget import budget


@pytest.mark.parametrize(("healthy", "told"), [(1, True), (0, False)])
def test_the_only_budget_is_told_if_it_blocks(healthy: int, told: bool) -> None:
    """The WebApp has none of its own then."""
    bench = Bench()
    bench.converge()
    named = {"matchLabels": {"app.kubernetes.io/instance": "web"}}
    bench.store.observe(budget(named, version=500, expectedPods=1, currentHealthy=healthy, disruptionsAllowed=0))
    bench.run()
    bench.now += 60  # A message is not urgent.
    bench.run()
    assert {each.reason for each in bench.events.told} == ({"DisruptionBlocked"} if told else set())
    children = bench.webapp_now().content["status"]["children"]
    message = next(each for each in children if each["kind"] == "Deployment").get("message", "")
    assert message.startswith("PodDisruptionBudget theirs allows no disruption") is told
    assert message.endswith("kubectl edit pdb theirs -n shop") is told
    assert bench.conditions()["Ready"] == ("True", "Ready")


@pytest.mark.parametrize("blocks", [True, False])
@pytest.mark.parametrize("spec", [{}, {"disruption": {"enabled": False}}])
def test_two_budgets_of_others_are_told(spec: dict[str, Any], blocks: bool) -> None:
    """The eviction API refuses a pod of two budgets, also if each of them allows a disruption."""
    bench = Bench()
    bench.converge()
    named = {"matchLabels": {"app.kubernetes.io/instance": "web"}}
    theirs = budget(named, version=500, expectedPods=1, currentHealthy=1, disruptionsAllowed=0 if blocks else 1)
    bench.store.observe(theirs)
    bench.store.observe(dataclasses.replace(theirs, name="others", uid="others"))
    bench.webapp(version=500, generation=2, **spec)
    bench.run()
    bench.now += 60  # A message is not urgent.
    bench.run()
    children = bench.webapp_now().content["status"]["children"]
    message = next(each for each in children if each["kind"] == "Deployment").get("message", "")
    assert message == (
        "PodDisruptionBudgets others, theirs select the same pods, so the API server refuses to evict them. The "
        "operator changes no budget of others. Keep one and delete the rest, for example: "
        "kubectl delete pdb theirs -n shop"
    )
    assert {each.reason for each in bench.events.told} == {"DisruptionBlocked"}
    assert bench.conditions()["Ready"] == ("True", "Ready")


@pytest.mark.parametrize(
    ("limit", "step"), [({"maxUnavailable": "0%"}, ". Change it: "), ({}, "Run more replicas, or change it: ")]
)
def test_the_next_step_for_the_budget_of_another_owner(limit: dict[str, Any], step: str) -> None:
    bench = Bench()
    bench.converge()
    metadata = {"name": "theirs", "namespace": "shop", "uid": "theirs", "resourceVersion": "500"}
    spec = {"selector": {"matchLabels": {"app.kubernetes.io/instance": "web"}}, **limit}
    status = {"expectedPods": 1, "currentHealthy": 1, "disruptionsAllowed": 0}
    bench.store.observe(observe(POD_DISRUPTION_BUDGET, {"metadata": metadata, "spec": spec, "status": status}))
    bench.run()
    bench.now += 60
    bench.run()
    children = bench.webapp_now().content["status"]["children"]
    message = next(each for each in children if each["kind"] == "Deployment")["message"]
    assert step in message


def test_a_blocking_budget_hides_no_cause_of_a_missing_restart() -> None:
    bench = Bench()
    bench.webapp(restartOn={"secrets": ["db"]})
    bench.run()
    bench.roll_out()
    named = {"matchLabels": {"app.kubernetes.io/instance": "web"}}
    bench.store.observe(budget(named, version=500, expectedPods=1, currentHealthy=1, disruptionsAllowed=0))
    bench.run()
    children = bench.webapp_now().content["status"]["children"]
    message = next(each for each in children if each["kind"] == "Deployment")["message"]
    assert message.startswith("spec.restartOn names Secret db, which does not exist")
