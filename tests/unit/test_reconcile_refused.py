"""Writes that the API server refuses for good: they are not repeated at each event, whatever they are."""

import dataclasses
from collections.abc import Callable

import pytest

from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT, SERVICE
from unit.bench import WEB, Bench
from unit.server import refusal

INVALID = refusal(422, "is invalid: metadata: ...")


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a converged WebApp."""
    bench = Bench()
    bench.converge()
    return bench


def deployment(bench: Bench) -> Projection:
    """Return the Deployment as a newer version of itself."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.version += 1
    return dataclasses.replace(live, version=bench.writer.version)


def to_be_released(bench: Bench) -> None:
    """Let the manager of the time before the first apply own our pod template."""
    live = deployment(bench)
    fields = {"f:spec": {"f:template": (live.owned or {})["f:spec"]["f:template"]}}
    bench.store.observe(dataclasses.replace(live, others=(ManagedFieldsEntry("before-first-apply", fields),)))


def to_be_replaced(bench: Bench) -> None:
    """Give the Deployment another selector, which is immutable."""
    live = deployment(bench)
    other = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    spec = {**live.content["spec"], "selector": other}
    bench.store.observe(dataclasses.replace(live, content={**live.content, "spec": spec}))


def sent(bench: Bench, request: str) -> int:
    """Return how often a request is sent during 20 events of a rollout."""
    count = 0
    for number in range(20):
        bench.now += 0.05
        if number:
            bench.ready_pods(number % 2)
        bench.run()
        count += bench.writer.sent.count(request)
    return count


@pytest.mark.parametrize(
    ("prepare", "write"),
    [(to_be_released, "release Deployment"), (to_be_replaced, "remove Deployment but not its pods")],
)
def test_it_is_repeated_at_the_resync(bench: Bench, prepare: Callable[[Bench], None], write: str) -> None:
    prepare(bench)
    bench.writer.fail(write, INVALID)
    assert sent(bench, write) == 1
    assert bench.conditions()["Stalled"] == ("True", "Rejected")
    bench.reconciler.resynced()
    assert sent(bench, write) == 1
    bench.writer.answers.clear()
    bench.reconciler.resynced()
    bench.run()
    assert write in bench.writer.sent
    bench.run()
    assert bench.conditions()["Stalled"][0] == "False"


def test_a_refused_apply_does_not_hold_the_replacement_back(bench: Bench) -> None:
    """The apply leaves the immutable field alone. The user then allows the replacement."""
    bench.writer.fail("update Service", INVALID)
    headless = {"headless": True}
    bench.webapp(version=500, generation=2, service=headless, labels={"team": "blue"})
    bench.run()
    assert "update Service" in bench.writer.sent
    bench.webapp(version=600, generation=3, service={**headless, "replace": "Allowed"}, labels={"team": "blue"})
    bench.run()
    assert bench.store.get(SERVICE, WEB) is not None
    assert "remove Service" in bench.writer.sent
