"""A change of a Secret that many WebApps name in spec.restartOn: each restarts once, at a time of its own."""

from collections.abc import Callable
from datetime import datetime

import pytest

from cluster import AuditLog, ControlPlane
from cluster.operator_process import OperatorProcess
from integration.scene import OPERATOR, SPEC, Scene, eventually
from integration.test_restart_on import NAMED, OVERLAY, change, message, records

Start = Callable[..., OperatorProcess]
MOST_IN_A_MINUTE = 40
"""Twice as many as with equal distances in the longest window, ten minutes for 200."""


@pytest.mark.parametrize(
    ("number", "window"),
    [
        pytest.param(12, 37.5, marks=[pytest.mark.slow, pytest.mark.timeout(300)]),
        pytest.param(200, 600.0, marks=[pytest.mark.long, pytest.mark.timeout(1200)]),
    ],
)
def test_restarts_of_many_are_spread(
    cluster: ControlPlane, namespace: str, another_operator: Start, number: int, window: float
) -> None:
    cluster.kubectl("apply", "-n", namespace, "-k", str(OVERLAY))
    scene = Scene(cluster, namespace, another_operator("--namespace", namespace, "--watch-metadata", ",".join(NAMED)))
    scene.kubectl("create", "secret", "generic", "db", "--from-literal=password=first")
    names = [f"web-{index}" for index in range(number)]
    scene.apply_all({name: {**SPEC, "restartOn": {"secrets": ["db"]}} for name in names})
    scene.all_ready(number)
    first = records(scene, names[0])
    mark = scene.cluster.audit()
    change(scene, "changed")
    eventually(lambda: any("The pods restart at 20" in message(scene, name) for name in names), "a time is told")
    times: dict[str, list[float]] = {name: [] for name in names}

    def all_restarted() -> bool:
        for name, moment in restarts(mark):
            times[name].append(moment)
        return all(times.values())

    eventually(all_restarted, "all restart", window + 30, pause=1.0)
    scene.all_ready(number)
    assert all_restarted()
    assert {len(each) for each in times.values()} == {1}, "no WebApp restarts twice"
    changed = {tuple(records(scene, name).items()) for name in names}
    assert len(changed) == 1
    assert changed != {tuple(first.items())}
    ordered = sorted(moment for (moment,) in times.values())
    busiest = max(sum(begin <= moment < begin + 60 for moment in ordered) for begin in ordered)
    span = ordered[-1] - ordered[0]
    print(f"{number} WebApps restarted within {span:.1f} s, at most {busiest} in a minute")
    assert window / 4 < span < window
    assert busiest <= MOST_IN_A_MINUTE


def restarts(mark: AuditLog) -> list[tuple[str, float]]:
    """Return the operator's writes of Deployments since the mark: the name and the time in seconds."""
    return [
        (event.name, datetime.fromisoformat(event.time).timestamp())
        for event in mark.events()
        if (event.verb, event.resource, event.user) == ("patch", "deployments", OPERATOR)
    ]
