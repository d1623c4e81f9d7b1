"""O3, eventually stable reconciliation: the desired state becomes the actual state, and then nothing is written.

The player checks that this happens in time. It then watches for longer than the longest retry delay
(`Workload.quiet`).
"""

from collections import Counter
from collections.abc import Iterator

from fault_engine.evidence import Evidence, Violation, converged
from fault_engine.history import WRITES
from fault_engine.objects import Object, condition

REFUSALS = 6
"""The maximum number of attempts of a permanently refused write in the quiet time. A backoff that starts at 0.2 s and
doubles makes as many attempts within its longest delay at the usual scale. Zero if the reference has no refusal."""


def check(evidence: Evidence, reference: Evidence) -> list[Violation]:
    """Judge the final status, and the quiet time before it.

    Raises:
        ValueError: the evidence has no quiet time.
    """
    if evidence.quiet_since is None:
        raise ValueError("O3 needs a quiet time: evidence.quiet_since is missing")
    refusals = REFUSALS if _is_refused(reference) else 0
    return [*_writes(evidence, evidence.quiet_since, refusals), *_unfinished(evidence, reference)]


def _is_refused(reference: Evidence) -> bool:
    """Tell whether the run without faults ends with a parent that is not Ready, because something was refused."""
    return any(
        condition(parent, "Ready").get("status") == "False" for parent in reference.end.get(reference.parents, ())
    )


def _writes(evidence: Evidence, since: float, refusals: int) -> Iterator[Violation]:
    seen: set[tuple[str, str, str]] = set()
    refused: Counter[tuple[str, str]] = Counter()
    for event in evidence.audit:
        if event.user == evidence.user and event.code in (403, 422) and evidence.audited_at(event) >= since:
            refused[event.resource, event.name] += 1
            if refused[event.resource, event.name] <= refusals:
                continue
        at = evidence.audited_at(event)
        if event.user == evidence.user and event.verb in WRITES and at >= since:
            resource = event.resource + (f"/{event.subresource}" if event.subresource else "")
            seen.add((event.verb, resource, event.name))
            what = f"{event.verb} of {resource} {event.name}, status {event.code}"
            yield Violation("O3", f"{at - since:.1f} s into the quiet time the operator wrote: {what}")
    for request in evidence.history.writes(since):
        if not request.forwarded and (request.verb, request.resource, request.name) not in seen:
            what = f"{request.verb} of {request.resource} {request.name}, not forwarded to the server"
            yield Violation("O3", f"{request.at - since:.1f} s into the quiet time the operator sent: {what}")


def _unfinished(evidence: Evidence, reference: Evidence) -> Iterator[Violation]:
    references = {_name(parent): parent for parent in reference.end.get(reference.parents, ())}
    for parent in evidence.end.get(evidence.parents, ()):
        name = _name(parent)
        other = references.get(name)
        if other is not None and condition(other, "Ready").get("status") != "True":
            problem = _unlike(parent, other)
        else:
            problem = converged(evidence, parent)
        if problem is not None:
            yield Violation("O3", f"at the end {evidence.workload.parent.kind} {name} has not converged: {problem}")


def _unlike(parent: Object, other: Object) -> str | None:
    generation, observed = parent["metadata"]["generation"], parent.get("status", {}).get("observedGeneration")
    if observed != generation:
        return f"status.observedGeneration is {observed} and metadata.generation is {generation}"
    found, expected = (
        f"{condition(each, 'Ready').get('status')}, reason {condition(each, 'Ready').get('reason')}"
        for each in (parent, other)
    )
    return None if found == expected else f"Ready is {found}; the reference has {expected}"


def _name(thing: Object) -> str:
    return str(thing["metadata"]["name"])
