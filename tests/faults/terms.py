"""The terms of leadership of each replica, from its recorded requests, and the writes outside of them.

Each replica has a proxy of its own, so its history has all its requests, also refused ones of a former leader.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fault_engine.evidence import Violation
from fault_engine.history import History, Request

LEASES = "leases"
TOLERANCE_SECONDS = 0.3
"""The tolerated delay between the check of the leadership and the arrival of the write at the proxy."""


@dataclass(frozen=True)
class Term:
    """A time during which a replica could write: from a renewal of the Lease to its deadline or its release."""

    begin: float
    end: float


def terms(history: History, deadline: float, lease: str | None = None) -> list[Term]:
    """Return the terms of a replica, one for each successful renewal.

    Args:
        history: its requests.
        deadline: the seconds of a term.
        lease: the name of the Lease; None if there is only one.
    """
    found: list[Term] = []
    for request in history.requests:
        if request.resource != LEASES or not request.is_write or not _succeeded(request):
            continue
        if lease not in (None, request.name):
            continue
        if request.body["spec"].get("holderIdentity"):
            found.append(Term(request.at, request.at + deadline))
        else:
            found = [Term(term.begin, min(term.end, request.at)) for term in found]
    return found


def late_writes(history: History, deadline: float, lease: str | None = None) -> list[Request]:
    """Return the writes of a replica outside its terms, except those of the Lease."""
    own = terms(history, deadline, lease)
    return [
        request
        for request in history.writes()
        if request.resource != LEASES
        and not any(term.begin <= request.at <= term.end + TOLERANCE_SECONDS for term in own)
    ]


def check(histories: Mapping[str, History], deadline: float, lease: str | None = None) -> Iterator[Violation]:
    """Yield each write outside the terms of its replica, and the longest overlap of two replicas' terms."""
    for name, history in histories.items():
        for request in late_writes(history, deadline, lease):
            what = f"{request.verb} of {request.resource} {request.name}, status {request.status}"
            yield Violation("O6", f"{name} wrote without leadership: {what}")
    held = [(name, term) for name, history in histories.items() for term in terms(history, deadline, lease)]
    overlaps = [
        (term.end - later.begin, f"{other} acquired the Lease before the end of {name}'s leadership")
        for name, term in held
        for other, later in held
        if name != other and term.begin <= later.begin < term.end
    ]
    if overlaps:
        seconds, sentence = max(overlaps)
        yield Violation("O6", f"{sentence}, by {seconds:.1f} s")


def acquired(history: History, since: float, lease: str | None = None) -> float | None:
    """Return the time of the first acquisition or renewal after a time; None without one."""
    return next((term.begin for term in terms(history, 0.0, lease) if term.begin >= since), None)


def _succeeded(request: Request) -> bool:
    return request.server_status is not None and 200 <= request.server_status < 300
