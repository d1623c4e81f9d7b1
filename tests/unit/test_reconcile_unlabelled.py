"""Objects with a child's name but without our label: no watch reports them, so they are read."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.objects.projection import Controller, Projection
from coxswain.kernel.reconciling.child.result import Result
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.kinds import SERVICE, WEBAPP
from model_cluster.api_server import Response
from unit.bench import WEB, Bench
from unit.model_bench import ModelBench
from unit.objects import observed_child
from unit.server import refusal

pytestmark = pytest.mark.model

PATH = SERVICE.path("shop", "web")


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


def health(bench: Bench) -> tuple[str, str]:
    """Return the health of the Service, and its message."""
    (service,) = [each for each in bench.webapp_now().content["status"]["children"] if each["kind"] == "Service"]
    return service["health"], service.get("message", "")


def without_label(live: Projection) -> Projection:
    """Return a child as admission stores it: without our label."""
    labels = {name: value for name, value in live.content["metadata"]["labels"].items() if name != WEBAPP_LABEL}
    content = {**live.content, "metadata": {**live.content["metadata"], "labels": labels}}
    return dataclasses.replace(live, label=None, content=content)


def test_a_label_stripped_at_the_creation_is_seen(bench: Bench) -> None:
    """The object was in the cache for a moment, then forgotten. The status said that it does not exist yet."""
    bench.writer.deliver = lambda request, answer: without_label(answer) if request == "create Service" else answer
    bench.webapp()
    bench.run()
    bench.roll_out()
    bench.now += 1
    outcome = bench.run()
    assert bench.store.get(SERVICE, WEB) is None
    assert outcome.after == 59
    assert health(bench)[0] == "Healthy"
    assert "metadata.labels[coxswain.dev/webapp]" in health(bench)[1]
    bench.run()
    assert bench.writer.sent == []
    bench.now += 61
    bench.run()
    assert bench.writer.sent[0] == "look Service"


def taken(bench: Bench) -> None:
    """Let the Service's name be taken by an object of another client."""
    theirs = dataclasses.replace(observed_child(SERVICE, label=None), controller=Controller("Shop", "theirs", "uid-9"))
    bench.writer.fail("create Service", refusal(409))
    bench.writer.answer("look Service", theirs)
    bench.webapp()
    bench.run()


def pause(bench: Bench) -> None:
    """Set spec.paused."""
    bench.webapp(version=bench.writer.version + 1, generation=bench.webapp_now().generation + 1, paused=True)


def test_a_paused_webapp_reports_a_taken_name(bench: Bench) -> None:
    """The status said that the Service does not exist yet."""
    taken(bench)
    before = health(bench)
    assert before[0] == "Foreign"
    pause(bench)
    bench.run()
    assert bench.writer.sent == ["look Service", "status"]
    assert health(bench) == before


@pytest.mark.parametrize("resynced", [False, True])
def test_a_paused_webapp_reads_a_taken_name_again(bench: Bench, resynced: bool) -> None:
    """The status named the former holder as long as the WebApp was paused."""
    taken(bench)
    pause(bench)
    assert bench.run().after == 60
    bench.writer.fail("look Service", refusal(404))
    if resynced:
        bench.reconciler.resynced()
    else:
        bench.now += 60
    bench.run()
    assert bench.writer.sent == ["look Service", "status"]
    assert health(bench)[0] == "Missing"
    bench.now += 60
    bench.run()
    assert bench.writer.sent == []


def test_a_paused_webapp_reports_the_last_read_until_the_next_succeeds(bench: Bench) -> None:
    taken(bench)
    before = health(bench)
    bench.writer.fail("look Service", refusal(503))
    pause(bench)
    assert bench.run().after == 60
    assert health(bench) == before
    for _ in range(10):
        bench.now += 0.3
        bench.run()
        assert bench.writer.sent == [], "an event does not repeat the read"
    bench.writer.fail("look Service", refusal(404))
    bench.now += 60
    bench.run()
    bench.now += 1
    bench.run()
    assert health(bench)[0] == "Missing"


def test_a_resync_reads_a_taken_name_again(bench: Bench) -> None:
    taken(bench)
    bench.reconciler.resynced()
    bench.run()
    assert bench.writer.sent == ["look Service"]


def unlabelled(bench: ModelBench) -> None:
    """Remove the label of the Service: it leaves the watch."""
    bench.reconcile()
    bench.patch(PATH, {"metadata": {"labels": {WEBAPP_LABEL: None}}})


def service(bench: ModelBench) -> Result:
    """Reconcile, and return the result of the Service."""
    return next(each for each in bench.reconcile() if each.child.kind == "Service")


def test_a_child_without_our_label_that_was_deleted_before_a_write_is_created() -> None:
    """The operator read that it was gone, and kept writing what it had read before."""
    bench = ModelBench()
    unlabelled(bench)
    usual = bench.api.request

    def deleted_before_the_apply(method: str, path: str, **more: Any) -> Response:
        if method == "PATCH" and path == PATH and "uid" in more["body"]["metadata"]:
            bench.api.request = usual  # type: ignore[method-assign]
            bench.delete(PATH)
        return usual(method, path, **more)

    bench.api.request = deleted_before_the_apply  # type: ignore[method-assign]
    assert isinstance(service(bench).failed, Refused)
    assert "Service/web" not in bench.objects()
    bench.now += 1
    service(bench)
    assert "Service/web" in bench.objects()


def test_after_its_replacement_a_child_without_our_label_is_created_soon() -> None:
    """No watch reports its end, so it is read again, as after the deletion of an adopted object."""
    bench = ModelBench()
    unlabelled(bench)
    bench.patch(WEBAPP.path("shop", "web"), {"spec": {"service": {"headless": True, "replace": "Allowed"}}})
    result = service(bench)
    assert "Service/web" not in bench.objects()
    assert result.after is not None
    assert result.after <= 1
    bench.now += result.after
    service(bench)
    assert bench.objects()["Service/web"]["spec"]["clusterIP"] == "None"
