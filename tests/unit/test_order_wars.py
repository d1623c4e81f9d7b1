"""Another writer puts items of ours into another order again and again: a write war, although nobody owns an order."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.child.result import Result
from coxswain.webapp.kinds import DEPLOYMENT, WEBAPP
from unit.model_bench import ModelBench

pytestmark = pytest.mark.model

PATH = DEPLOYMENT.path("shop", "web")
ENV = "spec.template.spec.containers[name=app].env"
OURS, THEIRS = ["B", "A", "Z"], ["Z", "A", "B"]


@pytest.fixture
def bench() -> ModelBench:
    """Return a WebApp with children and several environment variables."""
    bench = ModelBench(env=[{"name": "A", "value": "1"}, {"name": "Z", "value": "2"}])
    bench.reconcile()
    bench.reconcile()
    assert names(bench) == OURS
    return bench


def container(deployment: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def names(bench: ModelBench) -> list[str]:
    return [each["name"] for each in container(bench.objects()["Deployment/web"])["env"]]


def values(bench: ModelBench) -> dict[str, str]:
    return {each["name"]: each.get("value") for each in container(bench.objects()["Deployment/web"])["env"]}


def change(bench: ModelBench, edit: Callable[[dict[str, Any]], None]) -> Result:
    """Let another client replace the Deployment after an edit of its container, and reconcile it."""
    bench.now += 0.1
    live = copy.deepcopy(bench.objects()["Deployment/web"])
    edit(container(live))
    assert bench.request("PUT", PATH, live, "application/json").status == 200
    return reconciled(bench)


def reconciled(bench: ModelBench) -> Result:
    return next(each for each in bench.reconcile() if each.child.kind == "Deployment")


def reorder(app: dict[str, Any]) -> None:
    app["env"].sort(key=lambda each: THEIRS.index(each["name"]))


def war(bench: ModelBench) -> None:
    """Begin a write war over the order."""
    for _ in range(5):
        change(bench, reorder)
        assert names(bench) == OURS
    change(bench, reorder)
    assert names(bench) == THEIRS


def test_another_order_is_corrected_and_reported(bench: ModelBench) -> None:
    result = change(bench, reorder)
    assert names(bench) == OURS
    assert [each.difference.text for each in result.writes.corrections if each.is_drift] == [f"{ENV} (order)"]


def test_the_war_over_an_order_ends(bench: ModelBench) -> None:
    war(bench)
    result = change(bench, reorder)
    assert result.child.health.reason == "Contested"
    assert f"{ENV} (order) (unknown)" in result.child.health.message
    bench.now += 61
    reconciled(bench)
    assert names(bench) == OURS


def test_meanwhile_the_items_are_enforced(bench: ModelBench) -> None:
    """Only the order is suspended, not the values of the list."""
    war(bench)
    change(bench, lambda app: app["env"][0].update(value="theirs"))
    assert (names(bench), values(bench)["Z"]) == (THEIRS, "2")
    change(bench, lambda app: app["env"].pop(0))
    assert sorted(values(bench)) == sorted(THEIRS)


def test_meanwhile_a_new_image_is_applied(bench: ModelBench) -> None:
    war(bench)
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"image": "registry.example/web:2"}})
    reconciled(bench)
    assert names(bench) == THEIRS
    assert container(bench.objects()["Deployment/web"])["image"] == "registry.example/web:2"


def test_a_new_list_in_the_spec_is_applied_in_its_order(bench: ModelBench) -> None:
    war(bench)
    bench.patch(
        WEBAPP.path("shop", "web"), {"spec": {"env": [{"name": "Z", "value": "3"}, {"name": "A", "value": "1"}]}}
    )
    reconciled(bench)
    assert names(bench) == ["B", "Z", "A"]


def test_an_order_that_admission_sets_is_no_war(bench: ModelBench) -> None:
    def force(operation: str, thing: Any, _old: Any, _agent: str) -> Any:
        if operation == "DELETE" or thing["kind"] != "Deployment":
            return None
        forced = copy.deepcopy(thing)
        reorder(container(forced))
        return forced

    bench.api.admission.append(force)
    for number in range(12):
        bench.patch(PATH, {"metadata": {"labels": {"theirs": str(number)}}})
        result = reconciled(bench)
        assert not any(each.is_drift for each in result.writes.corrections)
        assert (result.left, names(bench)) == ((), THEIRS)
