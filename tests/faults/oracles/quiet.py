"""O3, eventually stable reconciliation: what is desired has come about, and then nothing is written any more.

That it has come about in time is for the runner, which waits for it, and then watches for longer than the longest
retry takes (`Scale.quiet`).
"""

from collections import Counter
from collections.abc import Iterator

from faults.evidence import Evidence, Object, Violation, condition, converged
from faults.history import WRITES

REFUSALS = 6
"""How often a write that is refused for good may be tried in the quiet time: as often as a backoff that begins with
0.2 s and doubles tries in as long as its longest delay at the usual scale. Where nothing is refused, none is."""


def check(evidence: Evidence, reference: Evidence) -> list[Violation]:
    """Judge the end, and the quiet time before it.

    Raises:
        ValueError: no quiet time was watched.
    """
    if evidence.quiet_since is None:
        raise ValueError("O3 judges a quiet time: evidence.quiet_since is missing")
    refusals = REFUSALS if _is_refused(reference) else 0
    return [*_writes(evidence, evidence.quiet_since, refusals), *_unfinished(evidence, reference)]


def _is_refused(reference: Evidence) -> bool:
    """Tell whether the run without faults ends with a WebApp that is not Ready: something of it is refused."""
    return any(condition(webapp, "Ready").get("status") == "False" for webapp in reference.end.get("webapps", ()))


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
            what = f"{event.verb} of {resource} {event.name}, answered with {event.code}"
            yield Violation("O3", f"{at - since:.1f} s into the quiet time the operator wrote: {what}")
    for request in evidence.history.writes(since):
        if not request.forwarded and (request.verb, request.resource, request.name) not in seen:
            what = f"{request.verb} of {request.resource} {request.name}, which didn't reach the server"
            yield Violation("O3", f"{request.at - since:.1f} s into the quiet time the operator sent: {what}")


def _unfinished(evidence: Evidence, reference: Evidence) -> Iterator[Violation]:
    references = {_name(webapp): webapp for webapp in reference.end.get("webapps", ())}
    for webapp in evidence.end.get("webapps", ()):
        name = _name(webapp)
        other = references.get(name)
        if other is not None and condition(other, "Ready").get("status") != "True":
            problem = _unlike(webapp, other)
        else:
            problem = converged(webapp, evidence.end.get("deployments", ()))
        if problem is not None:
            yield Violation("O3", f"at the end WebApp {name} has not come to rest: {problem}")


def _unlike(webapp: Object, other: Object) -> str | None:
    generation, observed = webapp["metadata"]["generation"], webapp.get("status", {}).get("observedGeneration")
    if observed != generation:
        return f"status.observedGeneration is {observed} and metadata.generation is {generation}"
    found, expected = (
        f"{condition(each, 'Ready').get('status')} for {condition(each, 'Ready').get('reason')}"
        for each in (webapp, other)
    )
    return None if found == expected else f"Ready is {found}; the reference has {expected}"


def _name(thing: Object) -> str:
    return str(thing["metadata"]["name"])
