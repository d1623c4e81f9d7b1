"""What the tests of watches have in common: rules that break watches, and what a run's history says of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from faults.history import History, Request
from faults.plan import Action, Delay, Match, Rule
from faults.play import Played

KOPF = "*-watch"
"""User-Agent of the watches and of the LISTs before them; sweeps have another."""
UNTIL_LIFTED = 3600.0


def error_event(code: int, reason: str) -> dict[str, Any]:
    """Return a watch's ERROR event."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return {"type": "ERROR", "object": {**status, "reason": reason, "message": f"the plan of faults says {code}"}}


def on_watch(resource: str, action: Action, *, count: int | None = 1) -> Rule:
    """Return a rule for the next watches of a resource, all of them if `count` is None."""
    return Rule(Match("watch", resource, agent=KOPF, count=count), action)


def gap(resource: str, action: Action) -> tuple[Rule, Rule]:
    """Return rules that break the next watch of a resource and let nothing follow it until they are lifted.

    What happens meanwhile is in the gap between what the watch told and what the next LIST or watch will tell.
    """
    after = Rule(Match("list|watch", resource, agent=KOPF, count=None), Delay(UNTIL_LIFTED))
    return on_watch(resource, action), after


@dataclass(frozen=True)
class Opening:
    """A watch that was opened: from which version, and where the one before it, or the LIST, had come to."""

    resource: str
    version: str
    due: str
    """The version from which it should have been opened."""
    listed: bool
    """Whether a LIST came right before it."""


def openings(history: History) -> Iterator[Opening]:
    """Return all openings of all watches, resource by resource.

    Raises:
        AssertionError: a watch without a LIST before it.
    """
    own = [request for request in history.requests if request.agent.endswith(KOPF.removeprefix("*"))]
    for resource in sorted({request.resource for request in own if request.verb == "watch"}):
        due, listed = "", False
        for request in own:
            if request.resource != resource or request.status != 200:
                continue
            if request.verb == "list":
                due, listed = request.answer["metadata"]["resourceVersion"], True
                continue
            assert due, f"{resource} are watched without a LIST"
            yield Opening(resource, request.query.get("resourceVersion", ""), due, listed)
            due, listed = last_version(history, request) or due, False


def last_version(history: History, watch: Request) -> str:
    """Return the version of the last line of a watch; empty if it had none."""
    versions = [
        line.object["metadata"]["resourceVersion"]
        for line in history.lines
        if line.request == watch.number and line.type in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
    ]
    return versions[-1] if versions else ""


def lasted_its_time(request: Request) -> bool:
    """Tell whether a watch was ended by the server, after as many seconds as it was asked for."""
    asked = float(request.query.get("timeoutSeconds", "inf"))
    return request.verb == "watch" and request.ended is not None and request.ended - request.at >= asked - 1


def history_of(played: Played) -> History:
    """Return what the operator sent and was sent in a run."""
    assert played.evidence is not None
    return played.evidence.history


def met(played: Played, resource: str) -> int:
    """Return how many watches of a resource met with a fault."""
    requests = history_of(played).requests
    return sum(request.verb == "watch" and request.resource == resource and bool(request.fault) for request in requests)


def busiest(played: Played, resource: str, window: float) -> int:
    """Return how many watches of a resource were opened within so many seconds at most."""
    opened = [each.at for each in history_of(played).requests if (each.verb, each.resource) == ("watch", resource)]
    return max(sum(start <= at < start + window for at in opened) for start in opened)


def told(what: str, played: Played) -> None:
    """Print how long a run took to recover."""
    times = ", ".join(f"{seconds:.1f} s" for seconds in played.recoveries) or "nothing to recover from"
    print(f"{what}: recovered after {times}")


def expired(history: History) -> Sequence[str]:
    """Return the resources whose watches were told that their version is gone."""
    return sorted(
        {
            history.request(line.request).resource
            for line in history.lines
            if line.type == "ERROR" and line.object.get("code") == 410
        }
    )
