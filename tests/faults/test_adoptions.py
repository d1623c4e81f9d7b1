"""F1 and F2 in an adoption: what others have made becomes the WebApp's with its pods, wherever that is cut off."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from coxswain.webapp.spec import WebApp
from faults.evidence import ADOPT_ANNOTATION, applied, controller, is_webapp
from faults.lives import SPEC, life, webapp
from faults.plan import Drop, Kill
from faults.play import Played
from faults.run import Case
from faults.script import Kubectl, apply, kubectl, patch
from faults.test_writes import Write, each_write, met_with
from rendered import desired

JUDGED = ("O1", "O2", "O3", "O4", "O5", "O6", "O7")

# The Deployment's pods are what matters, and the Service, which waits for it; a ConfigMap goes over like the account.
PLAIN: dict[str, Any] = {name: value for name, value in SPEC.items() if name != "config"}
MADE_BY = {
    "ServiceAccount": ("create",),
    "Service": ("apply",),
    "Deployment": ("create", "--field-manager=helm"),
}
"""The command that makes an object in the place of each child, under the name of a manager of its own."""
OLD_MANAGERS = ("kubectl-create", "kubectl-client-side-apply", "helm")


def by_others() -> dict[str, dict[str, Any]]:
    """Return by plural what someone who wants the same has made: with another template, adoption is a rollout."""
    children = desired(WebApp("{namespace}", "web", "none", 1, PLAIN))  # type: ignore[arg-type]
    return {
        f"{child['kind'].lower()}s": {**child, "metadata": {"name": "web", "labels": {"chart": "web-1"}}}
        for child in children
    }


FOREIGN = by_others()
ADOPTED: dict[str, tuple[Kubectl, ...]] = {
    "taken": (
        *(kubectl(*MADE_BY[thing["kind"]], "-f", "-", object=thing) for thing in FOREIGN.values()),
        kubectl("rollout", "status", "deployment/web", "--timeout=60s"),
        apply(webapp(PLAIN)),
    ),
    "adopt": (
        kubectl("annotate", *(f"{plural}/web" for plural in FOREIGN), f"{ADOPT_ANNOTATION}=web"),
        # With a change of the WebApp nobody waits until the names that are taken are looked at again.
        patch("webapp", "web", {"spec": {"rollout": {"progressDeadlineSeconds": 300}}}),
    ),
}
"""The steps of a life that begins with all names taken: it settles as that, and then they are given to it."""


def gone_over(played: Played, reference: Played | None = None) -> list[str]:
    """Return what has not gone over to the WebApp as it was, and the same of the reference."""
    found = [*_made_anew(played), *_not_gone_over(played)]
    return found if reference is None else [*found, *(f"in the reference {each}" for each in gone_over(reference))]


def _made_anew(played: Played) -> Iterator[str]:
    """Yield which children, and which pods, were not the same ones all the time."""
    assert played.evidence is not None
    changes = played.evidence.changes
    for plural in FOREIGN:
        lives = {change.uid for change in changes if (change.resource, change.name) == (plural, "web")}
        if len(lives) != 1:
            yield f"there were {len(lives)} of {plural}/web, one after the other"
    pods = {change.uid for change in changes if change.resource == "pods"}
    ended = {
        change.uid
        for change in changes
        if change.resource == "pods" and (change.type == "DELETED" or "deletionTimestamp" in change.object["metadata"])
    }
    if len(pods) != PLAIN["replicas"] or ended:
        yield f"there were {len(pods)} pods, and {len(ended)} of them were ended"


def _not_gone_over(played: Played) -> Iterator[str]:
    """Yield which children aren't the WebApp's at the end, and what of them the managers of before still hold."""
    assert played.evidence is not None
    for plural in FOREIGN:
        (thing,) = (thing for thing in played.evidence.end[plural] if thing["metadata"]["name"] == "web")
        if not is_webapp(controller(thing)):
            yield f"{plural}/web is not the WebApp's"
        for entry in thing["metadata"]["managedFields"]:
            if entry["manager"] in OLD_MANAGERS:
                for field in _shared(applied(thing) or {}, entry["fieldsV1"]):
                    yield f"{entry['manager']} still holds{field} of {plural}/web"


def _shared(some: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of the fields that are in both."""
    for key in sorted(some.keys() & others.keys()):
        if not some[key] and not others[key]:
            yield f" {key}"
        else:
            yield from (f" {key}{deeper}" for deeper in _shared(some[key], others[key]))


@pytest.mark.fault(
    "F1",
    "an adoption of what others have made: killed before each write, the one before answered",
    oracles=JUDGED,
    broken="releases-what-it-adopted",
)
def test_adopted_and_killed(case: Case) -> None:
    each_write(case, "adopt", Kill(forwarded=False), steps=ADOPTED, besides=gone_over)


@pytest.mark.fault(
    "F2",
    "an adoption of what others have made: the answer of each write lost",
    oracles=JUDGED,
    broken="releases-what-it-adopted",
)
def test_adopted_without_an_answer(case: Case) -> None:
    # A kill before an answer leaves what a kill before the next write does.
    each_write(case, "adopt", Drop(answered=True), steps=ADOPTED, besides=gone_over)


@pytest.mark.fault(
    "F2",
    "an adoption of what others have made: killed before the answer that the Deployment has gone over",
    oracles=JUDGED,
    broken="adopts-anew",
)
@pytest.mark.ci
def test_adopted_and_killed_before_the_answer(case: Case) -> None:
    # The first write is the one that finds the name taken.
    write = Write("adopt", "patch", "deployments", "web", 2)
    reference = case.reference(life("adopt", ADOPTED))
    played = case(met_with(write, Kill(answered=True), ADOPTED), reference=reference)
    assert played.evidence is not None
    assert any(request.fault for request in played.evidence.history.requests), "the kill did not come about"
    wrong = gone_over(played, reference)
    case.measured.violations += wrong
    assert not wrong, wrong
