"""Containers of a chart that become sidecars, at the adoption of their Deployment or later: on the model API server."""

from typing import Any

import pytest

from coxswain.webapp.kinds import DEPLOYMENT
from unit.release_bench import ReleaseBench
from unit.test_deployment_adoption import MAIN, PORTS, PROXY, RELEASE, SIDECAR

pytestmark = pytest.mark.model

CHARTED = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "annotations": {"coxswain.dev/adopt": "web"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": RELEASE},
        "template": {"metadata": {"labels": RELEASE}, "spec": {"containers": [MAIN, PROXY]}},
    },
}
YIELD, HALT = (
    {"rules": [{"kind": "Deployment", "path": "spec.template.spec.initContainers", "policy": policy}]}
    for policy in ("Yield", "Halt")
)


def adopting(**spec: Any) -> ReleaseBench:
    """Adopt a Deployment with two containers."""
    bench = ReleaseBench(image=MAIN["image"], ports=PORTS, paused=True, **spec)
    bench.post(DEPLOYMENT.path("shop"), CHARTED)
    bench.change(paused=False)
    bench.settle()
    return bench


def named_containers(bench: ReleaseBench) -> tuple[list[str], list[str]]:
    """Return the names of the live containers and init containers."""
    pod = bench.deployment["spec"]["template"]["spec"]
    return [each["name"] for each in pod["containers"]], [each["name"] for each in pod.get("initContainers", [])]


@pytest.mark.parametrize("conflicts", [{}, YIELD, HALT])
@pytest.mark.parametrize("more", [[], [{"name": "setup", "image": "registry.example/setup:1"}]])
def test_an_adoption_moves_a_container_to_the_sidecars(conflicts: dict[str, Any], more: list[Any]) -> None:
    bench = adopting(sidecars=[SIDECAR], initContainers=more, conflicts=conflicts)
    assert named_containers(bench) == (["app"], ["proxy", *(each["name"] for each in more)])
    assert bench.deployment["metadata"]["generation"] == 2, "one rollout"
    assert bench.condition("Stalled") is None or bench.condition("Stalled")[0] == "False"  # type: ignore[index]


@pytest.mark.parametrize("more", [[], [{"name": "setup", "image": "registry.example/setup:1"}]])
def test_a_container_becomes_a_sidecar_after_the_adoption(more: list[Any]) -> None:
    """The chart still owns the container. The API server rejects its name in both lists."""
    bench = adopting(initContainers=more)
    assert sorted(named_containers(bench)[0]) == ["app", "proxy"]
    bench.change(sidecars=[SIDECAR])
    bench.settle()
    assert named_containers(bench) == (["app"], ["proxy", *(each["name"] for each in more)])


def test_a_container_stays_instead_of_a_sidecar_if_the_policy_says_so() -> None:
    bench = adopting(conflicts=YIELD)
    bench.change(sidecars=[SIDECAR])
    bench.settle()
    assert (sorted(named_containers(bench)[0]), named_containers(bench)[1]) == (["app", "proxy"], [])
    (conflict,) = bench.status["conflicts"]
    assert (conflict["field"], conflict["policy"]) == ("spec.template.spec.initContainers", "Yield")
