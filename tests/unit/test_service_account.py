"""The ServiceAccount of the pods: it stays while they, or the pods of a kept revision, use its name."""

from typing import Any

import pytest

from coxswain.kernel.api.transport import HttpResponse
from coxswain.webapp.kinds import CONTROLLER_REVISION
from unit.release_bench import ReleaseBench

pytestmark = pytest.mark.model

ANOTHER = {"create": False, "name": "other"}


@pytest.fixture
def bench() -> ReleaseBench:
    """Return a bench with a Ready WebApp, which has its own ServiceAccount."""
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    return bench


def names(bench: ReleaseBench) -> list[str]:
    return [each["metadata"]["name"] for each in bench.live("ServiceAccount")]


def test_it_stays_if_the_pods_go_on_to_use_it(bench: ReleaseBench) -> None:
    """Another tool manages it from now on: the spec no longer creates it, but names it."""
    bench.change(rollout={"revisionHistoryLimit": 0})
    bench.settle()
    bench.release(serviceAccount={"create": False, "name": "web"})
    assert names(bench) == ["web"]
    assert bench.deployment["spec"]["template"]["spec"]["serviceAccountName"] == "web"


def test_it_is_removed_after_the_rollout_if_no_kept_revision_uses_it(bench: ReleaseBench) -> None:
    bench.change(rollout={"revisionHistoryLimit": 0})
    bench.settle()
    bench.change(serviceAccount=ANOTHER)
    bench.settle()
    assert names(bench) == ["web"], "the old pods still run"
    bench.roll_out()
    assert names(bench) == []


@pytest.mark.parametrize("account", [{"create": False}, ANOTHER])
def test_it_stays_until_the_last_revision_that_uses_it_is_pruned(bench: ReleaseBench, account: Any) -> None:
    """Pods of an old ReplicaSet cannot be created without their ServiceAccount."""
    bench.release(rollout={"revisionHistoryLimit": 2}, serviceAccount=account)
    bench.release(image="registry.example/web:2")
    assert (list(bench.images), names(bench)) == ([1, 2, 3], ["web"])
    bench.release(image="registry.example/web:3")
    assert (list(bench.images), names(bench)) == ([2, 3, 4], [])


def test_after_a_restart_it_stays_for_a_kept_revision(bench: ReleaseBench) -> None:
    bench.release(serviceAccount=ANOTHER)
    bench.restart()
    bench.settle()
    assert names(bench) == ["web"]


def test_it_stays_for_the_pods_if_their_revision_cannot_be_recorded(bench: ReleaseBench) -> None:
    """A quota may refuse the revision, so no kept revision names the ServiceAccount."""
    usual = bench.transport.send

    async def refusing(method: str, path: str, **request: Any) -> HttpResponse:
        if "controllerrevisions/" in path and method == "PATCH":
            return HttpResponse(403, b'{"reason": "Forbidden", "message": "exceeded quota: few"}')
        return await usual(method, path, **request)

    bench.release(rollout={"revisionHistoryLimit": 0})
    bench.change(serviceAccount={"create": False, "name": "web"})
    for revision in bench.live("ControllerRevision"):
        bench.delete(CONTROLLER_REVISION.path("shop", revision["metadata"]["name"]))
    bench.transport.send = refusing  # type: ignore[method-assign]
    for _ in range(3):
        bench.reconcile_once()
        bench.pass_time(60)
    assert bench.live("ControllerRevision") == []
    assert names(bench) == ["web"]
