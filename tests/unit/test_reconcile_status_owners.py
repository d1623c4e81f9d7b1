"""Another client writes a label or an annotation of a child through its status: an owner like any other."""

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.child.actions import Nothing
from coxswain.kernel.reconciling.child.adoption import has_former_managers
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE, WEBAPP
from unit.model_bench import ModelBench

pytestmark = pytest.mark.model

POOL = "example.com/pool"
THEIRS = {"metadata": {"annotations": {POOL: "theirs"}}}


@pytest.fixture
def bench() -> ModelBench:
    """Return a WebApp with children, which have an annotation from its spec."""
    bench = ModelBench(annotations={POOL: "ours"})
    bench.reconcile()
    return bench


def pool(bench: ModelBench, kind: Kind) -> str:
    return str(bench.objects()[f"{kind}/web"]["metadata"]["annotations"][POOL])


def image(bench: ModelBench) -> str:
    return str(bench.objects()["Deployment/web"]["spec"]["template"]["spec"]["containers"][0]["image"])


def overwrite(bench: ModelBench, kind: Kind) -> None:
    """Set the annotation through the status, and change the image in the WebApp."""
    assert bench.patch(kind.path("shop", "web", "status"), THEIRS).status == 200
    assert pool(bench, kind) == "theirs"
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"image": "registry.example/web:2"}})


@pytest.mark.parametrize("kind", [DEPLOYMENT, SERVICE])
def test_it_is_enforced_and_reported(bench: ModelBench, kind: Kind) -> None:
    overwrite(bench, kind)
    results = bench.reconcile()
    assert [each.failed for each in results if each.failed] == []
    assert (pool(bench, kind), image(bench)) == ("ours", "registry.example/web:2")
    [result] = [each for each in results if each.child.kind == kind.kind]
    assert "kubectl-edit" in [each.manager for each in result.writes.corrections if each.is_drift]


def test_under_yield_it_stays_and_the_rest_is_applied(bench: ModelBench) -> None:
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"conflicts": {"policy": "Yield"}}})
    overwrite(bench, DEPLOYMENT)
    bench.reconcile()
    assert (pool(bench, DEPLOYMENT), image(bench)) == ("theirs", "registry.example/web:2")


def test_under_halt_nothing_is_written(bench: ModelBench) -> None:
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"conflicts": {"policy": "Halt"}}})
    overwrite(bench, DEPLOYMENT)
    [result] = [each for each in bench.reconcile() if each.child.kind == "Deployment"]
    assert (pool(bench, DEPLOYMENT), image(bench)) == ("theirs", "registry.example/web:1")
    assert (result.failed, result.child.health.reason) == (None, "Halted")


def test_an_adopted_child_gets_its_fields_from_such_a_manager_once(bench: ModelBench) -> None:
    """A manager with an update of an adopted object gives our fields up, or they could never be removed."""
    path = DEPLOYMENT.path("shop", "web")
    bench.patch(path, {"metadata": {"annotations": {"coxswain.dev/adopt": "web"}}})
    bench.patch(path + "/status", THEIRS)
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"annotations": {POOL: "theirs"}}})
    bench.reconcile()
    [(target, action)] = [each for each in bench.decisions() if each[0].manifest["kind"] == "Deployment"]
    assert target.live is not None
    assert not has_former_managers(target.parent, target.live)
    assert isinstance(action, Nothing)
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"annotations": None}})
    bench.reconcile()
    assert POOL not in bench.objects()["Deployment/web"]["metadata"].get("annotations", {})
