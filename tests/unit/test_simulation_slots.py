"""Replicas that share slots in the simulation: handovers, their faults, and invariants that can fail."""

from collections import Counter
from typing import Any

import pytest

from coxswain.kernel.api import client
from coxswain.kernel.election import balance
from coxswain.kernel.election.changes import Acquired, Change
from coxswain.kernel.election.leadership import SlotLeadership
from coxswain.kernel.election.observed_slots import ObservedSlots
from coxswain.kernel.reconciling.parent.reconciler import Reconciler
from coxswain.kernel.reconciling.queue.workers import Workers
from coxswain.kernel.slot_lifecycle import SlotLifecycle
from simulation.conditions import Conditions
from simulation.elections import namespace_of, slot_of
from simulation.generate import generate
from simulation.recipes_of_slots import RECIPES
from simulation.run import Outcome, play
from simulation.script import Script, Step, from_json

pytestmark = pytest.mark.slow

COUNT = 4
NAMESPACES = ("a", "b", "h", "m")
"""One in each slot."""
STARTED = 40.0
"""After the replicas have shared the slots."""


def script(*steps: Step, replicas: int = 2) -> Script:
    """Return a script of these steps, besides a WebApp in each namespace that changes often."""
    smallest = {"size": 1, "image": "app:1", "replicas": 1}
    created = [Step(1.0, "create", {"at": at, "name": "web-0", **smallest}) for at in NAMESPACES]
    changes = [
        Step(25.0 + 2 * number, "change config again and again", {"at": at, "name": "web-0", "times": 10, "pause": 7.0})
        for number, at in enumerate(NAMESPACES)
    ]
    made = Conditions(replicas=replicas, slots=COUNT, namespaces=NAMESPACES)
    return Script(1, "test", made, (*created, *changes, *steps))


def step(time: float, do: str, **parameters: Any) -> Step:
    return Step(time, do, parameters)


def leader(time: float, do: str, **parameters: Any) -> Step:
    """Return a step for the replica that leads the first namespace."""
    return step(time, do, which="leader", **parameters)


SLOT = slot_of(NAMESPACES[0], COUNT)
STOPPED = leader(STARTED, "end replica", hard=False, pause=25.0)
KILLED = leader(STARTED, "end replica", hard=True, pause=25.0)
PAUSED = leader(STARTED, "pause replica", seconds=30.0, what="process")
TAKEN = step(STARTED, "change lease", how="take", slot=SLOT)


def slow_writes(seconds: float) -> Step:
    """Return a step: for 20 s around a handover, each write to a Deployment takes so long."""
    return step(64.0, "requests", kind="slow", seconds=20.0, methods="writes", plural="deployments", pause=seconds)


HAPPENINGS = {
    "a replica leaves and joins": ([STOPPED], {"slot given back": 2}),
    "a replica is killed and joins": ([KILLED], {"slot given back": 2}),
    "slow writes at a handover": ([STOPPED, slow_writes(6.0)], {"slot given back": 2}),
    "a paused replica": ([PAUSED], {"leadership lost": 1, "slot lost": 2, "slot given back": 2}),
    "a stranger takes a slot": ([TAKEN], {"slot lost": 1}),
    "a deleted Lease of a slot": ([step(STARTED, "change lease", how="delete", slot=SLOT)], {}),
    "one slot cannot be renewed": (
        [
            leader(
                STARTED,
                "lease requests",
                kind="unavailable",
                seconds=20.0,
                methods="writes",
                probability=1.0,
                pause=0.0,
                slot=SLOT,
            )
        ],
        {"slot lost": 1},
    ),
    "a stranger takes the shared Lease": (
        [step(STARTED, "change lease", how="take", slot=None)],
        {"leadership lost": 2},
    ),
}


@pytest.mark.parametrize("name", HAPPENINGS)
def test_each_slot_has_one_leader_whatever_happens(name: str) -> None:
    steps, happened = HAPPENINGS[name]
    outcome = play(script(*steps))
    assert outcome.why == ""
    assert all(outcome.occurred[each.do] for each in steps)
    counted = {each: outcome.happened[each] for each in ("slot given back", "slot lost", "leadership lost")}
    assert Counter(counted) == Counter(happened)


def test_three_replicas_share_and_their_memory_is_checked() -> None:
    outcome = play(script(STOPPED, replicas=3))
    assert outcome.why == ""
    assert outcome.happened["slot taken over"] >= 2
    assert outcome.happened["memory of a slot checked"] >= 2


def broken(outcome: Outcome, invariant: str) -> None:
    """Assert that the run failed because of this invariant."""
    assert outcome.invariant == invariant, outcome.why


def test_two_writers_of_a_slot_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotLeadership, "holds", lambda self, _: self.shared.held)
    broken(play(script()), "one writer")


def test_a_write_to_a_lost_slot_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = client.Client.__init__

    def careless(self: client.Client, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **{**options, "leads": lambda _: True})

    monkeypatch.setattr(client.Client, "__init__", careless)
    slow = step(STARTED - 8.0, "requests", kind="slow", seconds=30.0, methods="writes", plural="deployments", pause=4.0)
    broken(play(script(slow, TAKEN)), "writes of the leader")


def test_a_slot_without_a_leader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = ObservedSlots.is_free

    def only_released(self: ObservedSlots, slot: Any) -> bool:
        observed = self.observation(slot)
        held = observed is not None and observed.lease is not None and observed.lease.holder
        return usual(self, slot) and held in ("", self._identity)

    monkeypatch.setattr(ObservedSlots, "is_free", only_released)
    broken(play(script(KILLED)), "a leader in time")


def test_surplus_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "quota", lambda slots, _: slots)
    broken(play(script(STOPPED)), "slots are balanced")


def test_a_release_before_the_drain_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hasty(*_: Any) -> None:
        pass

    monkeypatch.setattr(Workers, "drain_namespaces", hasty)
    # Two such writes are shorter than the drain timeout, so no drain would have cancelled them.
    broken(play(script(STOPPED, slow_writes(4.0))), "a drain before the release")


def test_a_webapp_forgotten_at_a_handover_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SlotLifecycle._follow

    def forgets(self: SlotLifecycle[Any], change: Change) -> None:
        if not isinstance(change, Acquired) or self._workers._queue._clock() < STARTED:
            usual(self, change)

    monkeypatch.setattr(SlotLifecycle, "_follow", forgets)
    broken(play(script(STOPPED, slow_writes(6.0))), "nobody is forgotten")


def test_memory_of_a_slot_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reconciler, "forget_namespaces", lambda *_: None)
    broken(play(script(STOPPED)), "memory of a slot is dropped")


def test_some_seeds_have_slots_and_all_recipes_occur() -> None:
    scripts = [generate(seed) for seed in range(3000)]
    several = [each for each in scripts if each.conditions.slots > 1]
    assert 60 < len(several) < 150
    assert min(each.conditions.replicas for each in several) == 2
    assert {each.conditions.slots for each in several} == {2, 4, 8}
    forced = [generate(seed, slots=4) for seed in range(60)]
    assert {each.profile for each in forced} >= RECIPES.keys()
    assert {each.conditions.replicas for each in forced} == {2, 3}
    assert [from_json(each.to_json()) for each in several] == several


def test_the_slots_change_no_draw_of_other_scripts() -> None:
    for seed in range(60):
        assert generate(seed, replicas=1, slots=4) == generate(seed, replicas=1)
        assert generate(seed, replicas=2, slots=1).conditions.slots == 1


@pytest.mark.parametrize("count", [1, 2, 8])
def test_each_slot_has_a_namespace(count: int) -> None:
    assert [slot_of(namespace_of(slot, count), count) for slot in range(count)] == list(range(count))
