"""Write wars over a field with a value from an admission policy: nobody can change it, but its ownership changes."""

from typing import Any

import pytest

from coxswain.webapp.kinds import SERVICE
from unit.model_bench import ModelBench

pytestmark = pytest.mark.model

PATH = SERVICE.path("shop", "web")
LABEL = "coxswain.dev/webapp"


@pytest.fixture
def bench() -> ModelBench:
    """Return a WebApp with children, and a policy that forces the value of one label of each new Service."""
    bench = ModelBench()
    bench.reconcile()

    def force(operation: str, thing: Any, _old: Any, _agent: str) -> Any:
        if operation == "DELETE" or thing["kind"] != "Service":
            return None
        metadata = thing["metadata"]
        return {**thing, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), "team": "held"}}}

    bench.api.admission.append(force)
    return bench


def version(bench: ModelBench) -> str:
    return str(bench.objects()["Service/web"]["metadata"]["resourceVersion"])


def rounds(bench: ModelBench, count: int, patch: Any) -> int:
    """Let another manager send a patch before each reconcile. Return the number of reconciles with a write."""
    written = 0
    for _ in range(count):
        bench.now += 0.1
        bench.patch(PATH, patch)
        before = version(bench)
        bench.reconcile()
        written += version(bench) != before
    return written


@pytest.mark.thorough
@pytest.mark.parametrize("removed", [{"team": None}, None], ids=["one label", "all labels"])
def test_the_war_over_an_overridden_field_ends(bench: ModelBench, removed: Any) -> None:
    """Each apply takes the field into our entry, without an effect on its value; its removal undoes that."""
    assert rounds(bench, 60, {"metadata": {"labels": removed}}) <= 12
    assert bench.objects()["Service/web"]["metadata"]["labels"]["team"] == "held"
    assert rounds(bench, 20, {"metadata": {"labels": removed}}) == 0


def test_after_the_suspension_the_field_is_enforced(bench: ModelBench) -> None:
    rounds(bench, 20, {"metadata": {"labels": {"team": None}}})
    bench.api.admission.clear()
    bench.now += 700
    bench.reconcile()
    assert bench.objects()["Service/web"]["metadata"]["labels"]["team"] == "red"


def test_after_the_removal_of_the_policy_a_resync_sets_the_value(bench: ModelBench) -> None:
    rounds(bench, 1, {"metadata": {"labels": {"theirs": "1"}}})
    assert bench.objects()["Service/web"]["metadata"]["labels"]["team"] == "held"
    bench.api.admission.clear()
    bench._memories.resynced(bench.now)
    [result] = [each for each in bench.reconcile() if each.child.kind == "Service"]
    assert bench.objects()["Service/web"]["metadata"]["labels"]["team"] == "red"
    assert "admission" not in result.child.health.message


def test_while_the_policy_stays_a_resync_costs_one_apply_without_effect(bench: ModelBench) -> None:
    rounds(bench, 1, {"metadata": {"labels": {"theirs": "1"}}})
    before, sent = version(bench), []
    usual = bench.api.request

    def request(method: str, path: str, **more: Any) -> Any:
        sent.append((method, path))
        return usual(method, path, **more)

    bench.api.request = request  # type: ignore[method-assign]
    for _ in range(3):
        bench._memories.resynced(bench.now)
        results = [result for _ in range(3) for result in bench.reconcile()]
        assert not any(each.is_drift for result in results for each in result.writes.corrections)
    assert sent.count(("PATCH", PATH)) == 3
    assert version(bench) == before


def test_without_another_manager_there_is_no_war(bench: ModelBench) -> None:
    """Unrelated writes let the policy act, and our entry keeps the field."""
    for number in range(12):
        rounds(bench, 1, {"metadata": {"labels": {"theirs": str(number)}}})
    [result] = [each for each in bench.reconcile() if each.child.kind == "Service"]
    assert bench.objects()["Service/web"]["metadata"]["labels"]["team"] == "held"
    assert result.left == ()
