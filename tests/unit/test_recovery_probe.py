"""The recovery probe: keys are retried in turn during an outage, and all others at its end."""

from coxswain.kernel.cache.store import Key
from coxswain.kernel.reconciling.queue.recovery_probe import RecoveryProbe

A, B, C = (Key("shop", name) for name in "abc")


def test_failed_keys_probe_in_turn() -> None:
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


def test_the_success_of_a_failed_key_releases_the_others() -> None:
    outage = RecoveryProbe()
    for key in (A, B, C):
        outage.server_failed(key)
    assert outage.succeeded(B, answered=True) == [A, C]
    assert outage.candidate is None
    assert outage.succeeded(A, answered=True) == []


def test_the_success_of_another_key_releases_none() -> None:
    outage = RecoveryProbe()
    outage.server_failed(A)
    assert outage.succeeded(B, answered=True) == []
    assert outage.candidate == A


def test_a_success_without_an_answered_request_releases_none() -> None:
    """A deleted WebApp needs no request, so its reconcile says nothing about the API server."""
    outage = RecoveryProbe()
    for key in (A, B, C):
        outage.server_failed(key)
    assert outage.succeeded(A, answered=False) == []
    assert outage.candidate == B
    assert outage.succeeded(B, answered=True) == [C]


def test_a_key_without_a_server_error_probes_no_longer() -> None:
    outage = RecoveryProbe()
    for key in (A, B):
        outage.server_failed(key)
    outage.discard(A)
    outage.discard(C)
    assert outage.candidate == B


def test_a_history_reset_clears_all_keys() -> None:
    outage = RecoveryProbe()
    outage.server_failed(A)
    outage.clear()
    assert outage.candidate is None


def test_a_key_that_fails_for_another_reason_probes_last() -> None:
    outage = RecoveryProbe()
    for key in (A, B):
        outage.server_failed(key)
    outage.attempt_failed(A)
    outage.attempt_failed(C)
    assert outage.candidate == B
    assert outage.succeeded(B, answered=True) == [A]
