"""Fields of the status that a forced apply leaves, because another field manager owns them too."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.left_over import left_over
from coxswain.kernel.status.status_writer import Report
from coxswain.kernel.status.urgency import Pace
from coxswain.webapp.workload import WORKLOAD
from unit.objects import observed_webapp
from unit.server import refusal
from unit.test_status_writer import WEB
from unit.test_status_writer import Bench as StatusBench

READY = {"type": "Ready", "status": "True"}
ROLLED_BACK = {"type": "RolledBack", "status": "True"}
FOREIGN = {"type": "example.com/Approved", "status": "True"}
POD = {"kind": "Deployment", "name": "web", "health": "Healthy"}
SERVICE = {"kind": "Service", "name": "web", "health": "Healthy"}
CHANGED = {"object": "Service/web", "field": "spec.type", "manager": "kubectl", "count": 1}


@pytest.mark.parametrize(
    ("observed", "wanted", "expected"),
    [
        ({"replicas": 1}, {"replicas": 2}, []),
        ({"replicas": 1, "revision": 2, "urls": ["a"]}, {"replicas": 1}, ["/urls", "/revision"]),
        ({"conditions": [ROLLED_BACK, FOREIGN, READY]}, {"conditions": [READY]}, ["/conditions/0"]),
        ({"conditions": [FOREIGN, ROLLED_BACK]}, {}, ["/conditions/1"]),
        ({"conditions": [{**READY, "reason": "A"}]}, {"conditions": [READY]}, ["/conditions/0/reason"]),
        (
            {"children": [SERVICE, {**POD, "message": "0 of 1"}, {**POD, "name": "old"}]},
            {"children": [POD]},
            ["/children/2", "/children/1/message", "/children/0"],
        ),
        ({"drift": [CHANGED, {**CHANGED, "manager": "a"}]}, {"drift": [CHANGED]}, ["/drift/1"]),
        ({"conflicts": [CHANGED], "drift": [CHANGED]}, {"drift": [CHANGED]}, ["/conflicts"]),
        ({"urls": ["a", "b"]}, {"urls": ["a"]}, []),
    ],
)
def test_left_over(observed: dict[str, Any], wanted: dict[str, Any], expected: list[str]) -> None:
    assert left_over(observed, wanted, WORKLOAD.status_rules.types) == expected


class Bench(StatusBench):
    """A WebApp that was rolled back. An apply leaves that condition, up to a removal."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: Any = {"observedGeneration": 1, "conditions": [READY]}
        self.left = {"observedGeneration": 1, "conditions": [READY, ROLLED_BACK]}
        self.store.observe(observed_webapp(version=10, status=self.left))
        self.writer.answer("status", observed_webapp(version=10, status=self.left))

    def report_wanted(self) -> Report:
        """Report the wanted status of the WebApp in the store."""
        webapp = self.store.parent(WEB)
        assert webapp is not None
        return asyncio.run(self.reporter.report(self.memory, webapp, self.wanted, Pace()))


REMOVAL = "status without /conditions/1"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_what_is_left_is_removed(bench: Bench) -> None:
    bench.writer.answer(REMOVAL, observed_webapp(version=11, status=bench.wanted))
    assert bench.report_wanted() == Report(written=True)
    assert bench.writer.sent == ["status", REMOVAL]
    assert bench.report_wanted() == Report()
    assert bench.writer.sent == ["status", REMOVAL]


def test_a_removal_without_effect_is_not_repeated(bench: Bench) -> None:
    """A webhook can prevent it."""
    bench.writer.answer(REMOVAL, observed_webapp(version=10, status=bench.left))
    assert bench.report_wanted() == Report(written=True)
    assert bench.report_wanted() == Report()
    assert bench.writer.sent == ["status", REMOVAL]


def test_a_removal_with_effect_counts_as_one(bench: Bench) -> None:
    """Another write may bring the field back. Then it is removed again."""
    bench.writer.answer(REMOVAL, observed_webapp(version=11, status=bench.wanted))
    bench.report_wanted()
    bench.store.observe(observed_webapp(version=12, status=bench.left))
    bench.writer.answer("status", observed_webapp(version=12, status=bench.left))
    bench.writer.answer(REMOVAL, observed_webapp(version=13, status=bench.wanted))
    assert bench.report_wanted() == Report(written=True)
    assert bench.writer.sent == ["status", REMOVAL] * 2


def test_a_conflict_of_the_removal_is_one_of_the_status(bench: Bench) -> None:
    bench.writer.fail(REMOVAL, refusal(409))
    assert bench.report_wanted() == Report(written=True, after=30.0)
    bench.store.observe(observed_webapp(version=12, status=bench.left))
    bench.writer.answer("status", observed_webapp(version=12, status=bench.left))
    bench.writer.answer(REMOVAL, observed_webapp(version=13, status=bench.wanted))
    assert bench.report_wanted() == Report(written=True)


def test_failures_of_the_removal_are_retried_with_backoff(bench: Bench) -> None:
    bench.writer.fail(REMOVAL, Unreachable("reset"))
    tried: list[float] = []
    while bench.now < 1.0:
        report = bench.report_wanted()
        assert report.in_backoff
        tried += [bench.now] if report.written else []
        bench.now += report.after or 0
    assert tried == pytest.approx([0.0, 0.0, 0.1, 0.3, 0.7])
    assert bench.writer.sent == ["status", REMOVAL] * 5


def test_a_refused_removal_is_reported_and_not_repeated(bench: Bench) -> None:
    refused = refusal(422)
    bench.writer.fail(REMOVAL, refused)
    assert bench.report_wanted() == Report(written=True, refused=refused)
    assert bench.report_wanted() == Report()
    assert bench.writer.sent == ["status", REMOVAL]


def test_what_makes_the_status_invalid_is_removed_before_the_apply(bench: Bench) -> None:
    """Of an item that another manager owns in part, an apply leaves that part without the required fields."""
    bench.store.observe(observed_webapp(version=11, status=bench.left))
    bench.writer.fail("status", refusal(422))

    def removed() -> Projection:
        bench.writer.answer("status", observed_webapp(version=13, status=bench.wanted))
        return observed_webapp(version=12, status={"conditions": [READY]})

    bench.writer.answers[REMOVAL] = removed
    assert bench.report_wanted() == Report(written=True)
    assert bench.writer.sent == ["status", REMOVAL, "status"]
    assert bench.report_wanted() == Report()


def test_an_invalid_status_is_refused_once(bench: Bench) -> None:
    refused = refusal(422)
    bench.store.observe(observed_webapp(version=11, status=bench.left))
    bench.writer.fail("status", refused)
    bench.writer.answer(REMOVAL, observed_webapp(version=12, status={"conditions": [READY]}))
    assert bench.report_wanted() == Report(refused=refused)
    assert bench.writer.sent == ["status", REMOVAL, "status"]
    assert bench.report_wanted() == Report(refused=refused)
    assert bench.report_wanted() == Report()
    assert bench.writer.sent == ["status", REMOVAL, "status", "status"], "once for the version after the removal"


@pytest.mark.parametrize("status", [400, 403, 409, 500])
def test_another_refusal_removes_nothing(bench: Bench, status: int) -> None:
    bench.store.observe(observed_webapp(version=11, status=bench.left))
    bench.writer.fail("status", refusal(status))
    with suppress(Refused):
        bench.report_wanted()
    assert bench.writer.sent == ["status"]


class Client:
    """Records the patch."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def json_patch(self, kind: Any, namespace: str, name: str, operations: Any, *, subresource: str) -> Any:
        self.sent += [str(kind), namespace, name, subresource, *operations]
        raise refusal(409)


def test_the_request_has_the_version_as_a_precondition() -> None:
    client: Any = Client()
    parent: Projection = observed_webapp(version=10)
    with pytest.raises(Refused):
        asyncio.run(Writer(client, WORKLOAD.projector).remove_from_status(parent, ["/conditions/1"]))
    assert client.sent == [
        "WebApp",
        "shop",
        "web",
        "status",
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "10"},
        {"op": "remove", "path": "/status/conditions/1"},
    ]
