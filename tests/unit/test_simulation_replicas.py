"""Several replicas in the simulation: the election, its faults, and invariants that can fail."""

from collections import Counter
from typing import Any

import pytest

from coxswain.kernel.election import lease as leases
from coxswain.kernel.election.changes import Change
from coxswain.kernel.election.election import LeaseElection
from coxswain.kernel.election.elector import Elector
from coxswain.kernel.manager import Manager
from coxswain.kernel.slot_lifecycle import SlotLifecycle
from coxswain.kernel.status import conditions
from simulation.conditions import Conditions
from simulation.generate import generate
from simulation.recipes_of_replicas import RECIPES
from simulation.run import Outcome, play
from simulation.script import Script, Step, from_json
from simulation.subject import Subject

pytestmark = pytest.mark.thorough

WEB = {"at": "a", "name": "web-0"}
CREATE = Step(1.0, "create", {**WEB, "size": 1, "image": "app:1", "replicas": 1})
CHANGES = Step(20.0, "change config again and again", {**WEB, "times": 12, "pause": 4.0})
CHANGE = Step(90.0, "change", {**WEB, "what": {"image": "app:2"}})


def script(*steps: Step, replicas: int = 2, finale: bool = False, **conditions: Any) -> Script:
    """Return a script of these steps, besides a WebApp that changes often."""
    return Script(1, "test", Conditions(replicas=replicas, **conditions), (CREATE, CHANGES, *steps, CHANGE), finale)


def step(time: float, do: str, **parameters: Any) -> Step:
    return Step(time, do, parameters)


def leader(time: float, do: str, **parameters: Any) -> Step:
    return step(time, do, which="leader", **parameters)


PAUSED = leader(40.0, "pause replica", seconds=30.0, what="process")
KILLED = leader(40.0, "end replica", hard=True, pause=5.0)
STOPPED = leader(40.0, "end replica", hard=False, pause=5.0)
HUNG = leader(40.0, "lease requests", kind="time-out", seconds=30.0, methods="all", probability=1.0, pause=0.0)
DELETED = step(41.0, "change lease", how="delete")

VERSIONS = Script(1, "test", Conditions(replicas=2, elected=False), (CREATE, CHANGE))

HAPPENINGS = {
    "SIGTERM": ([STOPPED], {"takeover": 1}),
    "SIGKILL": ([KILLED], {"takeover": 1}),
    "SIGSTOP": ([PAUSED], {"takeover": 1, "leadership lost": 1}),
    "a suspended machine": (
        [leader(40.0, "pause replica", seconds=30.0, what="machine")],
        {"takeover": 1, "leadership lost": 1},
    ),
    "a blocked main loop": ([leader(40.0, "pause replica", seconds=30.0, what="main loop")], {}),
    "hung renewals": ([HUNG], {"takeover": 1, "leadership lost": 1}),
    "lost answers": (
        [leader(40.0, "lease requests", kind="lost answer", seconds=5.0, methods="all", probability=1.0, pause=0.0)],
        {},
    ),
    "a hung API server": ([step(40.0, "hang API server", seconds=20.0)], {"leadership lost": 1}),
    "a deleted Lease": ([DELETED], {}),
    "a stranger": ([step(40.0, "change lease", how="take")], {"leadership lost": 1}),
    "wall clocks": (
        [
            step(40.0, "step clock", which="leader", seconds=-3600.0, stands=True),
            step(60.0, "step clock", which="standby", seconds=600.0, stands=False),
        ],
        {},
    ),
}


@pytest.mark.parametrize(
    ("name", "replicas"),
    [*((name, 2) for name in HAPPENINGS), ("SIGTERM", 3), ("a stranger", 3), ("a deleted Lease", 3)],
)
def test_one_replica_leads_whatever_happens_and_the_webapp_is_reconciled(name: str, replicas: int) -> None:
    steps, happened = HAPPENINGS[name]
    outcome = play(script(*steps, replicas=replicas))
    assert outcome.why == ""
    assert all(outcome.occurred[each.do] for each in steps)
    counted = {each: outcome.happened[each] for each in ("takeover", "leadership lost")}
    if name in ("a hung API server", "a stranger"):  # any replica may be the next leader
        del counted["takeover"]
    assert Counter(counted) == Counter(happened)


def test_a_takeover_of_a_warm_standby_is_seen() -> None:
    outcome = play(script(STOPPED))
    assert outcome.happened["warm takeover"] >= 1


def test_the_memory_of_each_replica_is_checked() -> None:
    assert play(script(KILLED, finale=True)).why == ""


def test_two_versions_without_election_report_their_write_war() -> None:
    outcome = play(VERSIONS)
    assert outcome.why == ""
    assert outcome.happened["write war reported"] == 1


def broken(outcome: Outcome, invariant: str) -> None:
    """Assert that the run failed because of this invariant."""
    assert outcome.invariant == invariant, outcome.why


def test_two_writers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases.Lease, "released", property(lambda _: True))
    broken(play(script()), "one writer")


def test_a_write_of_a_standby_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def writes(self: Manager[Any], keys: Any, lane: Any) -> None:
        for key in keys:
            self._queue.add(key, lane)

    monkeypatch.setattr(Manager, "_enqueue", writes)
    monkeypatch.setattr(LeaseElection, "leads", lambda *_: True)
    monkeypatch.setattr(LeaseElection, "serves", lambda *_: True)
    monkeypatch.setattr(Subject, "leads", lambda self, _="": self._election._leadership.held)
    broken(play(script()), "writes of the leader")


def test_a_missing_leader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def waits(*_: Any) -> leases.Action:
        return leases.Wait(1e9)

    monkeypatch.setattr(Elector, "_attempt", waits)
    broken(play(script()), "a leader in time")


def test_a_takeover_with_a_list_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SlotLifecycle._follow

    def lists(self: SlotLifecycle[Any], change: Change) -> None:
        resync = self._enqueue.__self__._resync  # type: ignore[attr-defined]
        for kind, namespace in resync._requests:
            resync.relist_soon(kind, namespace)
        usual(self, change)

    monkeypatch.setattr(SlotLifecycle, "_follow", lists)
    broken(play(script(STOPPED)), "a takeover without a LIST")


def test_a_write_war_that_nobody_reports_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = conditions.ConditionState("False", "NoWriteWar", "")
    monkeypatch.setattr(conditions, "_contested", lambda *_: silent)
    broken(play(VERSIONS), "a write war is reported")


def test_most_seeds_have_one_replica_and_all_recipes_have_more() -> None:
    scripts = [generate(seed) for seed in range(2000)]
    counted = Counter(each.conditions.replicas for each in scripts[:1000])
    assert 850 < counted[1] < 910
    assert min(counted[2], counted[3]) > 25
    assert {each.profile for each in scripts if each.conditions.replicas > 1} >= RECIPES.keys()
    several = [each for each in scripts if each.conditions.replicas > 1]
    assert [from_json(each.to_json()) for each in several] == several


def test_the_number_of_replicas_changes_no_other_draw() -> None:
    compared = 0
    for seed in range(100):
        drawn, alone = generate(seed), generate(seed, replicas=1)
        if drawn.conditions.replicas == 1:
            assert drawn == alone
        elif seed % 2 == 0 and not alone.conditions.metadata:
            # Only a script with one replica may watch metadata, and then it has more kinds of steps.
            assert drawn.steps[: len(alone.steps)] == alone.steps
            compared += 1
    assert compared >= 3
