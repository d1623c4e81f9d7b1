"""What a request can fail with, and the one place that decides what follows from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Sort(Enum):
    """The three sorts of errors."""

    TRANSIENT = "transient"
    """Tried again after a while."""
    CONFLICT = "conflict"
    """What was known is out of date: look again."""
    TERMINAL = "terminal"
    """Not tried again until the spec or a child changes, or at the next resync."""


class RequestFailed(Exception):
    """A request did not do what it should."""

    @property
    def sort(self) -> Sort:
        """What follows from it."""
        return Sort.TRANSIENT


class Unreachable(RequestFailed):
    """No answer: refused, reset, timed out, not trusted."""


class Ending(Unreachable):
    """Not sent: the operator is about to end."""


class TooLarge(RequestFailed):
    """An answer beyond what one may have; the rest of it was not read."""


class Undecodable(RequestFailed):
    """An answer that is no JSON object."""


class OutOfDate(RequestFailed):
    """Not sent: what it was decided on is of the past."""

    @property
    def sort(self) -> Sort:
        """The present is known, or its news is on the way."""
        return Sort.CONFLICT


@dataclass(frozen=True)
class Cause:
    """One cause of a refusal, as the API server names it."""

    field: str
    reason: str
    message: str


class Refused(RequestFailed):
    """The API server answered with an error."""

    retry_after: float | None
    """Seconds after which the API server wants to be asked again, if it says so."""

    def __init__(self, status: int, body: Mapping[str, Any], *, retry_after: str | None = None) -> None:
        """Read a refusal from its body, a Status; `retry_after` is the header of that name."""
        self.status = status
        self.reason = str(body.get("reason") or "")
        self.message = str(body.get("message") or f"HTTP {status}")
        details = body.get("details") or {}
        self.causes = tuple(
            Cause(str(cause.get("field", "")), str(cause.get("reason", "")), str(cause.get("message", "")))
            for cause in details.get("causes") or ()
        )
        self.retry_after = retry_after_seconds(retry_after, details.get("retryAfterSeconds"))
        super().__init__(f"{status} {self.reason}: {self.message}")

    @property
    def sort(self) -> Sort:
        """The sort of this refusal."""
        return sort_of(self)

    @property
    def namespace_terminating(self) -> bool:
        """Whether nothing can be created because the namespace is being deleted."""
        return self.status == 403 and any(cause.reason == "NamespaceTerminating" for cause in self.causes)

    @property
    def by_admission(self) -> bool:
        """Whether a ValidatingAdmissionPolicy or an admission webhook denied the request.

        Either chooses the status code, and a webhook the reason too. So the message decides, which the API server
        begins in a way of its own. The causes of a policy name no field.
        """
        return bool(_DENIED.search(self.message)) and not any(cause.field for cause in self.causes)

    @property
    def field_conflicts(self) -> tuple[Cause, ...]:
        """Fields that another manager holds, if that is why an apply without force was refused.

        A 409 without them means something else: the object has changed or gone, or its name is taken.
        """
        return tuple(cause for cause in self.causes if self.status == 409 and cause.reason == "FieldManagerConflict")

    @property
    def undeclared_status_fields(self) -> tuple[str, ...]:
        """Fields of the status that an apply named and the schema hasn't: it is not pruned, but refused as a whole."""
        fields = re.findall(r"\.status\.(\w+)\S*: field not declared in schema", self.message)
        return tuple(dict.fromkeys(fields)) if self.status == 500 else ()

    @property
    def another_uid(self) -> bool:
        """Whether an object with another uid has the name now."""
        return self.status == 422 and any(cause.field == "metadata.uid" for cause in self.causes)


_DENIED = re.compile(
    r"""^admission\ webhook\ "[^"]*"\ denied\ the\ request
    |AdmissionPolicy\ '[^']*'\ with\ binding\ '[^']*'\ denied\ request:
    """,
    re.VERBOSE,
)


RETRY_AFTER_LIMIT = 60.0
"""Seconds. The API server itself asks for up to 32; a proxy that asks for a day must not stop the operator."""


def retry_after_seconds(*values: object) -> float | None:
    """Return the seconds of a Retry-After, at most the limit: the first value that is a positive number.

    HTTP also allows a date, which the API server never sends.
    """
    for value in values:
        try:
            seconds = float(str(value))
        except ValueError:
            continue
        if 0 < seconds < float("inf"):
            return min(seconds, RETRY_AFTER_LIMIT)
    return None


def sort_of(error: Refused) -> Sort:
    """Decide what follows from a refusal.

    403 is transient: rights and quotas change without an event that would tell, and so do admission policies and
    webhooks, whatever their code. A 500 for a manifest that can't be typed (two items with one merge key) will be a
    500 for ever.
    """
    if error.by_admission:
        return Sort.TRANSIENT
    if error.status in (404, 409) or error.another_uid:
        return Sort.CONFLICT
    if error.status in (400, 405, 406, 413, 415, 422):
        return Sort.TERMINAL
    if error.status == 500 and "failed to create typed patch object" in error.message:
        return Sort.TERMINAL
    return Sort.TRANSIENT
