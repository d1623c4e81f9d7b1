"""The simulation on each workload: the same harness, actions of each workload, and invariants that can fail."""

import ast
import asyncio
from typing import Any

import pytest

from coxswain.kernel.objects.projection import Rules, whole
from coxswain.kernel.reconciling.memory.memory import Memories
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from example import scheduled_task
from model_cluster.chance import Chance
from model_cluster.cluster import Cluster
from model_cluster.controllers import Controllers
from model_cluster.trace import Trace
from model_cluster.virtual import VirtualLoop, run
from simulation.conditions import Conditions
from simulation.generate import actions_of, generate
from simulation.run import Outcome as Played
from simulation.run import play
from simulation.script import Script, Step
from simulation.workloads import MODULES, ROOT, workload

SIMULATION = ROOT / "tests" / "simulation"
TASK = {"at": "a", "name": "task-0"}
CREATE = {
    "webapp": Step(1.0, "create", {"at": "a", "name": "web-0", "size": 3, "image": "app:1", "replicas": 1}),
    "scheduled-task": Step(1.0, "create", {**TASK, "size": 1, "image": "app:1"}),
}


def script(name: str, *steps: Step, finale: bool = False) -> Script:
    """Return a script of these steps after the creation of a parent."""
    return Script(1, "test", Conditions(), (CREATE[name], *steps), finale, name)


def broken(outcome: Played, invariant: str) -> None:
    """Assert that the run failed because of this invariant."""
    assert outcome.invariant == invariant, outcome.why


def test_a_deployment_has_pods_although_the_operator_does_not_watch_them() -> None:
    def now() -> float:
        return 0.0

    cluster = Cluster(now, Chance("a"), Trace(now), crds=(), resources=("deployments",), restricted_agent="coxswain")
    assert set(cluster.objects) == {"deployments", "replicasets", "pods"}


def test_a_pod_runs_although_the_operator_has_no_deployments() -> None:
    loop, failures = VirtualLoop(Chance("loop")), list[Any]()
    loop.set_exception_handler(lambda _, context: failures.append(context.get("exception")))
    made = Cluster(loop.time, Chance("a"), Trace(loop.time), crds=(), resources=("pods",), restricted_agent="coxswain")
    body = {"metadata": {"name": "task"}, "spec": {"containers": [{"name": "task", "image": "app:1"}]}}

    async def create() -> None:
        Controllers(made, Chance("b"), slowest=0.05)
        made.request("user", "POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
        asyncio.get_running_loop().call_soon(made.request, "user", "POST", made.path("pods", "a"), body)
        await asyncio.sleep(20.0)

    run(loop, create())
    assert failures == []
    assert (made.get("pods", ("a", "task")) or {})["status"]["phase"] == "Running"


def test_the_default_workload_is_the_webapp() -> None:
    assert generate(1) == generate(1, "webapp")
    assert {step.parameters.get("name", "web-0").partition("-")[0] for step in generate(1).steps} == {"web"}


def test_only_the_example_has_no_autoscalers() -> None:
    assert "autoscale" in actions_of("webapp")
    assert "run" in actions_of("scheduled-task")
    assert not {"autoscale", "other content"} & set(actions_of("scheduled-task"))


@pytest.mark.parametrize("name", MODULES)
def test_a_forgotten_parent_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgets(*_: Any, **__: Any) -> Outcome:
        return Outcome()

    monkeypatch.setattr(Reconciler, "reconcile", forgets)
    broken(play(script(name)), "nobody is forgotten")


@pytest.mark.parametrize("name", MODULES)
def test_a_memory_leak_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memories, "forget", lambda *_: None)
    broken(play(script(name, finale=True)), "memory is empty")


@pytest.mark.parametrize("name", MODULES)
def test_a_false_status_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from coxswain.kernel.status import conditions  # noqa: PLC0415

    finding = conditions.ConditionState("True", "Ready", "")
    monkeypatch.setattr(conditions, "_ready", lambda *_: finding)
    parameters = {"plural": workload(name).main, "label": None, "ours": False, "adopt": False}
    where = {key: CREATE[name].parameters[key] for key in ("at", "name")}
    broken(play(script(name, Step(0.5, "take name", {**where, **parameters}))), "progress")


def test_the_last_run_of_a_cron_job_is_reported() -> None:
    outcome = play(script("scheduled-task", Step(30.0, "run", TASK)))
    assert outcome.why == ""
    assert outcome.occurred["run"] == 1


def test_an_unreported_run_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules(whole(scheduled_task.CRON_JOB), namesake=str)
    monkeypatch.setitem(scheduled_task.WORKLOAD.projector._rules, scheduled_task.CRON_JOB, rules)
    broken(play(script("scheduled-task", Step(30.0, "run", TASK))), "nobody is forgotten")


def test_only_the_workloads_and_the_subject_know_the_operator() -> None:
    found = set()
    for path in SIMULATION.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {name.partition(".")[0] for name in names} & {"coxswain", "example", "rendered"}:
                found.add(path.relative_to(SIMULATION).parts[0])
    assert found == {"elections.py", "subject.py", "workloads"}
