"""F1 and F2 in an adoption: foreign children and their pods become the WebApp's, whichever write is interrupted."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from coxswain.webapp.spec import WebApp
from fault_engine.lives import life
from fault_engine.objects import controller
from fault_engine.plan import Drop, Kill
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Kubectl, apply, kubectl, patch
from faults.lives import SPEC, webapp
from faults.test_writes import Write, each_write, met_with
from faults.workloads.webapp import WEBAPP
from rendered import desired

JUDGED = ("O1", "O2", "O3", "O4", "O5", "O6", "O7")

# Needed: the Deployment for its pods, and the Service, which waits for it. A ConfigMap is adopted like the account.
PLAIN: dict[str, Any] = {name: value for name, value in SPEC.items() if name != "config"}
MADE_BY = {
    "ServiceAccount": ("create",),
    "Service": ("apply",),
    "Deployment": ("create", "--field-manager=helm"),
}
"""The command that creates an object in the place of each child, under its own field manager."""
OLD_MANAGERS = ("kubectl-create", "kubectl-client-side-apply", "helm")


def by_others() -> dict[str, dict[str, Any]]:
    """Return, by plural, foreign objects equal to the children, because another template would cause a rollout."""
    children = desired(WebApp("{namespace}", "web", "none", 1, PLAIN))  # type: ignore[arg-type]
    return {
        f"{child['kind'].lower()}s": {**child, "metadata": {"name": "web", "labels": {"chart": "web-1"}}}
        for child in children
        if child["kind"] in MADE_BY
    }


FOREIGN = by_others()
ADOPTED: dict[str, tuple[Kubectl, ...]] = {
    "taken": (
        *(kubectl(*MADE_BY[thing["kind"]], "-f", "-", object=thing) for thing in FOREIGN.values()),
        kubectl("rollout", "status", "deployment/web", "--timeout=60s"),
        apply(webapp(PLAIN)),
    ),
    "adopt": (
        kubectl("annotate", *(f"{plural}/web" for plural in FOREIGN), f"{WEBAPP.adopt_annotation}=web"),
        # The change of the WebApp triggers a reconcile, so the test does not wait for the retry of the name conflicts.
        patch("webapp", "web", {"spec": {"rollout": {"progressDeadlineSeconds": 300}}}),
    ),
}
"""The steps of a life with name conflicts: the WebApp settles with them, and then adopts the objects."""


def adoption_failures(played: Played, reference: Played | None = None) -> list[str]:
    """Return the objects that were replaced or not fully adopted, also those in the reference."""
    found = [*_replaced(played), *_not_adopted(played)]
    if reference is None:
        return found
    return [*found, *(f"in the reference {each}" for each in adoption_failures(reference))]


def _replaced(played: Played) -> Iterator[str]:
    """Yield the children and pods that were replaced."""
    assert played.evidence is not None
    changes = played.evidence.changes
    for plural in FOREIGN:
        lives = {change.uid for change in changes if (change.resource, change.name) == (plural, "web")}
        if len(lives) != 1:
            yield f"{plural}/web was created {len(lives)} times"
    pods = {change.uid for change in changes if change.resource == "pods"}
    ended = {
        change.uid
        for change in changes
        if change.resource == "pods" and (change.type == "DELETED" or "deletionTimestamp" in change.object["metadata"])
    }
    if len(pods) != PLAIN["replicas"] or ended:
        yield f"{len(pods)} pods were created, and {len(ended)} of them deleted"


def _not_adopted(played: Played) -> Iterator[str]:
    """Yield the children that the WebApp does not own at the end, and their fields with former managers."""
    assert played.evidence is not None
    for plural in FOREIGN:
        (thing,) = (thing for thing in played.evidence.end[plural] if thing["metadata"]["name"] == "web")
        if not WEBAPP.is_parent(controller(thing)):
            yield f"{plural}/web is not owned by the WebApp"
        for entry in thing["metadata"]["managedFields"]:
            if entry["manager"] in OLD_MANAGERS:
                for field in _shared(WEBAPP.applied(thing) or {}, entry["fieldsV1"]):
                    yield f"{entry['manager']} still owns{field} of {plural}/web"


def _shared(some: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of the fields in both."""
    for key in sorted(some.keys() & others.keys()):
        if not some[key] and not others[key]:
            yield f" {key}"
        else:
            yield from (f" {key}{deeper}" for deeper in _shared(some[key], others[key]))


@pytest.mark.fault(
    "F1",
    "adoption: killed before each write, after the response to the previous one",
    oracles=JUDGED,
    broken="releases-only-in-adopting-process",
)
def test_adopted_and_killed(case: Case) -> None:
    each_write(case, "adopt", Kill(forwarded=False), steps=ADOPTED, besides=adoption_failures)


@pytest.mark.fault(
    "F2",
    "adoption: the response to each write lost",
    oracles=JUDGED,
    broken="releases-only-in-adopting-process",
)
def test_adopted_without_an_answer(case: Case) -> None:
    # The state after a kill before a response is that after a kill before the next write.
    each_write(case, "adopt", Drop(answered=True), steps=ADOPTED, besides=adoption_failures)


@pytest.mark.fault(
    "F2",
    "adoption: killed before the response to the adoption of the Deployment",
    oracles=JUDGED,
    broken="recreates-instead-of-adopting",
)
@pytest.mark.ci
def test_adopted_and_killed_before_the_answer(case: Case) -> None:
    # The first write is the one that detects the name conflict.
    write = Write("adopt", "patch", "deployments", "web", 2)
    reference = case.reference(life("adopt", ADOPTED))
    played = case(met_with(write, Kill(answered=True), ADOPTED), reference=reference)
    assert played.evidence is not None
    assert any(request.fault for request in played.evidence.history.requests), "no kill happened"
    wrong = adoption_failures(played, reference)
    case.measured.violations += wrong
    assert not wrong, wrong
