"""A child that the pods use stays, also if another manager has chosen it."""

from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.references import config_maps_of
from unit.release_bench import ReleaseBench

pytestmark = pytest.mark.model

NOTHING_KEPT = {"revisionHistoryLimit": 0}


def yielded(path: str, **spec: Any) -> ReleaseBench:
    """Return a rolled out WebApp that yields a field of its pods to others."""
    rule = {"kind": "Deployment", "path": f"spec.template.spec.{path}", "policy": "Yield"}
    bench = ReleaseBench(rollout=NOTHING_KEPT, conflicts={"rules": [rule]}, **spec)
    bench.settle()
    bench.roll_out()
    return bench


def claim(bench: ReleaseBench, **pod: Any) -> None:
    """Let another manager apply fields of the pods."""
    theirs = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    assert bench.apply(DEPLOYMENT.path("shop", "web"), {**theirs, "spec": {"template": {"spec": pod}}}).status == 200
    bench.settle()


def names(bench: ReleaseBench, kind: str) -> list[str]:
    return [each["metadata"]["name"] for each in bench.live(kind)]


def settle_later(bench: ReleaseBench) -> None:
    bench.settle()
    bench.roll_out()
    bench.pass_time(60)
    bench.settle()


def test_a_config_map_of_another_manager_stays_until_the_pods_leave_it() -> None:
    """The next pod could not start."""
    bench = yielded("containers")
    (variable,) = [each for each in _container(bench)["env"] if each["name"] == "B"]
    used = variable["valueFrom"]["configMapKeyRef"]["name"]
    claim(bench, containers=[{"name": "app", "env": [variable]}])
    bench.change(config={"B": "3"})
    settle_later(bench)
    assert variable in _container(bench)["env"]
    assert used in names(bench, "ConfigMap")
    bench.change(conflicts=None)
    settle_later(bench)
    assert variable not in _container(bench)["env"]
    assert used not in names(bench, "ConfigMap")


def test_a_service_account_of_another_manager_stays_until_the_pods_leave_it() -> None:
    bench = yielded("serviceAccountName")
    claim(bench, serviceAccountName="web")
    bench.change(serviceAccount={"create": False, "name": "other"})
    settle_later(bench)
    assert bench.deployment["spec"]["template"]["spec"]["serviceAccountName"] == "web"
    assert names(bench, "ServiceAccount") == ["web"]
    bench.change(conflicts=None)
    settle_later(bench)
    assert bench.deployment["spec"]["template"]["spec"]["serviceAccountName"] == "other"
    assert names(bench, "ServiceAccount") == []


@pytest.mark.parametrize(
    "pod",
    [
        {"containers": [{"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "used", "key": "A"}}}]}]},
        {"initContainers": [{"envFrom": [{"configMapRef": {"name": "used"}}, {"secretRef": {"name": "secret"}}]}]},
        {"volumes": [{"name": "a", "configMap": {"name": "used"}}, {"name": "b", "secret": {"secretName": "secret"}}]},
        {"volumes": [{"name": "a", "projected": {"sources": [{"configMap": {"name": "used"}}]}}]},
    ],
)
def test_the_config_maps_of_a_pod(pod: dict[str, Any]) -> None:
    assert config_maps_of(pod) == {"used"}


def _container(bench: ReleaseBench) -> dict[str, Any]:
    found: dict[str, Any] = bench.deployment["spec"]["template"]["spec"]["containers"][0]
    return found
