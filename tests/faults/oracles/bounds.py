"""O7: requests stay bounded: no hot loop, and the server's Retry-After is heeded."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faults.evidence import WEBAPP_LABEL, Evidence, Violation
from faults.history import Request


@dataclass(frozen=True)
class Bounds:
    """What is too much."""

    factor: int = 3
    """Writes about one WebApp, as a multiple of the reference's: each may have to be tried anew,"""
    per_fault: int = 6
    """and a fault costs some more: four children, a status, an Event;"""
    per_edit: float = 1.0
    """An edit of a storm costs one write at most: most of them come too late for a write of their own. An operator that
    answers each with an apply and a status fails."""
    spare: int = 10
    """and what depends on the order in which news comes: progress told, conflicts."""
    burst: int = 30
    """Requests alike (verb, resource, name) that changed nothing, within a window, reads and watches among them. The
    backoff of the workqueue, 0.2 s doubled, tries eight times in 30 s; a watch is opened once a second at most."""
    window: float = 10.0
    """Seconds."""
    ledger: int = 32
    """Entries of status.drift, as the CRD has it."""
    haste: float = 0.1
    """The part by which Retry-After may be undercut: clocks."""


BOUNDS = Bounds()
_RESTARTS = ("operator killed", "operator stopped", "operator started")


def check(evidence: Evidence, reference: Evidence, bounds: Bounds = BOUNDS) -> list[Violation]:
    """Judge how much the operator sent, and how soon again."""
    return [
        *_too_many(evidence, reference, bounds),
        *_bursts(evidence, bounds),
        *_ledgers(evidence, bounds),
        *_hasty(evidence, bounds),
    ]


def _too_many(evidence: Evidence, reference: Evidence, bounds: Bounds) -> Iterator[Violation]:
    found, expected = _writes(evidence), _writes(reference)
    for webapp in sorted(found):
        limit = bounds.factor * expected[webapp] + bounds.per_fault * evidence.faults + bounds.spare
        limit += round(bounds.per_edit * evidence.edits)
        if found[webapp] > limit:
            sentence = (
                f"{found[webapp]} writes about WebApp {webapp or '(none)'}; in the reference {expected[webapp]}, "
                f"and with {evidence.faults} faults no more than {limit} are reasonable"
            )
            yield Violation("O7", sentence)


def _writes(evidence: Evidence) -> Counter[str]:
    """Return the number of writes by the WebApp that they are about."""
    labels = {
        (change.resource, change.name): change.object["metadata"].get("labels", {}).get(WEBAPP_LABEL, "")
        for change in evidence.changes
    }
    return Counter(_webapp(request, labels) for request in evidence.history.writes())


def _webapp(request: Request, labels: Mapping[tuple[str, str], str]) -> str:
    resource = request.resource.split("/")[0]
    body: Mapping[str, Any] = request.body if isinstance(request.body, Mapping) else {}
    if resource == "webapps":
        return request.name
    if resource == "events":
        return str(body.get("regarding", {}).get("name", ""))
    label = body.get("metadata", {}).get("labels", {}).get(WEBAPP_LABEL)
    return str(label or labels.get((resource, request.name), ""))


def _bursts(evidence: Evidence, bounds: Bounds) -> Iterator[Violation]:
    recent: defaultdict[tuple[str, str, str], deque[float]] = defaultdict(deque)
    told: set[tuple[str, str, str]] = set()
    versions: dict[tuple[str, str], str] = {}
    for request in evidence.history.requests:
        key = (request.verb, request.resource, request.name)
        if not request.resource:
            continue
        if _made_progress(request, versions):
            recent["get", request.resource, request.name].clear()  # what was read for it was read for something
            continue
        times = recent[key]
        times.append(request.at)
        while times[0] < request.at - bounds.window:
            times.popleft()
        if len(times) > bounds.burst and key not in told:
            told.add(key)
            what = f"{request.verb} of {request.resource} {request.name}"
            sentence = f"{what}: more than {bounds.burst} within {bounds.window:.0f} s that changed nothing"
            yield Violation("O7", f"{sentence}, the last answered with {request.status}")


def _ledgers(evidence: Evidence, bounds: Bounds) -> Iterator[Violation]:
    longest: Counter[str] = Counter()
    for request in evidence.history.writes():
        if request.resource == "webapps/status" and isinstance(request.body, Mapping):
            entries = len(request.body.get("status", {}).get("drift", []))
            longest[request.name] = max(entries, longest[request.name])
    for webapp, entries in sorted(longest.items()):
        if entries > bounds.ledger:
            yield Violation(
                "O7", f"{entries} entries in the ledger of WebApp {webapp}; no more than {bounds.ledger} fit"
            )


def _made_progress(request: Request, versions: dict[tuple[str, str], str]) -> bool:
    """Tell whether a write left its object in another version than the answer before."""
    answer = request.answer
    if not request.is_write or request.status is None or not 200 <= request.status < 300:
        return False
    if request.verb == "delete":
        return True
    key = (request.resource.split("/")[0], request.name)
    version = str(answer.get("metadata", {}).get("resourceVersion", "")) if isinstance(answer, Mapping) else ""
    changed = versions.get(key) != version
    versions[key] = version
    return changed


def _hasty(evidence: Evidence, bounds: Bounds) -> Iterator[Violation]:
    restarts = sorted(mark.at for mark in evidence.history.marks if mark.what in _RESTARTS)
    waiting: dict[tuple[str, str, str, str, str], tuple[float, float, int]] = {}
    for at, request, is_answer in _in_order(evidence.history.requests):
        key = (request.agent, request.verb, request.resource, request.namespace, request.name)
        seconds = _retry_after(request)
        if is_answer:
            if seconds is not None:
                waiting[key] = (at, seconds, request.number)
            continue
        since, wait, number = waiting.pop(key, (0.0, 0.0, 0))
        restarted = any(since <= restart <= at for restart in restarts)
        if wait and not restarted and request.number > number and at < since + wait * (1 - bounds.haste):
            what = f"{request.verb} of {request.resource} {request.name}".rstrip()
            sentence = f"{what} was sent again after {at - since:.2f} s, though the answer said Retry-After: {wait:.0f}"
            yield Violation("O7", sentence)


def _in_order(requests: Sequence[Request]) -> list[tuple[float, Request, bool]]:
    """Return when each request was sent, and when it was answered (True), in the order of time."""
    moments = [(request.at, request, False) for request in requests]
    moments += [(request.ended, request, True) for request in requests if request.delivered and request.ended]
    return sorted(moments, key=lambda moment: (moment[0], moment[2]))


def _retry_after(request: Request) -> float | None:
    """Return what the answer said in Retry-After, of an answer that a plan gave."""
    found = re.search(r"\bretry_after=(\d+)", request.fault)
    return float(found[1]) if found and request.delivered else None
