"""Helpers for the tests of watches: rules that break watches, and queries on the history of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from fault_engine.history import History, Request
from fault_engine.placeholders import filled
from fault_engine.plan import Action, Delay, Match, Rule
from fault_engine.play import Played

WATCHER = "{watch_agent}"
"""The User-Agent of the watches and of the LISTs before them."""
UNTIL_LIFTED = 3600.0


def error_event(code: int, reason: str) -> dict[str, Any]:
    """Return an ERROR event of a watch."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return {"type": "ERROR", "object": {**status, "reason": reason, "message": f"the plan of faults sends {code}"}}


def on_watch(resource: str, action: Action, *, count: int | None = 1) -> Rule:
    """Return a rule for the next watches of a resource; for all if `count` is None."""
    return Rule(Match("watch", resource, agent=WATCHER, count=count), action)


def gap(resource: str, action: Action) -> tuple[Rule, Rule]:
    """Return rules that break the next watch of a resource, and delay its successors until the rules are lifted.

    Changes in the meantime fall into the gap between the broken watch and the next LIST or watch.
    """
    after = Rule(Match("list|watch", resource, agent=WATCHER, count=None), Delay(UNTIL_LIFTED))
    return on_watch(resource, action), after


@dataclass(frozen=True)
class Opening:
    """An opened watch, with its resourceVersion and the expected one."""

    resource: str
    version: str
    expected: str
    """The expected resourceVersion: the last one of the watch or LIST before it."""
    listed: bool
    """Whether a LIST came directly before it."""


def openings(history: History, agent: str) -> Iterator[Opening]:
    """Return all openings of the watches of a User-Agent, by resource.

    Raises:
        AssertionError: a watch without a LIST before it.
    """
    own = [request for request in history.requests if fnmatchcase(request.agent, agent)]
    for resource in sorted({request.resource for request in own if request.verb == "watch"}):
        expected, listed = "", False
        for request in own:
            if request.resource != resource or request.status != 200:
                continue
            if request.verb == "list":
                expected, listed = request.answer["metadata"]["resourceVersion"], True
                continue
            assert expected, f"{resource}: a watch without a LIST before it"
            yield Opening(resource, request.query.get("resourceVersion", ""), expected, listed)
            expected, listed = last_version(history, request) or expected, False


def last_version(history: History, watch: Request) -> str:
    """Return the resourceVersion of the last line of a watch; empty if it had none."""
    versions = [
        line.object["metadata"]["resourceVersion"]
        for line in history.lines
        if line.request == watch.number and line.type in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
    ]
    return versions[-1] if versions else ""


def lasted_its_time(request: Request) -> bool:
    """Tell whether the server ended a watch at the requested timeoutSeconds."""
    asked = float(request.query.get("timeoutSeconds", "inf"))
    return request.verb == "watch" and request.ended is not None and request.ended - request.at >= asked - 1


def history_of(played: Played) -> History:
    """Return the history of a run."""
    assert played.evidence is not None
    return played.evidence.history


def named(played: Played, text: str) -> str:
    """Return a text of a script with its placeholders replaced."""
    assert played.evidence is not None
    made: str = filled(text, played.evidence.workload.words)
    return made


def faulty_watches(played: Played, resource: str) -> int:
    """Return the number of faulty watches of a resource or of a placeholder."""
    requests, resource = history_of(played).requests, named(played, resource)
    return sum(request.verb == "watch" and request.resource == resource and bool(request.fault) for request in requests)


def busiest(played: Played, resource: str, window: float) -> int:
    """Return the maximum number of watches of a resource or of a placeholder opened within a window, in seconds."""
    resource = named(played, resource)
    opened = [each.at for each in history_of(played).requests if (each.verb, each.resource) == ("watch", resource)]
    return max(sum(start <= at < start + window for at in opened) for start in opened)


def print_recovery(what: str, played: Played) -> None:
    """Print the recovery times of a run."""
    times = ", ".join(f"{seconds:.1f} s" for seconds in played.recoveries) or "no recovery needed"
    print(f"{what}: recovered after {times}")


def expired(history: History) -> Sequence[str]:
    """Return the resources whose watches got an ERROR 410."""
    return sorted(
        {
            history.request(line.request).resource
            for line in history.lines
            if line.type == "ERROR" and line.object.get("code") == 410
        }
    )
