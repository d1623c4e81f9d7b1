"""O6 for WebApps: no Deployment is scaled to 0 and no Service is deleted, unless the WebApp asks for it."""

from collections import defaultdict
from collections.abc import Iterator

from fault_engine.evidence import Evidence, Violation
from fault_engine.objects import Object, controller
from fault_engine.oracles.moments import TOLERANCE_SECONDS, around, states, written
from fault_engine.witness import Change

SPEC_GRACE_SECONDS = 5.0
"""The time during which the operator may still act on the previous spec of a WebApp."""


def no_deployment_stopped(evidence: Evidence, grace: float = SPEC_GRACE_SECONDS) -> Iterator[Violation]:
    """Yield each version of a Deployment that the operator scaled to 0 although its WebApp asks for replicas."""
    last: dict[str, Object] = {}
    for change in evidence.changes:
        if change.type == "DELETED":
            continue
        before = last.get(change.uid)
        last[change.uid] = change.object
        for sentence in _stopped(evidence, change, before, grace):
            yield Violation("O6", f"{change.resource}/{change.name}, version {change.version}: {sentence}")


def _stopped(evidence: Evidence, change: Change, before: Object | None, grace: float) -> Iterator[str]:
    """Yield a sentence if a change scaled a Deployment to 0 although its WebApp asks for replicas."""
    if change.resource != "deployments" or change.object["spec"].get("replicas") != 0:
        return
    if before is not None and before["spec"].get("replicas") == 0:
        return
    owner = controller(change.object)
    fields = evidence.workload.applied(change.object) or {}
    if owner is None or not evidence.workload.is_parent(owner) or "f:replicas" not in fields.get("f:spec", {}):
        return
    wanted = {
        state["spec"].get("replicas", 1)
        for state in states(evidence.changes, "webapps", change.at - grace, change.at + TOLERANCE_SECONDS)
        if state["metadata"]["uid"] == owner["uid"]
    }
    if 0 not in wanted:
        yield f"the operator set spec.replicas to 0; its WebApp wants {sorted(wanted) or 'nothing: it does not exist'}"


def no_service_deleted(evidence: Evidence) -> Iterator[Violation]:
    """Yield each deletion of a Service by the operator while its WebApp exists and has ports."""
    for event in written(evidence):
        if (event.verb, event.resource) != ("delete", "services"):
            continue
        webapps: defaultdict[str, list[Object]] = defaultdict(list)
        for state in around(evidence, event, "webapps"):
            webapps[state["metadata"]["uid"]].append(state)
        owners = [controller(service) for service in around(evidence, event, "services", event.name)]
        for uid in {owner["uid"] for owner in owners if owner is not None}:
            lived = webapps[uid]
            if lived and all(_wants_service(webapp) for webapp in lived):
                name = lived[0]["metadata"]["name"]
                sentence = f"the operator deleted Service {event.name} while its WebApp {name} exists and has ports"
                yield Violation("O6", sentence)


def _wants_service(webapp: Object) -> bool:
    return bool(webapp["spec"].get("ports")) and "deletionTimestamp" not in webapp["metadata"]
