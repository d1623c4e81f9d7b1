"""The simulation itself: reproducible runs, minimized scripts, and invariants that can fail."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.reconciling.memory.memory import Memories
from coxswain.kernel.reconciling.memory.write_wars import _War
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.kernel.reconciling.queue.workqueue import WorkQueue
from model_cluster.shrink import shrunk
from simulation.bounds import Bounds
from simulation.conditions import Conditions
from simulation.generate import generate
from simulation.recipes_of_replicas import RECIPES as RECIPES_OF_REPLICAS
from simulation.run import Outcome as Played
from simulation.run import play
from simulation.script import Script, Step, from_json
from simulation.subject import Subject
from simulation.workloads import MODULES, workload

pytestmark = pytest.mark.thorough

WEB = {"at": "a", "name": "web-0"}
CREATE = Step(1.0, "create", {**WEB, "size": 3, "image": "app:1", "replicas": 1})
CHANGE = Step(60.0, "change", {**WEB, "what": {"image": "app:2"}})
FIGHT = Step(
    30.0, "fight", {**WEB, "field": "image", "value": "other:1", "manager": "helm", "seconds": 20.0, "pause": 0.1}
)
DRIFT = Step(30.0, "drift", {**WEB, "field": "image", "value": "other:1", "manager": "kubectl"})
PORTS = [{"name": "http", "containerPort": 8080}]
DELETIONS = Step(30.0, "delete child again and again", {**WEB, "plural": "services", "seconds": 60.0, "pause": 0.1})


def script(*steps: Step, finale: bool = False, **conditions: Any) -> Script:
    """Return a script of these steps."""
    return Script(1, "test", Conditions(**conditions), steps, finale)


def test_one_webapp_is_created_and_deleted() -> None:
    outcome = play(script(CREATE, CHANGE, finale=True))
    assert outcome.why == ""
    assert outcome.occurred == {"create": 1, "change": 1}
    assert outcome.seconds > 1200


def test_a_seed_replays_in_another_process_with_any_hash_seed() -> None:
    other_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.Popen(
        [sys.executable, "-m", "simulation", "--seed", "4", "--whole"],
        env={**os.environ, "PYTHONHASHSEED": other_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    here = play(generate(4), keep=1)  # with the log in its trace, as the command has it
    printed = other.communicate()[0].splitlines()[-1]
    assert here.seconds > 300
    assert f"trace {here.digest}: " in printed, "each draw depends on the seed alone"


def test_a_script_survives_being_written() -> None:
    scripts = [generate(seed, name) for seed in range(50) for name in MODULES]
    assert [from_json(each.to_json()) for each in scripts] == scripts
    for each in scripts:
        of = workload(each.workload).scripts
        recipes = of.recipes if each.conditions.replicas == 1 else RECIPES_OF_REPLICAS
        assert each.profile in {*of.profiles, *recipes, *of.further_recipes}


@pytest.mark.parametrize("culprits", [{3}, {3, 17}, {0, 1, 19}])
def test_a_script_is_cut_down_to_what_fails(culprits: set[int]) -> None:
    def fails(steps: Sequence[int]) -> bool:
        return culprits <= set(steps)

    assert shrunk(range(20), fails) == sorted(culprits)


def broken(outcome: Played, invariant: str) -> None:
    """Assert that the run failed because of this invariant."""
    assert outcome.invariant == invariant, outcome.why


def test_progress_can_fail() -> None:
    broken(
        play(script(CREATE, CHANGE), bounds=replace(Bounds(), calm=0.0, after=0.0, status=0.0, name=0.0)), "progress"
    )


def test_a_forgotten_webapp_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgets(*_: Any, **__: Any) -> Outcome:
        return Outcome()

    monkeypatch.setattr(Reconciler, "reconcile", forgets)
    broken(play(script(CREATE)), "nobody is forgotten")


def test_a_false_status_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from coxswain.kernel.status import conditions  # noqa: PLC0415

    finding = conditions.ConditionState("True", "Ready", "")
    monkeypatch.setattr(conditions, "_ready", lambda *_: finding)
    broken(play(script(replace(CREATE, parameters={**CREATE.parameters, "image": "app:crash"}))), "honesty")


def test_a_suspension_without_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status says Contested and a timer is set, but the other writer has stopped long ago."""
    monkeypatch.setattr(_War, "ends", property(lambda war: war.since + 100_000.0))
    broken(play(script(CREATE, FIGHT)), "progress")


def test_a_run_lasts_until_a_suspension_ends() -> None:
    """The third suspension lasts four minutes and begins just before the other writer stops."""
    outcome = play(script(CREATE, replace(FIGHT, parameters={**FIGHT.parameters, "seconds": 190.0})))
    assert outcome.why == ""
    assert outcome.seconds > 450


@pytest.mark.parametrize("seed", [3, 5])
def test_a_status_that_a_restore_took_back_is_excused_until_it_is_read(seed: int) -> None:
    """The lists are slow, and the first one that returns begins the reset of the history (found by seed 10984)."""
    lists = {"kind": "slow", "methods": "reads", "plural": None, "probability": 1.0, "pause": 20.0, "seconds": 36.0}
    steps = (
        Step(1.0, "create", {**WEB, "size": 1, "image": "app:1", "replicas": 2}),
        Step(39.0, "requests", lists),
        Step(54.4, "change", {**WEB, "what": {"replicas": 4}}),
        Step(55.5, "back up", {}),
        Step(56.9, "restore", {}),
    )
    outcome = play(replace(script(*steps, scoped=True, slowest=0.005), seed=seed))
    assert outcome.why == ""
    assert outcome.occurred["restore"] == 1


@pytest.mark.parametrize("seed", [3, 7])
def test_a_revision_may_wait_for_the_garbage_collector_when_the_spec_changes(seed: int) -> None:
    """Meanwhile the WebApp is not Ready, and its status names the revision (found by seed 21794)."""
    steps = (
        CREATE,
        Step(60.0, "delete child", {**WEB, "plural": "controllerrevisions", "how": "Orphan"}),
        Step(60.005, "change", {**WEB, "what": {"ingress": {"hosts": [{"host": "web.example.com"}]}, "ports": PORTS}}),
    )
    outcome = play(replace(script(*steps, slowest=0.005), seed=seed))
    assert outcome.why == ""
    assert outcome.occurred == {"create": 1, "delete child": 1, "change": 1}


def test_a_correction_that_always_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status says Degraded and a timer is set, but the other writer has written only once."""

    async def fails(*_: Any, **__: Any) -> Any:
        raise Refused(500, {"message": "a defect"})

    monkeypatch.setattr(Writer, "update", fails)
    broken(play(script(CREATE, DRIFT)), "progress")


def test_too_many_writes_are_found() -> None:
    broken(play(script(CREATE, DELETIONS), bounds=replace(Bounds(), requests=3)), "restraint")


def test_a_memory_leak_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memories, "forget", lambda *_: None)
    broken(play(script(CREATE, finale=True)), "memory is empty")


def test_an_internal_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: Any, **__: Any) -> Outcome:
        raise KeyError("a defect")

    monkeypatch.setattr(Reconciler, "reconcile", fails)
    broken(play(script(CREATE)), "no internal error")


def test_an_operator_that_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: Any) -> Any:
        raise OSError("the end")

    monkeypatch.setattr(WorkQueue, "get", fails)
    broken(play(script(CREATE)), "the operator runs")


def test_a_task_left_at_the_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def leaves(self: Subject) -> None:
        self._stop.set()

    monkeypatch.setattr(Subject, "end", leaves)
    broken(play(script(CREATE)), "no task is left")
