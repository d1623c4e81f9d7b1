"""What a plan, and a write that was refused, mean for the health of a child."""

from collections.abc import Sequence

from coxswain.kube.compare import Difference
from coxswain.kube.conflicts import Held, Plan
from coxswain.kube.errors import Refused, Sort
from coxswain.kube.observed import Observed
from coxswain.webapp.health import Health, contested, denied, health, held, not_written, rejected

_NAMED_DIFFERENCES = 5


def refusal(error: Refused, *, patient: bool) -> Health | None:
    """Return the health that tells of a refusal, or None if the reconcile should rather be tried again as a whole."""
    if error.sort is Sort.TERMINAL:
        return rejected(error.message)
    if error.sort is Sort.CONFLICT or error.namespace_terminating:
        return None
    if error.by_admission:
        return denied(error.message)
    if error.status == 403 or not patient:
        return not_written(error.reason or "WriteFailed", error.message)
    return None


def healthy(live: Observed, planned: Plan, differing: Sequence[Difference]) -> Health:
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
