"""F14, the autoscaler: the replicas change hands, and no write that fails or is lost costs a pod.

The HorizontalPodAutoscaler is real; what its controller would do, the script does, for want of metrics.
"""

import itertools

import pytest

from faults.lives import AUTOSCALED, autoscale, autoscaler, life
from faults.plan import Drop, Hide, Kill
from faults.play import Played
from faults.run import Case
from faults.script import Cut, Lift, Operator, Script, Settle, Wait, apply, inject, kubectl
from faults.test_watches import RESYNCED_SECONDS
from faults.test_writes import each_write
from faults.watching import on_watch

JUDGED = ("O1", "O2", "O3", "O6")
STEPS = pytest.mark.parametrize("step", ["hand over", "take back", "scale"])
"""The steps in which whose the replicas are is written down."""


def counts(played: Played) -> list[int]:
    """Return how many replicas the Deployment was to have, one after the other."""
    assert played.evidence is not None
    found = [
        change.object["spec"]["replicas"]
        for change in played.evidence.changes
        if (change.resource, change.name) == ("deployments", "web") and change.type != "DELETED"
    ]
    return [count for count, _ in itertools.groupby(found)]


def as_many(played: Played, reference: Played) -> list[str]:
    """Return that the replicas were not, one after the other, what they were in the reference."""
    found, expected = counts(played), counts(reference)
    return [] if found == expected else [f"the replicas were {found}; in the reference {expected}"]


@pytest.mark.fault(
    "F14",
    "an autoscaler is given the replicas, and leaves them: killed before each write, the one before answered",
    oracles=JUDGED,
    broken="hands-over-without-a-holder",
)
@STEPS
def test_killed_between_writes(case: Case, step: str) -> None:
    each_write(case, step, Kill(forwarded=False), steps=AUTOSCALED, besides=as_many)


@pytest.mark.fault(
    "F14",
    "an autoscaler is given the replicas, and leaves them: killed before the answer of each write",
    oracles=JUDGED,
    broken="hands-over-without-a-holder",
)
@STEPS
def test_killed_before_the_answer(case: Case, step: str) -> None:
    each_write(case, step, Kill(answered=True), Drop(answered=True), steps=AUTOSCALED, besides=as_many)


LIFE = life("autoscale", AUTOSCALED)


def judged(case: Case, script: Script, reference: Played) -> None:
    wrong = as_many(case(script, reference=reference), reference)
    case.measured.violations += wrong
    assert not wrong, wrong
    print(counts(reference))


@pytest.mark.fault(
    "F14",
    "an autoscaler is deleted while the operator is down: the count that it left stays",
    oracles=JUDGED,
    broken="takes-back-at-once",
)
@pytest.mark.ci
def test_deleted_while_the_operator_is_down(case: Case) -> None:
    deleted = kubectl("delete", "hpa", "scaler")
    script = (*LIFE, Operator("kill"), deleted, Wait(table=20), Operator("start"), Settle())
    judged(case, script, case.reference((*LIFE, deleted, Settle())))


@pytest.mark.fault(
    "F14",
    "an autoscaler's deletion hidden until another one is there: nothing is taken back",
    oracles=("O1", "O3", "O6"),
    broken="hands-over-without-a-holder",
)
def test_a_deletion_hidden(case: Case) -> None:
    hidden = inject(on_watch("horizontalpodautoscalers", Hide("scaler", "DELETED", "ADDED"), count=None))
    deleted, again = kubectl("delete", "hpa", "scaler"), apply(autoscaler())
    script = (*LIFE, hidden, Cut("horizontalpodautoscalers"), Wait(table=10), deleted, again, autoscale(6), Settle())
    reference = case.reference((*LIFE, autoscale(6), Settle()))
    judged(case, (*script, Lift()), reference)


@pytest.mark.fault(
    "F14",
    "an autoscaler's deletion that no event tells: the resync finds it, and the count stays",
    oracles=("O1", "O3", "O6"),
    broken="no-resync",
    resync=True,
)
def test_a_deletion_never_told(case: Case) -> None:
    hidden = inject(on_watch("horizontalpodautoscalers", Hide("scaler", "DELETED", "ADDED"), count=None))
    deleted = kubectl("delete", "hpa", "scaler")
    swept = Settle(RESYNCED_SECONDS)
    script = (*LIFE, hidden, Cut("horizontalpodautoscalers"), Wait(table=10), deleted, swept, Lift())
    judged(case, script, case.reference((*LIFE, deleted, Settle())))
