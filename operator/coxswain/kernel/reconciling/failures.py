"""Failed requests: their effect on the reconcile and on the health of a child."""

from collections.abc import Mapping

from coxswain.kernel.api.errors import Ending, ErrorClass, OutOfDate, Refused, RequestFailed, Undecodable, Unreachable
from coxswain.kernel.objects.quote import reason
from coxswain.kernel.status.health import Health, denied, not_written, rejected, retried

_REASONS: Mapping[type[RequestFailed], str] = {Unreachable: "NoAnswer", Undecodable: "UnreadableAnswer"}


PATIENCE = 3
"""Maximum number of consecutive transient failures without a report in the status."""


def concerns_all(error: RequestFailed) -> bool:
    """Tell whether a failed request for one child ends the whole reconcile."""
    return isinstance(error, (OutOfDate, Ending)) or (isinstance(error, Refused) and error.namespace_terminating)


def failure(error: RequestFailed, *, there: bool, patient: bool) -> Health:
    """Return the health of a child after a failed request.

    Args:
        error: the failure.
        there: whether the child exists.
        patient: whether a transient failure, such as a conflict or a 500, is not reported yet.
    """
    if isinstance(error, Refused):
        if error.error_class is ErrorClass.TERMINAL:
            return rejected(error.message)
        if error.by_admission:
            return denied(error.message)
        if error.status == 403 or not patient:
            return not_written(reason(error.reason, "WriteFailed"), error.message)
    if patient:
        return retried(there=there)
    return not_written(_REASONS.get(type(error), "WriteFailed"), str(error))
