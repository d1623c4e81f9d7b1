"""The reconcile while a kind of child cannot be listed."""

import pytest

from unit.bench import Bench


@pytest.fixture
def bench() -> Bench:
    """Return a bench of a converged WebApp without config, while ConfigMaps cannot be listed."""
    bench = Bench()
    bench.webapp(config={})
    bench.run()
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("True", "Ready")
    bench.unlisted = {"ConfigMap": "configmaps can't be listed in the cluster: 403"}
    return bench


def test_a_webapp_that_needs_none_of_the_kind_stays_ready(bench: Bench) -> None:
    bench.run()
    assert bench.writer.sent == []
    assert bench.conditions()["Ready"] == ("True", "Ready")


def test_a_webapp_that_needs_one_says_so(bench: Bench) -> None:
    bench.webapp(version=500, generation=2)
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "NotListed")


def test_a_child_that_differs_is_not_ready(bench: Bench) -> None:
    """The simulation found a status with Ready for a new image that was not applied."""
    bench.webapp(version=500, generation=2, config={}, image="registry.example/web:2")
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "NotListed")
    assert "403" in bench.message_of("Ready")
