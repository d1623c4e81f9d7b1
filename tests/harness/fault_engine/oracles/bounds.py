"""O7: the number of requests is bounded, there is no hot loop, and the server's Retry-After is honoured."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fault_engine.evidence import Evidence, Violation
from fault_engine.history import Request


@dataclass(frozen=True)
class Bounds:
    """The limits."""

    factor: int = 3
    """Writes for one parent, as a multiple of the reference's, because each may need a retry."""
    per_fault: int = 6
    """Additional writes for each fault: four children, a status, an Event."""
    per_edit: float = 1.0
    """Additional writes for each edit of a storm. Most edits come too late for their own write. An operator fails if it
    answers each edit with an apply and a status."""
    spare: int = 10
    """Additional writes that depend on the order of events: status of the progress, conflicts."""
    burst: int = 30
    """Equal requests (verb, resource, name) without a change, within a window, including reads and watches. The
    workqueue backs off: it starts at 0.2 s and doubles: eight retries in 30 s. A watch opens at most once a second."""
    window: float = 10.0
    """Seconds."""
    ledger: int = 32
    """The maximum length of status.drift in the CRD."""
    haste: float = 0.1
    """The tolerated fraction by which a retry is earlier than Retry-After, because clocks differ."""


BOUNDS = Bounds()
_RESTARTS = ("operator killed", "operator stopped", "operator started")


def check(evidence: Evidence, reference: Evidence, bounds: Bounds = BOUNDS) -> list[Violation]:
    """Judge the number of requests, and the delays of retries."""
    return [
        *_too_many(evidence, reference, bounds),
        *_bursts(evidence, bounds),
        *_ledgers(evidence, bounds),
        *_early_retries(evidence, bounds),
    ]


def _too_many(evidence: Evidence, reference: Evidence, bounds: Bounds) -> Iterator[Violation]:
    found, expected = _writes(evidence), _writes(reference)
    for parent in sorted(found):
        limit = bounds.factor * expected[parent] + bounds.per_fault * evidence.faults + bounds.spare
        limit += round(bounds.per_edit * evidence.edits)
        if found[parent] > limit:
            sentence = (
                f"{found[parent]} writes for {evidence.workload.parent.kind} {parent or '(none)'}; the reference has "
                f"{expected[parent]}, and the limit with {evidence.faults} faults is {limit}"
            )
            yield Violation("O7", sentence)


def _writes(evidence: Evidence) -> Counter[str]:
    """Return the number of writes, by the name of their parent.

    Writes answered with Retry-After do not count. Their number depends on the length of the fault, and `_early_retries`
    judges the time between them.
    """
    label = evidence.workload.label
    labels = {
        (change.resource, change.name): change.object["metadata"].get("labels", {}).get(label, "")
        for change in evidence.changes
    }
    writes = (request for request in evidence.history.writes() if _retry_after(request) is None)
    return Counter(_parent(evidence, request, labels) for request in writes)


def _parent(evidence: Evidence, request: Request, labels: Mapping[tuple[str, str], str]) -> str:
    resource = request.resource.split("/")[0]
    body: Mapping[str, Any] = request.body if isinstance(request.body, Mapping) else {}
    if resource == evidence.parents:
        return request.name
    if resource == "events":
        return str(body.get("regarding", {}).get("name", ""))
    label = body.get("metadata", {}).get("labels", {}).get(evidence.workload.label)
    return str(label or labels.get((resource, request.name), ""))


def _bursts(evidence: Evidence, bounds: Bounds) -> Iterator[Violation]:
    recent: defaultdict[tuple[str, str, str], deque[float]] = defaultdict(deque)
    reported: set[tuple[str, str, str]] = set()
    versions: dict[tuple[str, str], str] = {}
    for request in evidence.history.requests:
        key = (request.verb, request.resource, request.name)
        if not request.resource:
            continue
        if _made_progress(request, versions):
            recent["get", request.resource, request.name].clear()  # the write justified these reads
            continue
        times = recent[key]
        times.append(request.at)
        while times[0] < request.at - bounds.window:
            times.popleft()
        if len(times) > bounds.burst and key not in reported:
            reported.add(key)
            what = f"{request.verb} of {request.resource} {request.name}"
            sentence = f"{what}: more than {bounds.burst} requests without a change within {bounds.window:.0f} s"
            yield Violation("O7", f"{sentence}; the last status is {request.status}")


def _ledgers(evidence: Evidence, bounds: Bounds) -> Iterator[Violation]:
    longest: Counter[str] = Counter()
    for request in evidence.history.writes():
        if request.resource == f"{evidence.parents}/status" and isinstance(request.body, Mapping):
            entries = len(request.body.get("status", {}).get("drift", []))
            longest[request.name] = max(entries, longest[request.name])
    for parent, entries in sorted(longest.items()):
        if entries > bounds.ledger:
            whose = f"{evidence.workload.parent.kind} {parent}"
            yield Violation("O7", f"{entries} entries in the drift ledger of {whose}; the maximum is {bounds.ledger}")


def _made_progress(request: Request, versions: dict[tuple[str, str], str]) -> bool:
    """Tell whether a write changed the resourceVersion since the previous response about its object."""
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


def _early_retries(evidence: Evidence, bounds: Bounds) -> Iterator[Violation]:
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
            sentence = f"{what} was repeated after {at - since:.2f} s, in spite of Retry-After: {wait:.0f}"
            yield Violation("O7", sentence)


def _in_order(requests: Sequence[Request]) -> list[tuple[float, Request, bool]]:
    """Return the requests (False) and their responses (True), in chronological order."""
    moments = [(request.at, request, False) for request in requests]
    moments += [(request.ended, request, True) for request in requests if request.delivered and request.ended]
    return sorted(moments, key=lambda moment: (moment[0], moment[2]))


def _retry_after(request: Request) -> float | None:
    """Return the Retry-After of an injected response."""
    found = re.search(r"\bretry_after=(\d+)", request.fault)
    return float(found[1]) if found and request.delivered else None
