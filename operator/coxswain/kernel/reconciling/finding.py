"""What a plan, and a write that was refused, mean for the health of a child."""

from collections.abc import Mapping, Sequence

from coxswain.kernel.api.errors import Ending, OutOfDate, Refused, RequestFailed, Sort, Undecodable, Unreachable
from coxswain.kernel.conflicts.diff import Difference
from coxswain.kernel.conflicts.write_plan import Held, Plan
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.co_writers import UNKNOWN
from coxswain.webapp.health import Health, contested, denied, health, held, immutable, not_written, rejected, retried
from coxswain.webapp.immutable import Obstacle, command
from coxswain.webapp.policy import Policy
from coxswain.webapp.quote import reason
from coxswain.webapp.spec import Manifest

_NAMED_DIFFERENCES = 5


_REASONS: Mapping[type[RequestFailed], str] = {Unreachable: "NoAnswer", Undecodable: "UnreadableAnswer"}


PATIENCE = 3
"""Failures in a row that are not reported, if the next attempt may well succeed."""


def concerns_all(error: RequestFailed) -> bool:
    """Tell whether a request that failed for one child ends the whole reconcile."""
    return isinstance(error, (OutOfDate, Ending)) or (isinstance(error, Refused) and error.namespace_terminating)


def failure(error: RequestFailed, *, there: bool, patient: bool) -> Health:
    """Return the health of a child that a request failed for.

    Args:
        error: the failure.
        there: whether the child exists.
        patient: whether a failure that often passes, such as a conflict or a 500, is not reported yet.
    """
    if isinstance(error, Refused):
        if error.sort is Sort.TERMINAL:
            return rejected(error.message)
        if error.by_admission:
            return denied(error.message)
        if error.status == 403 or not patient:
            return not_written(reason(error.reason, "WriteFailed"), error.message)
    if patient:
        return retried(there=there)
    return not_written(_REASONS.get(type(error), "WriteFailed"), str(error))


def healthy(live: Projection, planned: Plan, differing: Sequence[Difference]) -> Health:
    """Return the health of a child that was brought as near to what is desired as others and policies let it."""
    fought = [found for found in planned.left if found.contested]
    if fought:
        return contested(shown(fought))
    return held(health(live.content), listed(differing))


def shown(found: Sequence[Held]) -> str:
    """Return fields and who holds them, as a message names them."""
    return ", ".join(f"{each.difference.text} ({each.manager})" for each in found[:_NAMED_DIFFERENCES])


def listed(found: Sequence[Difference]) -> str:
    """Return fields, as a message names them."""
    more = len(found) - _NAMED_DIFFERENCES
    names = ", ".join(difference.text for difference in found[:_NAMED_DIFFERENCES])
    return names + (f" and {more} more" if more > 0 else "")


def unlike(planned: Plan) -> list[str]:
    """Return the fields that others keep, or that the cluster's admission holds at another value."""
    return [difference.text for difference in (*(each.difference for each in planned.left), *planned.differences)]


def absence(manifest: Manifest) -> Held:
    """Return a child that someone deletes again and again, as a contested place: the whole."""
    return Held(Difference((), manifest, None), UNKNOWN, Policy.ENFORCE, contested=True)


def stuck(manifest: Manifest, found: Obstacle) -> Health:
    """Return the health of a child that only a person can have made anew, with the command."""
    metadata = manifest["metadata"]
    return immutable(found.field, command(manifest["kind"], metadata["name"], metadata["namespace"]))
