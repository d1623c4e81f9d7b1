"""Errors have three classes, and one place classifies them."""

from typing import Any

import pytest

from coxswain.kernel.api.errors import ErrorClass, Refused, Unreachable


def refused(status: int, message: str = "", **details: Any) -> Refused:
    """Return a refusal in the API server's wording."""
    return Refused(status, {"reason": "Some", "message": message, "details": details})


POLICY = "services \"web\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: spec.x: no"
UNCONFIGURED = "ValidatingAdmissionPolicy 'x' denied request: failed to configure policy: failed to find resource"
"""Without the CRD of its parameters a policy denies everything, and names no binding."""
WEBHOOK = 'admission webhook "deny.example.com" denied the request: policy default not found'


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 422])
@pytest.mark.parametrize(
    "message", [POLICY, UNCONFIGURED, WEBHOOK, 'admission webhook "x" denied the request without explanation']
)
def test_a_denial_by_admission_is_transient_with_any_code(status: int, message: str) -> None:
    error = refused(status, message, causes=[{"message": message}])
    assert error.by_admission
    assert error.error_class is ErrorClass.TRANSIENT


@pytest.mark.parametrize("text", [POLICY, UNCONFIGURED, WEBHOOK])
def test_an_object_that_quotes_a_denial_is_refused_for_good(text: str) -> None:
    quoted = refused(422, f'Service "web" is invalid: spec.x: Invalid value: {text!r}', causes=[{"field": "spec.x"}])
    assert quoted.error_class is ErrorClass.TERMINAL


@pytest.mark.parametrize(
    ("error", "sort"),
    [
        (refused(500), ErrorClass.TRANSIENT),
        (refused(503), ErrorClass.TRANSIENT),
        (refused(429), ErrorClass.TRANSIENT),
        (refused(403), ErrorClass.TRANSIENT),
        (refused(401), ErrorClass.TRANSIENT),
        (Unreachable("reset"), ErrorClass.TRANSIENT),
        (refused(409), ErrorClass.CONFLICT),
        (refused(404), ErrorClass.CONFLICT),
        (refused(422, causes=[{"field": "metadata.uid"}]), ErrorClass.CONFLICT),
        (refused(422, causes=[{"field": "spec.replicas"}]), ErrorClass.TERMINAL),
        (refused(400), ErrorClass.TERMINAL),
        (refused(413), ErrorClass.TERMINAL),
        (refused(500, "failed to create typed patch object (...): duplicate entries for key"), ErrorClass.TERMINAL),
    ],
)
def test_each_error_has_one_class(error: Refused | Unreachable, sort: ErrorClass) -> None:
    assert error.error_class is sort


def test_a_terminating_namespace() -> None:
    assert refused(403, causes=[{"reason": "NamespaceTerminating"}]).namespace_terminating
    assert not refused(403).namespace_terminating


@pytest.mark.parametrize("details", [[{"@type": "x"}], "text", 7, {"causes": {"field": "x"}}, {"causes": "text"}])
def test_a_body_of_a_proxy(details: object) -> None:
    """K27: a gateway sends a list, and the constructor of the error ended the process."""
    error = Refused(503, {"code": 14, "message": "upstream connect error", "details": details})
    assert (error.causes, error.retry_after) == ((), None)
    assert (error.error_class, error.message) == (ErrorClass.TRANSIENT, "upstream connect error")


def test_a_cause_of_a_proxy_is_no_mapping() -> None:
    assert [cause.field for cause in Refused(422, {"details": {"causes": ["text", {"field": "spec.x"}]}}).causes] == [
        "",
        "spec.x",
    ]


def test_a_body_without_details() -> None:
    error = Refused(502, {"message": None, "details": None})
    assert (error.message, error.causes) == ("HTTP 502", ())


@pytest.mark.parametrize(
    ("header", "told", "seconds"),
    [
        ("2", 9, 2.0),
        (None, 9, 9.0),
        ("soon", 9, 9.0),
        ("inf", None, None),
        ("0", 0, None),
        (None, None, None),
        ("86400", None, 60.0),
    ],
)
def test_when_to_ask_again(header: str | None, told: int | None, seconds: float | None) -> None:
    assert Refused(429, {"details": {"retryAfterSeconds": told}}, retry_after=header).retry_after == seconds
