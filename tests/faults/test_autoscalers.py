"""F14 with an autoscaler: the owner of the replicas changes, and no failed or lost write deletes a pod.

The HorizontalPodAutoscaler is real. The script replaces its controller, because the cluster has no metrics.
"""

import itertools

import pytest

from fault_engine.lives import life
from fault_engine.plan import Drop, Hide, Kill
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Cut, Lift, Operator, Script, Settle, Wait, apply, inject, kubectl
from fault_engine.watching import on_watch
from faults.lives import AUTOSCALED, autoscale, autoscaler
from faults.test_watches import RESYNCED_SECONDS
from faults.test_writes import each_write

JUDGED = ("O1", "O2", "O3", "O6")
STEPS = pytest.mark.parametrize("step", ["transfer", "take back", "scale"])
"""The steps that write the owner of the replicas."""


def counts(played: Played) -> list[int]:
    """Return the successive values of the Deployment's spec.replicas."""
    assert played.evidence is not None
    found = [
        change.object["spec"]["replicas"]
        for change in played.evidence.changes
        if (change.resource, change.name) == ("deployments", "web") and change.type != "DELETED"
    ]
    return [count for count, _ in itertools.groupby(found)]


def count_differences(played: Played, reference: Played) -> list[str]:
    """Return a sentence if the successive replicas differ from the reference."""
    found, expected = counts(played), counts(reference)
    return [] if found == expected else [f"the replicas were {found}; in the reference {expected}"]


@pytest.mark.fault(
    "F14",
    "the replicas go to an autoscaler and back: killed before each write, after the response to the previous one",
    oracles=JUDGED,
    broken="gives-up-replicas-early",
)
@STEPS
def test_killed_between_writes(case: Case, step: str) -> None:
    each_write(case, step, Kill(forwarded=False), steps=AUTOSCALED, besides=count_differences)


@pytest.mark.fault(
    "F14",
    "the replicas go to an autoscaler and back: killed before the response to each write",
    oracles=JUDGED,
    broken="gives-up-replicas-early",
)
@STEPS
def test_killed_before_the_answer(case: Case, step: str) -> None:
    each_write(case, step, Kill(answered=True), Drop(answered=True), steps=AUTOSCALED, besides=count_differences)


LIFE = life("autoscale", AUTOSCALED)


def judged(case: Case, script: Script, reference: Played) -> None:
    wrong = count_differences(case(script, reference=reference), reference)
    case.measured.violations += wrong
    assert not wrong, wrong
    print(counts(reference))


@pytest.mark.fault(
    "F14",
    "an autoscaler is deleted while the operator is down: its last count stays",
    oracles=JUDGED,
    broken="takes-replicas-back-at-once",
)
@pytest.mark.ci
def test_deleted_while_the_operator_is_down(case: Case) -> None:
    deleted = kubectl("delete", "hpa", "scaler")
    script = (*LIFE, Operator("kill"), deleted, Wait(table=20), Operator("start"), Settle())
    judged(case, script, case.reference((*LIFE, deleted, Settle())))


@pytest.mark.fault(
    "F14",
    "an autoscaler's deletion hidden until another one exists: the replicas stay with it",
    oracles=("O1", "O3", "O6"),
    broken="gives-up-replicas-early",
)
def test_a_deletion_hidden(case: Case) -> None:
    hidden = inject(on_watch("horizontalpodautoscalers", Hide("scaler", "DELETED", "ADDED"), count=None))
    deleted, again = kubectl("delete", "hpa", "scaler"), apply(autoscaler())
    script = (*LIFE, hidden, Cut("horizontalpodautoscalers"), Wait(table=10), deleted, again, autoscale(6), Settle())
    reference = case.reference((*LIFE, autoscale(6), Settle()))
    judged(case, (*script, Lift()), reference)


@pytest.mark.fault(
    "F14",
    "an autoscaler's deletion without an event: the resync finds it, and the count stays",
    oracles=("O1", "O3", "O6"),
    broken="no-resync",
    resync=True,
)
def test_a_deletion_without_event(case: Case) -> None:
    hidden = inject(on_watch("horizontalpodautoscalers", Hide("scaler", "DELETED", "ADDED"), count=None))
    deleted = kubectl("delete", "hpa", "scaler")
    resynced = Settle(RESYNCED_SECONDS)
    script = (*LIFE, hidden, Cut("horizontalpodautoscalers"), Wait(table=10), deleted, resynced, Lift())
    judged(case, script, case.reference((*LIFE, deleted, Settle())))
