"""F15, healed: a child whose immutable field is wrong is made anew around its pods, whatever befalls its writes."""

from typing import Any

import pytest

from faults.evidence import condition
from faults.lives import SPEC, webapp
from faults.plan import Kill
from faults.play import Played
from faults.run import Case
from faults.script import Settle, apply, kubectl
from faults.test_writes import each_write

LABELS = {"app": "other", "coxswain.dev/webapp": "web"}
ODD: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"coxswain.dev/webapp": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "other"}},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "app", "image": "registry.example/web:0"}]},
        },
    },
}
"""A Deployment of ours by its manager, whose pods a Deployment with the right selector can take over."""

# Without revisions that are kept: the one that was taken over is in no reference.
MADE = (apply(webapp({**SPEC, "rollout": {"revisionHistoryLimit": 0}})),)
BEFORE = (
    kubectl("apply", "--server-side", "--field-manager=coxswain", "-f", "-", object=ODD),
    kubectl("rollout", "status", "deployment/web", "--timeout=60s"),
)
REPLACED = {"replace": (*BEFORE, *MADE)}


def always_a_pod(played: Played, _: Played | None = None) -> list[str]:
    """Return that there was a moment without any pod that serves, once there was one."""
    assert played.evidence is not None
    serving: set[str] = set()
    for change in played.evidence.changes:
        if change.resource != "pods":
            continue
        going = change.type == "DELETED" or "deletionTimestamp" in change.object["metadata"]
        if not going and condition(change.object, "Ready").get("status") == "True":
            serving.add(change.uid)
        elif change.uid in serving:
            serving.discard(change.uid)
            if not serving:
                return ["there was a moment without a pod that serves"]
    return []


@pytest.mark.fault(
    "F15",
    "a Deployment of ours whose selector is another, with pods that bear our label: made anew around them",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="replaces-with-all-pods",
    by="test",
)
@pytest.mark.ci
def test_made_anew_around_its_pods(case: Case) -> None:
    played = case((*BEFORE, *MADE, Settle()), reference=case.reference((*MADE, Settle())))
    wrong = always_a_pod(played)
    case.measured.violations += wrong
    assert not wrong, wrong


@pytest.mark.fault(
    "F15",
    "such a Deployment made anew: killed before each write, and before the answer of each",
    oracles=("O1", "O3", "O6"),
    broken="replaces-with-all-pods",
    by="test",
)
def test_made_anew_and_killed(case: Case) -> None:
    each_write(case, "replace", Kill(forwarded=False), Kill(answered=True), steps=REPLACED, besides=always_a_pod)
