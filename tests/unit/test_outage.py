"""An outage: who looks whether it is over, and who needn't wait when it is."""

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.recovery_probe import RecoveryProbe

A, B, C = (Key("shop", name) for name in "abc")


def test_each_looks_in_turn() -> None:
    outage = RecoveryProbe()
    assert outage.candidate is None
    for key in (A, B, C):
        outage.server_failed(key)
    turns: list[Key] = []
    for _ in range(4):
        assert outage.candidate is not None
        turns.append(outage.candidate)
        outage.server_failed(outage.candidate)
    assert turns == [A, B, C, A]


def test_one_that_had_failed_and_succeeds_frees_the_others() -> None:
    outage = RecoveryProbe()
    for key in (A, B, C):
        outage.server_failed(key)
    assert outage.succeeded(B) == [A, C]
    assert outage.candidate is None
    assert outage.succeeded(A) == []


def test_the_success_of_one_that_had_not_failed_says_nothing() -> None:
    outage = RecoveryProbe()
    outage.server_failed(A)
    assert outage.succeeded(B) == []
    assert outage.candidate == A


def test_nothing_is_left_when_history_starts_over() -> None:
    outage = RecoveryProbe()
    outage.server_failed(A)
    outage.clear()
    assert outage.candidate is None


def test_one_that_fails_in_another_way_lets_others_look_first() -> None:
    outage = RecoveryProbe()
    for key in (A, B):
        outage.server_failed(key)
    outage.attempt_failed(A)
    outage.attempt_failed(C)
    assert outage.candidate == B
    assert outage.succeeded(B) == [A]
