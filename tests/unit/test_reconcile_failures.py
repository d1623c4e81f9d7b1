"""Failures of single requests: what is retried, what the status and Events say, and what goes on beside."""

import pytest

from coxswain.control.reconcile import Outcome
from unit.bench import Bench
from unit.server import refusal

ALL = ["create ServiceAccount", "create ConfigMap", "create Service", "create Deployment", "status"]


@pytest.fixture
def bench() -> Bench:
    """A bench without any object."""
    return Bench()


DENIED = "services \"web\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied request: not yet"


def test_what_admission_denies_is_told_and_retried(bench: Bench) -> None:
    bench.writer.fail("create Service", refusal(422, DENIED, causes=[{"message": DENIED}]))
    bench.webapp()
    assert bench.run() == Outcome(retry=True)
    assert bench.writer.sent == ALL
    assert bench.conditions()["Ready"] == ("False", "AdmissionDenied")
    assert bench.conditions()["Stalled"] == ("False", "NotStalled")
    assert "not yet; coxswain retries the write with backoff" in bench.events.told[0].note
    bench.run(failures=1)
    assert bench.writer.sent == ["create Service"], "the status says the same"
    del bench.writer.answers["create Service"]
    assert not bench.run(failures=2).retry
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("True", "Ready")
