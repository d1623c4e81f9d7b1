"""F15, replacement: a child with a wrong immutable field is replaced around its pods, whichever write fails."""

from typing import Any

import pytest

from fault_engine.objects import condition
from fault_engine.plan import Kill
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Settle, apply, kubectl
from faults.lives import SPEC, webapp
from faults.test_writes import each_write

LABELS = {"app": "other", "coxswain.dev/webapp": "web"}
ODD: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"coxswain.dev/webapp": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["other"]}]},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "app", "image": "registry.example/web:0"}]},
        },
    },
}
"""A Deployment applied by the operator's manager. A Deployment with the right selector can adopt its pods."""

# Without old revisions, because the reference has no adopted ReplicaSet.
MADE = (apply(webapp({**SPEC, "rollout": {"revisionHistoryLimit": 0}})),)
BEFORE = (
    kubectl("apply", "--server-side", "--field-manager=coxswain", "-f", "-", object=ODD),
    kubectl("rollout", "status", "deployment/web", "--timeout=60s"),
)
REPLACED = {"replace": (*BEFORE, *MADE)}


def always_a_pod(played: Played, _: Played | None = None) -> list[str]:
    """Return a sentence if no ready pod existed at some moment after the first one."""
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
                return ["at some moment there was no ready pod"]
    return []


@pytest.mark.fault(
    "F15",
    "an owned Deployment with another selector, and pods with the operator's label: replaced around its pods",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="replaces-with-all-pods",
    by="test",
)
@pytest.mark.ci
def test_replaced_around_its_pods(case: Case) -> None:
    played = case((*BEFORE, *MADE, Settle()), reference=case.reference((*MADE, Settle())))
    wrong = always_a_pod(played)
    case.measured.violations += wrong
    assert not wrong, wrong


@pytest.mark.fault(
    "F15",
    "replacement of such a Deployment: killed before each write, and before each response",
    oracles=("O1", "O3", "O6"),
    broken="replaces-with-all-pods",
    by="test",
)
def test_replaced_and_killed(case: Case) -> None:
    each_write(case, "replace", Kill(forwarded=False), Kill(answered=True), steps=REPLACED, besides=always_a_pod)
