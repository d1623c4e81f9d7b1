"""An outage: who looks whether it is over, and who needn't wait when it is."""

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.recovery_probe import RecoveryProbe

A, B, C = (Key("shop", name) for name in "abc")


def test_each_looks_in_turn() -> None:
    outage = RecoveryProbe()
    assert outage.scout is None
    for key in (A, B, C):
        outage.met_by(key)
    turns: list[Key] = []
    for _ in range(4):
        assert outage.scout is not None
        turns.append(outage.scout)
        outage.met_by(outage.scout)
    assert turns == [A, B, C, A]


def test_one_that_had_failed_and_succeeds_frees_the_others() -> None:
    outage = RecoveryProbe()
    for key in (A, B, C):
        outage.met_by(key)
    assert outage.over_for(B) == [A, C]
    assert outage.scout is None
    assert outage.over_for(A) == []


def test_the_success_of_one_that_had_not_failed_says_nothing() -> None:
    outage = RecoveryProbe()
    outage.met_by(A)
    assert outage.over_for(B) == []
    assert outage.scout == A


def test_nothing_is_left_when_history_starts_over() -> None:
    outage = RecoveryProbe()
    outage.met_by(A)
    outage.clear()
    assert outage.scout is None


def test_one_that_fails_in_another_way_lets_others_look_first() -> None:
    outage = RecoveryProbe()
    for key in (A, B):
        outage.met_by(key)
    outage.still_met_by(A)
    outage.still_met_by(C)
    assert outage.scout == B
    assert outage.over_for(B) == [A]
