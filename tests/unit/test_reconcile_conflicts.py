"""Reconciling children that others write too: what is sent, what is left alone, and what is told."""

import dataclasses

import pytest

from coxswain.kube.compare import Entry
from coxswain.kube.kinds import DEPLOYMENT
from unit.bench import WEB, Bench


@pytest.fixture
def bench() -> Bench:
    """A bench without any object."""
    return Bench()


def test_a_policy_that_this_version_does_not_know_halts_and_says_so(bench: Bench) -> None:
    """A newer CRD may have more policies (K22)."""
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.webapp(version=500, generation=2, conflicts={"policy": "Observe"})
    other = Entry("kubectl", {"f:spec": {"f:replicas": {}}})
    content = {**live.content, "spec": {**live.content["spec"], "replicas": 7}}
    bench.store.observe(dataclasses.replace(live, version=501, others=(other,), content=content))
    bench.writer.version = 501
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Conflicted"] == ("True", "Halted")
    assert bench.conditions()["Stalled"] == ("True", "Halted")
    for condition in ("Conflicted", "Stalled"):
        assert "does not know the policy Observe (spec.conflicts)" in bench.message_of(condition)
