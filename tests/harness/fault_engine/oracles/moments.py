"""O6: no version of an object and no write violates an invariant at any moment of the run."""

from collections.abc import Iterator, Sequence

from cluster.audit import AuditEvent
from fault_engine.evidence import Evidence, Violation
from fault_engine.history import WRITES
from fault_engine.objects import Object, controller
from fault_engine.witness import Change
from fault_engine.workload import Workload

TOLERANCE_SECONDS = 0.5
"""The tolerated difference between the times of the witness and of the audit log. The witness sees versions later."""


def check(evidence: Evidence) -> list[Violation]:
    """Judge every version of every object, and every write of the operator; then apply the workload's own rules."""
    return [
        *_versions(evidence),
        *_elsewhere(evidence),
        *_foreign_written(evidence),
        *(violation for rule in evidence.workload.rules for violation in rule(evidence)),
    ]


def _versions(evidence: Evidence) -> Iterator[Violation]:
    last: dict[str, Object] = {}
    for change in evidence.changes:
        if change.type == "DELETED":
            continue
        before = last.get(change.uid)
        last[change.uid] = change.object
        for sentence in _ownership(evidence.workload, change.object, before):
            yield Violation("O6", f"{change.resource}/{change.name}, version {change.version}: {sentence}")


def _ownership(workload: Workload, thing: Object, before: Object | None) -> Iterator[str]:
    if before is None:
        return
    previous, now = controller(before), controller(thing)
    if previous is not None and now is not None and workload.is_parent(now) and now["uid"] != previous["uid"]:
        yield f"was controlled by {_said(previous)}, and is now controlled by {_said(now)}"
    if workload.is_foreign(before) and workload.applied(before) is None and workload.applied(thing) is not None:
        whose = f"by {_said(previous)}" if previous is not None else "by nobody"
        yield f"was adopted by the operator; it was controlled {whose}"


def _said(reference: Object) -> str:
    return f"{reference['kind']} {reference['name']} ({reference['uid']})"


def states(changes: Sequence[Change], resource: str, since: float, until: float, name: str = "") -> list[Object]:
    """Return the versions of the objects of a resource, or of one name, that existed at any time in an interval."""
    current: dict[str, Object] = {}
    found: list[Object] = []
    begun = False
    for change in changes:
        if change.resource != resource or (name and change.name != name):
            continue
        if change.at > until:
            break
        if change.at >= since and not begun:
            found, begun = list(current.values()), True
        if change.type == "DELETED":
            current.pop(change.uid, None)
        else:
            current[change.uid] = change.object
            if begun:
                found.append(change.object)
    return found if begun else list(current.values())


def written(evidence: Evidence) -> Iterator[AuditEvent]:
    """Yield the successful writes of the operator."""
    for event in evidence.audit:
        if event.user == evidence.user and event.verb in WRITES and 200 <= event.code < 300:
            yield event


def _elsewhere(evidence: Evidence) -> Iterator[Violation]:
    for event in evidence.audit:
        served = (evidence.namespace, *evidence.served)
        if event.user == evidence.user and event.verb in WRITES and event.namespace not in served:
            where = f"in namespace {event.namespace}" if event.namespace else "outside any namespace"
            what = f"{event.verb} of {event.resource} {event.name}, status {event.code}"
            yield Violation("O6", f"the operator wrote {where}: {what}")


def around(evidence: Evidence, event: AuditEvent, resource: str, name: str = "") -> list[Object]:
    """Return the versions of the objects of a resource, or of one name, at the time of a request."""
    at = evidence.audited_at(event)
    return states(evidence.changes, resource, at - TOLERANCE_SECONDS, at + TOLERANCE_SECONDS, name)


def _foreign_written(evidence: Evidence) -> Iterator[Violation]:
    for event in written(evidence):
        if event.resource not in evidence.workload.plurals or event.namespace != evidence.namespace or not event.name:
            continue
        versions = around(evidence, event, event.resource, event.name)
        if versions and all(evidence.workload.is_foreign(state) for state in versions):
            owner = controller(versions[0])
            whose = f"controlled by {_said(owner)}" if owner is not None else "without a controller, and never applied"
            thing = f"{event.resource}/{event.name}"
            yield Violation("O6", f"the operator wrote a foreign object ({event.verb}): {thing}, {whose}")
