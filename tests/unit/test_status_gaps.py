"""Whole reconciles whose status write fails or has nothing to do, although the status is not up to date."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.webapp.kinds import CONFIG_MAP, WEBAPP
from rendered import observe
from unit.bench import SPEC, WEB, Bench
from unit.objects import raw_webapp
from unit.server import refusal


def with_refused_status(error: Refused) -> Bench:
    """Return a bench with a converged WebApp that shall be paused; the write of that status is refused."""
    bench = Bench()
    bench.converge()
    bench.writer.fail("status", error)
    bench.webapp(version=500, generation=2, paused=True)
    return bench


def run_for(bench: Bench, seconds: float) -> int:
    """Reconcile whenever it is due, or each 10 s. Return the number of status writes."""
    end, writes = bench.now + seconds, 0
    while bench.now < end:
        outcome = bench.run()
        writes += bench.writer.sent.count("status")
        bench.now += outcome.after or 10.0
    return writes


def test_a_404_is_raised_and_the_next_reconcile_writes_the_status() -> None:
    bench = with_refused_status(refusal(404))
    with pytest.raises(Refused):
        bench.run()
    del bench.writer.answers["status"]
    bench.run()
    assert bench.conditions()["Progressing"] == ("False", "Paused")


def test_a_single_409_delays_the_status_by_two_intervals() -> None:
    bench = with_refused_status(refusal(409))
    bench.run()
    del bench.writer.answers["status"]
    assert run_for(bench, 100.0) == 1
    assert bench.conditions()["Progressing"] == ("False", "Paused")


def test_a_webapp_deleted_before_its_status_write_is_not_retried() -> None:
    bench = with_refused_status(refusal(404))

    def deleted() -> Any:
        bench.store.forget(WEBAPP, WEB, 600)
        raise refusal(404)

    bench.writer.answers["status"] = deleted
    assert bench.run().again
    assert (bench.run(), bench.writer.sent) == (Outcome(), [])


def test_a_webapp_without_pods_gets_a_removed_count_back() -> None:
    bench = Bench()
    bench.webapp(replicas=0)
    run_for(bench, 60.0)
    webapp = bench.webapp_now()
    status = dict(webapp.content["status"])
    assert status.pop("replicas") == 0
    bench.writer.version += 1
    content = {**webapp.content, "status": status}
    bench.store.observe(dataclasses.replace(webapp, version=bench.writer.version, content=content))
    assert bench.run().after == 1.5
    bench.now += 1.5
    bench.run()
    assert bench.webapp_now().content["status"]["replicas"] == 0


def test_a_status_removed_before_the_read_of_the_generation_guard_is_written_again() -> None:
    bench = Bench()
    bench.converge()
    bench.restart()
    (config,) = (each for each in bench.children() if each.kind is CONFIG_MAP)
    # The removal of an unwanted child is a write that does not change the status.
    unwanted = dataclasses.replace(config, name="web-0000000000", uid="unwanted", version=bench.writer.version + 1)
    bench.store.observe(unwanted)
    bench.writer.version = 950

    def without_status() -> Projection:
        return observe(WEBAPP, {**raw_webapp(version=900, uid="uid-1", metadata={"generation": 1}), "spec": SPEC})

    bench.writer.answers["look WebApp"] = without_status
    assert bench.run().again
    assert bench.store.observe(without_status()) == set(), "its watch event enqueues nothing"
    assert (bench.run().again, bench.writer.sent) == (False, ["status"])
    assert (bench.run().again, bench.writer.sent) == (False, [])
