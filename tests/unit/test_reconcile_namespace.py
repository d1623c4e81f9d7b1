"""A terminating namespace: its WebApps wait, and the namespace that is created again under its name serves them."""

import pytest

from coxswain.kernel.reconciling.parent.reconciler import Outcome
from unit.bench import Bench
from unit.server import refusal


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_is_tried_in_a_namespace_that_is_going(bench: Bench) -> None:
    bench.writer.fail("create ServiceAccount", refusal(403, causes=[{"reason": "NamespaceTerminating"}]))
    bench.webapp()
    assert bench.run() == Outcome(after=60.0, answered=True)
    assert bench.writer.sent == ["create ServiceAccount"]
    bench.now += 20
    assert bench.run() == Outcome(after=40.0)
    assert bench.writer.sent == [], "each deleted child causes an event"
    bench.reconciler.resynced()
    bench.run()
    assert bench.writer.sent == ["create ServiceAccount"]


def test_a_namespace_that_was_created_again_recovers_after_a_minute(bench: Bench) -> None:
    """An API server with a stale cache refuses creates as if the old namespace of that name were still terminating."""
    bench.writer.fail("create ServiceAccount", refusal(403, causes=[{"reason": "NamespaceTerminating"}]))
    bench.webapp()
    bench.run()
    bench.writer.answers.clear()
    bench.now += 60
    bench.run()
    assert "create Deployment" in bench.writer.sent
