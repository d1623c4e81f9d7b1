"""Another client clears managedFields again and again: nobody owns its changes then, and the brake still stops it."""

from typing import Any

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.child.result import Result
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE, WEBAPP
from unit.model_bench import ModelBench

pytestmark = pytest.mark.model

CLEARED: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
CHANGED: dict[str, Any] = {"metadata": {"managedFields": [{}], "labels": {"team": "theirs"}}}


@pytest.fixture
def bench() -> ModelBench:
    """Return a WebApp with children."""
    bench = ModelBench()
    bench.reconcile()
    bench.reconcile()
    return bench


def live(bench: ModelBench, kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = bench.objects()[f"{kind}/web"]
    return found


def reconciled(bench: ModelBench, kind: Kind) -> Result:
    return next(each for each in bench.reconcile() if each.child.kind == kind.kind)


def rounds(bench: ModelBench, kind: Kind, patch: Any, count: int) -> tuple[int, Result]:
    """Patch a child before each reconcile. Return the number of reconciles with a write, and the last result."""
    written, result = 0, reconciled(bench, kind)
    for _ in range(count):
        bench.now += 0.1
        answer = bench.patch(kind.path("shop", "web"), patch)
        assert "managedFields" not in answer.body["metadata"]
        result = reconciled(bench, kind)
        written += live(bench, kind)["metadata"]["resourceVersion"] != answer.body["metadata"]["resourceVersion"]
    return written, result


def foreign(result: Result) -> list[str]:
    return [each.difference.text for each in result.writes.corrections if each.is_drift]


@pytest.mark.parametrize("kind", [SERVICE, DEPLOYMENT])
def test_once_is_neither_drift_nor_a_war(bench: ModelBench, kind: Kind) -> None:
    _, result = rounds(bench, kind, CLEARED, 1)
    assert (foreign(result), result.left) == ([], ())
    assert any(each["manager"] == "coxswain" for each in live(bench, kind)["metadata"]["managedFields"])


@pytest.mark.parametrize("kind", [SERVICE, DEPLOYMENT])
def test_a_change_without_an_owner_is_drift(bench: ModelBench, kind: Kind) -> None:
    _, result = rounds(bench, kind, CHANGED, 1)
    assert foreign(result) == ["metadata"], "without managedFields nothing shows the parts of a value"
    assert live(bench, kind)["metadata"]["labels"]["team"] == "red"


@pytest.mark.parametrize("kind", [SERVICE, DEPLOYMENT])
@pytest.mark.parametrize("patch", [CLEARED, CHANGED], ids=["cleared", "cleared and changed"])
def test_the_war_ends(bench: ModelBench, kind: Kind, patch: Any) -> None:
    written, result = rounds(bench, kind, patch, 20)
    assert written == 5
    assert result.left
    assert (result.child.health.reason == "Contested") is (patch is CHANGED), "the values are the desired ones"


@pytest.mark.parametrize("patch", [CLEARED, CHANGED], ids=["cleared", "cleared and changed"])
def test_after_the_suspension_it_is_ours_again(bench: ModelBench, patch: Any) -> None:
    rounds(bench, SERVICE, patch, 20)
    bench.now += 61
    result = reconciled(bench, SERVICE)
    assert (result.left, live(bench, SERVICE)["metadata"]["labels"]["team"]) == ((), "red")
    assert any(each["manager"] == "coxswain" for each in live(bench, SERVICE)["metadata"]["managedFields"])


def test_meanwhile_a_new_image_is_applied(bench: ModelBench) -> None:
    rounds(bench, DEPLOYMENT, CHANGED, 20)
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"image": "registry.example/web:2"}})
    reconciled(bench, DEPLOYMENT)
    assert live(bench, DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:2"
