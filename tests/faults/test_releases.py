"""F32: a crash at each write of a failed rollout with `onFailure: Rollback`, of the rollback, and of the undo."""

from typing import Any

import pytest

from fault_engine.plan import Drop, Kill
from fault_engine.run import Case
from fault_engine.script import Kubectl, apply, kubectl
from faults.lives import SPEC, webapp
from faults.test_writes import each_write

JUDGED = ("O1", "O2", "O3", "O6")
DEADLINE_SECONDS = 3

GOOD: dict[str, Any] = {**SPEC, "rollout": {"onFailure": "Rollback", "progressDeadlineSeconds": DEADLINE_SECONDS}}
BAD: dict[str, Any] = {
    **GOOD,
    "image": "registry.example/web:missing",
    "annotations": {"kwok.test/fate": "image-missing"},
    "config": {"GREETING": "good night"},
    "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
}
STEPS: dict[str, tuple[Kubectl, ...]] = {
    "create": (apply(webapp(GOOD)),),
    "fail": (
        apply(webapp(BAD)),
        kubectl("wait", "--for=condition=RolledBack", "webapp/web", "--timeout=90s"),
    ),
    "undo": (apply(webapp(GOOD)),),
}
"""The steps of a life with a failed rollout. The former ConfigMap and Service return with the pods."""


@pytest.mark.fault(
    "F32",
    "rollback and undo: killed before each write, after the response to the previous one",
    oracles=JUDGED,
    broken="forgets-at-restart",
)
@pytest.mark.parametrize("step", ["fail", "undo"])
def test_killed_between_writes(case: Case, step: str) -> None:
    each_write(case, step, Kill(forwarded=False), steps=STEPS)


@pytest.mark.fault(
    "F32",
    "rollback and undo: the response to each write lost, and killed before it",
    oracles=JUDGED,
    broken="never-retries",
)
@pytest.mark.parametrize("step", ["fail", "undo"])
def test_answer_lost(case: Case, step: str) -> None:
    each_write(case, step, Drop(answered=True), Kill(answered=True), steps=STEPS)
