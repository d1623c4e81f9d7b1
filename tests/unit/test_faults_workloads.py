"""The workloads of the fault suite agree with their operators, and their lives have all steps."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.workload import Workload as KernelWorkload
from coxswain.webapp.workload import WORKLOAD as WEBAPP_OPERATOR
from example.scheduled_task import WORKLOAD as TASK_OPERATOR
from example.scheduled_task import Task, cron_job
from fault_engine.objects import Resource
from fault_engine.placeholders import filled
from fault_engine.plan import Match, Plan, Rule, Stream
from fault_engine.script import Life, Settle
from fault_engine.workload import LIFE, Workload
from faults.launch import PROGRAMS
from faults.workloads import WORKLOADS
from faults.workloads.scheduled_task import SCHEDULED_TASK
from faults.workloads.webapp import WEBAPP
from rendered import Empty

BOTH = pytest.mark.parametrize(
    ("workload", "operator"),
    [pytest.param(WEBAPP, WEBAPP_OPERATOR, id="webapp"), pytest.param(SCHEDULED_TASK, TASK_OPERATOR, id="task")],
)


@BOTH
def test_a_workload_names_what_its_operator_writes(workload: Workload, operator: KernelWorkload[Any]) -> None:
    kinds = operator.projector.kinds
    written = {Resource(kind.group, kind.version, kind.kind, kind.plural) for kind in kinds.children}
    assert written == {*workload.children}
    assert workload.parent.plural == kinds.parent.plural
    assert workload.manager == operator.projector.manager
    assert workload.label in operator.labels
    assert {workload.main, workload.child} <= {*workload.children}


@BOTH
def test_a_workload_has_the_manifests_of_its_operator(workload: Workload, operator: KernelWorkload[Any]) -> None:
    assert workload.crd_name in workload.crd.read_text(encoding="utf-8")
    resources = {name for rule in workload.cluster_role["rules"] for name in rule["resources"]}
    assert {kind.plural for kind in operator.projector.kinds.children} <= resources


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda workload: workload.name)
def test_each_life_is_of_the_named_parent(workload: Workload) -> None:
    assert PROGRAMS.keys() == WORKLOADS.keys()
    for step in ("create", "change", "canary", "recreate"):
        (command,) = workload.steps(Life(step, 7, "other"))
        assert command.object["metadata"]["name"] == "other"
        assert command.object["kind"] == workload.parent.kind
    assert "7" in " ".join(workload.steps(Life("edit", 7))[0].arguments)
    assert workload.steps(Life("edit", 2))[0].arguments[:3] != workload.steps(Life("edit main", 2))[0].arguments[:3]


def test_a_life_without_a_step_is_refused() -> None:
    with pytest.raises(ValueError, match="workload webapp: the life lacks the steps recreate"):
        dataclasses.replace(WEBAPP, life={step: () for step in LIFE if step != "recreate"})


def test_a_main_child_follows_its_parent_or_not() -> None:
    created, changed = Life("create"), Life("change")
    spec = SCHEDULED_TASK.steps(created)[0].object["spec"]
    child = cron_job(Task("shop", "web", "uid-1", 1, spec), Empty()).manifest
    assert SCHEDULED_TASK.follows_life(created, [child]) is None
    assert "cronjobs/web does not follow" in str(SCHEDULED_TASK.follows_life(changed, [child]))
    assert SCHEDULED_TASK.follows_life(created, []) == "there are 0 cronjobs called web"


def test_what_is_missing_of_a_scheduled_task() -> None:
    parent = SCHEDULED_TASK.steps(Life("create"))[0].object
    child = cron_job(Task("shop", "web", "uid-1", 1, parent["spec"]), Empty()).manifest
    problem = SCHEDULED_TASK.problem
    assert problem(parent, {"configmaps": [{}], "cronjobs": [child]}) is None
    assert problem(parent, {"configmaps": None, "cronjobs": None}) is None
    assert problem(parent, {"configmaps": [], "cronjobs": [child]}) == "it owns no ConfigMap"
    assert problem(parent, {"configmaps": [{}], "cronjobs": []}) == "it owns no CronJob"
    other = {**child, "spec": {**child["spec"], "schedule": "* * * * *"}}
    assert problem(parent, {"configmaps": [{}], "cronjobs": [other]}) == "its CronJob has another schedule or image"


def test_placeholders_are_replaced_wherever_there_is_text() -> None:
    words = {"main": "cronjobs", "namespace": "run-1"}
    rule = Rule(Match("patch", "{main}", namespace="{namespace}"), Stream(inject=("{main}\n",), then="close"))
    assert filled(Plan((rule,)), words) == Plan(
        (Rule(Match("patch", "cronjobs", namespace="run-1"), Stream(inject=("cronjobs\n",), then="close")),)
    )
    assert filled({"{main}": ["{main}/web", 1, None]}, words) == {"cronjobs": ["cronjobs/web", 1, None]}
    assert filled("{.status} {other}", words) == "{.status} {other}"
    assert filled(Settle(3.0), words) == Settle(3.0)
