"""The removal of a child that the spec no longer needs: failures delay it, even if the spec changes often."""

from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused, RequestFailed, Unreachable
from coxswain.webapp.kinds import SERVICE
from unit.bench import WEB, Bench
from unit.server import refusal


@pytest.fixture
def bench() -> Bench:
    """Return a bench with a converged WebApp. Each removal of its Service is a conflict."""
    bench = Bench()
    bench.converge()
    bench.writer.fail("remove Service", refusal(409))
    return bench


def change(bench: Bench, *, needed: bool) -> None:
    """Change whether the spec needs a Service."""
    spec: dict[str, Any] = {} if needed else {"ports": []}
    observed = bench.store.parent(WEB)
    assert observed is not None
    bench.writer.version += 1
    bench.webapp(version=bench.writer.version, generation=observed.generation + 1, **spec)


def removals(bench: Bench, seconds: float, *, flapping: bool, every: float = 0.05) -> int:
    """Reconcile after each interval, as a retry. Return the number of removals."""
    count = 0
    for step in range(round(seconds / every)):
        if flapping:
            change(bench, needed=step % 3 > 0)
        bench.run(failures=step)
        count += bench.writer.sent.count("remove Service")
        bench.now += every
    return count


@pytest.mark.thorough
@pytest.mark.parametrize(
    "error",
    [
        refusal(409),
        refusal(403, 'services "web" is forbidden: User "u" cannot delete resource "services"'),
        refusal(403, 'admission webhook "x" denied the request: no'),
        refusal(400, "bad request"),
        refusal(500),
        Unreachable("reset"),
    ],
)
def test_events_do_not_reset_the_backoff(bench: Bench, error: RequestFailed) -> None:
    bench.writer.fail("remove Service", error)
    change(bench, needed=False)
    assert 8 <= removals(bench, 10, flapping=False) <= 10
    assert bench.conditions()["Ready"] == ("False", "NotRemoved")


def test_events_do_not_shorten_retry_after(bench: Bench) -> None:
    bench.writer.fail("remove Service", Refused(503, {"message": "not now"}, retry_after="30"))
    change(bench, needed=False)
    assert removals(bench, 29.9, flapping=False, every=0.65) == 1
    assert bench.run().after == pytest.approx(0.1)
    bench.now += 0.2
    bench.run()
    assert "remove Service" in bench.writer.sent


@pytest.mark.thorough
def test_a_spec_that_changes_often_does_not_reset_the_backoff(bench: Bench) -> None:
    assert 5 <= removals(bench, 10, flapping=True) <= 12


def test_the_end_of_the_backoff_needs_no_event(bench: Bench) -> None:
    change(bench, needed=False)
    for _ in range(2):
        bench.run()
    bench.writer.answers.clear()
    waiting = bench.run()
    assert bench.writer.sent == []
    assert waiting.after == pytest.approx(0.1)
    bench.now += 0.1
    bench.run()
    assert "remove Service" in bench.writer.sent


@pytest.mark.parametrize("pause", [0.0, 10.0])
def test_a_removal_or_a_pause_ends_the_count(bench: Bench, pause: float) -> None:
    change(bench, needed=False)
    for _ in range(2):
        bench.run()
    bench.now += 0.1 + pause
    if not pause:
        bench.writer.answers.clear()
        bench.run()
        (removed,) = bench.store.objects_of(WEB, SERVICE)
        bench.store.forget(SERVICE, WEB, removed.version + 1)
        change(bench, needed=True)
        bench.run()
        bench.writer.fail("remove Service", refusal(409))
        change(bench, needed=False)
    assert removals(bench, 0.1, flapping=False) == 2


def change_config(bench: Bench, number: int) -> None:
    """Change the config and roll it out. The former ConfigMap is no longer needed."""
    bench.now += 3600
    bench.writer.version += 1
    rollout = {"revisionHistoryLimit": 0}
    bench.webapp(version=bench.writer.version, generation=number, config={"A": str(number)}, rollout=rollout)
    bench.run()
    bench.roll_out()
    bench.run(failures=10)


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (refusal(403, 'configmaps "x" is forbidden: User "u" cannot delete resource "configmaps"'), 1),
        (refusal(422, "ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: keep it"), 4),
    ],
)
def test_a_missing_right_to_delete_a_kind_is_found_by_one_request(bench: Bench, error: Exception, sent: int) -> None:
    """A policy may deny the deletion of one object and allow it for the next."""
    bench.writer.fail("remove ConfigMap", error)
    for number in range(2, 6):
        change_config(bench, number)
    assert bench.writer.sent.count("remove ConfigMap") == sent
    children = bench.webapp_now().content["status"]["children"]
    assert [each["health"] for each in children if each["kind"] == "ConfigMap"] == ["Healthy"] + ["Degraded"] * sent
    for _ in range(6):
        bench.run(failures=10)
        bench.now += 0.1
    children = bench.webapp_now().content["status"]["children"]
    assert [each["health"] for each in children if each["kind"] == "ConfigMap"] == ["Healthy"] + ["Degraded"] * sent
