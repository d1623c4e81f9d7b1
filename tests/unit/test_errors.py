"""Errors are of three sorts, and one place decides."""

from typing import Any

import pytest

from coxswain.kube.errors import Refused, Sort, Unreachable


def refused(status: int, message: str = "", **details: Any) -> Refused:
    """A refusal as the API server words it."""
    return Refused(status, {"reason": "Some", "message": message, "details": details})


@pytest.mark.parametrize(
    ("error", "sort"),
    [
        (refused(500), Sort.TRANSIENT),
        (refused(503), Sort.TRANSIENT),
        (refused(429), Sort.TRANSIENT),
        (refused(403), Sort.TRANSIENT),
        (refused(401), Sort.TRANSIENT),
        (Unreachable("reset"), Sort.TRANSIENT),
        (refused(409), Sort.CONFLICT),
        (refused(404), Sort.CONFLICT),
        (refused(422, causes=[{"field": "metadata.uid"}]), Sort.CONFLICT),
        (refused(422, causes=[{"field": "spec.replicas"}]), Sort.TERMINAL),
        (refused(400), Sort.TERMINAL),
        (refused(413), Sort.TERMINAL),
        (refused(500, "failed to create typed patch object (...): duplicate entries for key"), Sort.TERMINAL),
    ],
)
def test_sorts(error: Refused | Unreachable, sort: Sort) -> None:
    assert error.sort is sort


def test_a_terminating_namespace() -> None:
    assert refused(403, causes=[{"reason": "NamespaceTerminating"}]).namespace_terminating
    assert not refused(403).namespace_terminating


def test_a_body_without_details() -> None:
    error = Refused(502, {"message": None, "details": None})
    assert (error.message, error.causes) == ("HTTP 502", ())


@pytest.mark.parametrize(
    ("header", "told", "seconds"),
    [("2", 9, 2.0), (None, 9, 9.0), ("soon", 9, 9.0), ("inf", None, None), ("0", 0, None), (None, None, None)],
)
def test_when_to_ask_again(header: str | None, told: int | None, seconds: float | None) -> None:
    assert Refused(429, {"details": {"retryAfterSeconds": told}}, retry_after=header).retry_after == seconds
