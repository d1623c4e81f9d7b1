"""The urgency of a status while several children make progress: their reports wait for each other."""

from typing import Any

import pytest

from coxswain.kernel.status.status_writer import Report
from coxswain.kernel.status.urgency import Urgency
from rendered import urgency
from unit.objects import observed_webapp
from unit.test_status_writer import Bench

REPLICAS = 2


def child(kind: str, health: str = "Progressing") -> dict[str, Any]:
    """Return a child in a status."""
    return {"kind": kind, "name": "web", "health": health}


def status(
    *children: dict[str, Any], reason: str = "RollingOut", generation: int = 1, conditions: Any = None, **others: Any
) -> Any:
    """Return a status with the standard conditions, or with other statuses of some."""
    states = {"Ready": "False", "Progressing": "True", "Stalled": "False", "Conflicted": "False", "Contested": "False"}
    found = [
        {"type": each, "status": state, "reason": reason} for each, state in {**states, **(conditions or {})}.items()
    ]
    return {"observedGeneration": generation, "conditions": found, "children": [*children], **others}


DEPLOYMENT, ROUTE, INGRESS = child("Deployment"), child("HTTPRoute"), child("Ingress")
OUT = child("Deployment", "Healthy")
BEFORE = status(DEPLOYMENT, ROUTE, INGRESS)


@pytest.mark.parametrize(
    "wanted",
    [
        status(OUT, ROUTE, INGRESS, reason="NotAccepted", conditions={"Available": "True"}, readyReplicas=2),
        status(OUT, ROUTE, INGRESS),
        status(DEPLOYMENT, ROUTE, INGRESS, reason="NotAccepted"),
        status(DEPLOYMENT, ROUTE, INGRESS, url="http://shop.example.com"),
    ],
    ids=["available", "a child is healthy", "another reason", "an address"],
)
def test_a_report_during_progress_waits_a_second(wanted: Any) -> None:
    assert urgency(BEFORE, wanted, REPLICAS) is Urgency.PROGRESS


@pytest.mark.parametrize(
    "wanted",
    [
        status(OUT, child("HTTPRoute", "Healthy"), child("Ingress", "Healthy"), conditions={"Ready": "True"}),
        status(OUT, ROUTE, INGRESS, generation=2),
        status(DEPLOYMENT, ROUTE, INGRESS, conditions={"Contested": "True"}),
        status(child("Deployment", "Degraded"), ROUTE, INGRESS, reason="CrashLoopBackOff"),
        status(child("Deployment", "Missing"), ROUTE, INGRESS),
        status(),
    ],
    ids=["ready", "another generation", "contested", "degraded", "missing", "no child"],
)
def test_the_end_of_progress_is_written_at_once(wanted: Any) -> None:
    assert urgency(BEFORE, wanted, REPLICAS) is Urgency.NOW
    assert urgency(wanted, BEFORE, REPLICAS) is Urgency.NOW, "and so is its beginning"


def test_reports_of_several_controllers_cost_one_write() -> None:
    bench = Bench()
    bench.store.observe(observed_webapp(version=11, status=BEFORE))

    def report(wanted: Any) -> Report:
        return bench.report(**wanted)

    assert report(status(OUT, ROUTE, INGRESS)) == Report(after=1.0)
    bench.now = 0.5
    accepted = child("HTTPRoute", "Healthy")
    assert report(status(OUT, accepted, INGRESS)) == Report(after=0.5), "the deadline of the first change"
    bench.now = 1.0
    assert report(status(OUT, accepted, INGRESS)) == Report(written=True)
