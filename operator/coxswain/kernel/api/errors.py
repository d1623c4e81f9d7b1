"""Errors of API requests and their classification, which decides about the retry."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class ErrorClass(Enum):
    """The classes of errors, by the reaction to them."""

    TRANSIENT = "transient"
    """Retry with backoff."""
    CONFLICT = "conflict"
    """The observed state is stale: read the object again and reconcile."""
    TERMINAL = "terminal"
    """Do not retry before the spec or a child changes, or the next resync."""


class RequestFailed(Exception):
    """A request failed."""

    retry_after: float | None = None
    """Seconds to wait as requested by the API server; None without a Retry-After."""

    @property
    def error_class(self) -> ErrorClass:
        """The class of the error."""
        return ErrorClass.TRANSIENT


class Unreachable(RequestFailed):
    """The API server did not respond: connection refused or reset, timeout, or failed TLS handshake."""


class NotSent(Unreachable):
    """The request was not sent, for a reason of this process. It says nothing about the API server or the object."""


class ShuttingDown(NotSent):
    """The request was not sent because the operator is shutting down."""


class NotLeading(NotSent):
    """The write was not sent because this process does not lead."""


class TooLarge(RequestFailed):
    """The response exceeds the size limit; the rest of it was not read."""


class Undecodable(RequestFailed):
    """The response is not a JSON object."""


class ReadRejected(RequestFailed):
    """A GET was answered with a code that is terminal for a write, such as 400 by a proxy.

    A GET sends no manifest, so no change of the spec helps, and no event tells when to read again.
    """


class OutOfDate(RequestFailed):
    """The request was not sent because it was computed from stale state."""

    @property
    def error_class(self) -> ErrorClass:
        """A conflict: the current state is already cached, or its watch event is on the way."""
        return ErrorClass.CONFLICT


@dataclass(frozen=True)
class Cause:
    """One entry of `details.causes` in a Status."""

    field: str
    reason: str
    message: str


class Refused(RequestFailed):
    """The API server responded with an error status."""

    def __init__(self, status: int, body: Mapping[str, Any], *, retry_after: str | None = None) -> None:
        """Parse an error response.

        Args:
            status: the HTTP status code.
            body: the decoded body, a `Status`. A proxy before the API server may send JSON of another form.
            retry_after: the Retry-After header.
        """
        self.status = status
        self.reason = str(body.get("reason") or "")
        self.message = str(body.get("message") or f"HTTP {status}")
        details = _mapping(body.get("details"))
        causes = details.get("causes")
        self.causes = tuple(
            Cause(str(cause.get("field", "")), str(cause.get("reason", "")), str(cause.get("message", "")))
            for cause in map(_mapping, causes if isinstance(causes, list) else [])
        )
        self.retry_after = retry_after_seconds(retry_after, details.get("retryAfterSeconds"))
        super().__init__(f"{status} {self.reason}: {self.message}")

    @property
    def error_class(self) -> ErrorClass:
        """The class of this error."""
        return classify(self)

    @property
    def namespace_terminating(self) -> bool:
        """Whether a create was rejected because the namespace is being deleted."""
        return self.status == 403 and any(cause.reason == "NamespaceTerminating" for cause in self.causes)

    @property
    def by_admission(self) -> bool:
        """Whether a ValidatingAdmissionPolicy or an admission webhook denied the request.

        Policies and webhooks choose the status code, and webhooks the reason as well. The API server sets the prefix of
        the message, so that decides. The causes of a policy name no field.
        """
        return bool(_DENIED.search(self.message)) and not any(cause.field for cause in self.causes)

    @property
    def field_conflicts(self) -> tuple[Cause, ...]:
        """The fields owned by another manager, if an apply without force was rejected for them.

        A 409 without such causes has another reason: the object has changed or was deleted, or the name is in use.
        """
        return tuple(cause for cause in self.causes if self.status == 409 and cause.reason == "FieldManagerConflict")

    @property
    def undeclared_status_fields(self) -> tuple[str, ...]:
        """The status fields of an apply not declared in the CRD's schema.

        The API server does not prune them in an apply, but rejects the whole request.
        """
        fields = re.findall(r"\.status\.(\w+)\S*: field not declared in schema", self.message)
        return tuple(dict.fromkeys(fields)) if self.status == 500 else ()

    @property
    def another_uid(self) -> bool:
        """Whether another object (with another uid) has the name now."""
        return self.status == 422 and any(cause.field == "metadata.uid" for cause in self.causes)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


_DENIED = re.compile(
    r"""^admission\ webhook\ "[^"]*"\ denied\ the\ request
    |AdmissionPolicy\ '[^']*'\ (with\ binding\ '[^']*'\ )?denied\ request:
    """,
    re.VERBOSE,
)


RETRY_AFTER_LIMIT = 60.0
"""Seconds. The API server itself asks for up to 32. The limit protects from a proxy that asks for a day."""


def retry_after_seconds(*values: object) -> float | None:
    """Return the seconds of a Retry-After, at most `RETRY_AFTER_LIMIT`; None without a positive number.

    The first positive number of the values counts. HTTP also allows a date, but the API server never sends one.
    """
    for value in values:
        try:
            seconds = float(str(value))
        except ValueError:
            continue
        if 0 < seconds < float("inf"):
            return min(seconds, RETRY_AFTER_LIMIT)
    return None


def classify(error: Refused) -> ErrorClass:
    """Classify an error response.

    403 is transient, because RBAC rules and quotas change without a watch event. So do admission policies and webhooks:
    a denial is transient with any status code. A 500 for a manifest without a typed form (two list items with the same
    merge keys) is terminal, because a retry cannot succeed.
    """
    if error.by_admission:
        return ErrorClass.TRANSIENT
    if error.status in (404, 409) or error.another_uid:
        return ErrorClass.CONFLICT
    if error.status in (400, 405, 406, 413, 415, 422):
        return ErrorClass.TERMINAL
    if error.status == 500 and "failed to create typed patch object" in error.message:
        return ErrorClass.TERMINAL
    return ErrorClass.TRANSIENT
