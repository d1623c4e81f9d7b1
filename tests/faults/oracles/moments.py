"""O6: at every moment of the run what must never be was not."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from cluster.audit import AuditEvent
from faults.evidence import Evidence, Object, Violation, applied, controller, is_foreign, is_webapp
from faults.history import WRITES
from faults.witness import Change

CHILDREN = ("serviceaccounts", "configmaps", "services", "deployments")
TOLERANCE_SECONDS = 0.5
"""How far the times of the witness and of the audit log may differ: the witness hears of a version a little later."""
SPEC_GRACE_SECONDS = 5.0
"""For how long what a WebApp's spec said before may still be acted upon."""


def check(evidence: Evidence, *, spec_grace: float = SPEC_GRACE_SECONDS) -> list[Violation]:
    """Judge every version of every object, and every write of the operator."""
    return [
        *_versions(evidence, spec_grace),
        *_elsewhere(evidence),
        *_foreign_written(evidence),
        *_services_deleted(evidence),
    ]


def _versions(evidence: Evidence, spec_grace: float) -> Iterator[Violation]:
    last: dict[str, Object] = {}
    for change in evidence.changes:
        if change.type == "DELETED":
            continue
        before = last.get(change.uid)
        last[change.uid] = change.object
        for sentence in (
            *_ownership(change.object, before),
            *_stopped(evidence, change, before, spec_grace),
        ):
            yield Violation("O6", f"{change.resource}/{change.name}, version {change.version}: {sentence}")


def _ownership(thing: Object, before: Object | None) -> Iterator[str]:
    if before is None:
        return
    previous, now = controller(before), controller(thing)
    if previous is not None and now is not None and is_webapp(now) and now["uid"] != previous["uid"]:
        yield f"was controlled by {_said(previous)}, and is controlled by {_said(now)}"
    if is_foreign(before) and applied(before) is None and applied(thing) is not None:
        whose = f"by {_said(previous)}" if previous is not None else "by nobody"
        yield f"was taken over by the operator; it was controlled {whose}"


def _said(reference: Object) -> str:
    return f"{reference['kind']} {reference['name']} ({reference['uid']})"


def _stopped(evidence: Evidence, change: Change, before: Object | None, grace: float) -> Iterator[str]:
    """Yield that the operator made a Deployment one of no pods although its WebApp wants some."""
    if change.resource != "deployments" or change.object["spec"].get("replicas") != 0:
        return
    if before is not None and before["spec"].get("replicas") == 0:
        return
    owner = controller(change.object)
    fields = applied(change.object) or {}
    if owner is None or not is_webapp(owner) or "f:replicas" not in fields.get("f:spec", {}):
        return
    wanted = {
        state["spec"].get("replicas", 1)
        for state in states(evidence.changes, "webapps", change.at - grace, change.at + TOLERANCE_SECONDS)
        if state["metadata"]["uid"] == owner["uid"]
    }
    if 0 not in wanted:
        yield f"the operator set spec.replicas to 0; its WebApp wants {sorted(wanted) or 'nothing: it is gone'}"


def states(changes: Sequence[Change], resource: str, since: float, until: float, name: str = "") -> list[Object]:
    """Return the versions of the objects of a resource, or of one name, that were there at some time in an interval."""
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


def _written(evidence: Evidence) -> Iterator[AuditEvent]:
    """Yield the writes of the operator that the server did."""
    for event in evidence.audit:
        if event.user == evidence.user and event.verb in WRITES and 200 <= event.code < 300:
            yield event


def _elsewhere(evidence: Evidence) -> Iterator[Violation]:
    for event in evidence.audit:
        served = (evidence.namespace, *evidence.served)
        if event.user == evidence.user and event.verb in WRITES and event.namespace not in served:
            where = f"in namespace {event.namespace}" if event.namespace else "outside of any namespace"
            what = f"{event.verb} of {event.resource} {event.name}, answered with {event.code}"
            yield Violation("O6", f"the operator wrote {where}: {what}")


def _around(evidence: Evidence, event: AuditEvent, resource: str, name: str = "") -> list[Object]:
    at = evidence.audited_at(event)
    return states(evidence.changes, resource, at - TOLERANCE_SECONDS, at + TOLERANCE_SECONDS, name)


def _foreign_written(evidence: Evidence) -> Iterator[Violation]:
    for event in _written(evidence):
        if event.resource not in CHILDREN or event.namespace != evidence.namespace or not event.name:
            continue
        around = _around(evidence, event, event.resource, event.name)
        if around and all(is_foreign(state) for state in around):
            owner = controller(around[0])
            whose = f"{_said(owner)} controls" if owner is not None else "nobody controls and it has not made"
            thing = f"{event.resource}/{event.name}"
            yield Violation("O6", f"the operator wrote what isn't its own ({event.verb}): {thing}, which {whose}")


def _services_deleted(evidence: Evidence) -> Iterator[Violation]:
    for event in _written(evidence):
        if (event.verb, event.resource) != ("delete", "services"):
            continue
        webapps: defaultdict[str, list[Object]] = defaultdict(list)
        for state in _around(evidence, event, "webapps"):
            webapps[state["metadata"]["uid"]].append(state)
        owners = [controller(service) for service in _around(evidence, event, "services", event.name)]
        for uid in {owner["uid"] for owner in owners if owner is not None}:
            lived = webapps[uid]
            if lived and all(_wants_service(webapp) for webapp in lived):
                name = lived[0]["metadata"]["name"]
                sentence = f"the operator deleted Service {event.name} while its WebApp {name} lives and has ports"
                yield Violation("O6", sentence)


def _wants_service(webapp: Object) -> bool:
    return bool(webapp["spec"].get("ports")) and "deletionTimestamp" not in webapp["metadata"]
