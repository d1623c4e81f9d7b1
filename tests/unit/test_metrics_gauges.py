"""Gauges show the present state of the operator, and Events that could not be posted are counted."""

import asyncio
from typing import Any

import pytest
from prometheus_client import REGISTRY

from coxswain.gauges import collected
from coxswain.kernel.api.events import RecentEvents, Recorder
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.reconciling.queue.workqueue import Lane
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.kinds import POD, SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from unit.bench import Bench
from unit.manager_bench import Scripted, during
from unit.metric_changes import QUEUE, Change, sample
from unit.objects import observed_webapp
from unit.server import refusal
from unit.test_events import Posts


def test_the_age_of_the_last_data_of_a_watch() -> None:
    now, pods, services = 1000.0, (POD, None), (SERVICE, None)
    liveness = WatchLiveness([pods, services], silence_timeout=180, inactivity_timeout=90, clock=lambda: now)
    assert liveness.data_ages() == {}
    liveness.begin([POD])
    now += 10
    assert liveness.data_ages() == {pods: 10}, "the other kind is not served"
    liveness.begin([POD, SERVICE])
    for step in (Activity.LISTED, Activity.OPENED, Activity.FAILED):
        liveness.record(pods, step)
    now += 10
    assert liveness.data_ages() == {pods: 20, services: 10}, "an opened watch has delivered nothing yet"
    liveness.record(pods, Activity.BOOKMARK)
    liveness.record(services, Activity.RECEIVED)
    now += 5
    liveness.begin()
    assert liveness.data_ages() == {pods: 5, services: 5}, "a restart of Kopf delivers nothing"


def test_conditions_of_parents() -> None:
    store = Store(WEBAPP, ("Ready", "Stalled"))

    def put(name: str, version: int, **statuses: str) -> None:
        listed = [{"type": each, "status": status} for each, status in statuses.items()]
        store.observe(observed_webapp(name, version=version, status={"conditions": listed}))

    def counted() -> dict[tuple[str, str], int]:
        return {found: count for found, count in store.conditions().items() if count}

    put("a", 1)
    put("b", 2, Ready="True", Stalled="False", Invented="True")
    assert counted() == {
        ("Ready", "Unknown"): 1,
        ("Ready", "True"): 1,
        ("Stalled", "Unknown"): 1,
        ("Stalled", "False"): 1,
    }
    put("a", 3, Ready="False", Stalled="invented")
    put("b", 4, Ready="False", Stalled="False")
    assert counted() == {("Ready", "False"): 2, ("Stalled", "Unknown"): 1, ("Stalled", "False"): 1}
    store.forget(WEBAPP, Key("shop", "b"), 5)
    assert counted() == {("Ready", "False"): 1, ("Stalled", "Unknown"): 1}
    relist = store.begin_relist(WEBAPP, None)
    store.end_relist(relist, 9, [])
    assert counted() == {}
    put("c", 10)
    store.clear()
    assert (counted(), store.count(WEBAPP)) == ({}, 0)


@pytest.mark.parametrize("status", [None, "odd", {"conditions": "odd"}, {"conditions": ["odd", {"type": "Ready"}]}])
def test_an_odd_status_is_unknown(status: Any) -> None:
    """A CRD without a schema accepts any status."""
    store = Store(WEBAPP, ("Ready",))
    store.observe(observed_webapp(status=status))
    assert store.conditions()["Ready", "Unknown"] == 1


def test_contested_fields() -> None:
    bench = Bench()
    bench.converge()
    wars = bench.memory.child("Deployment/web").wars
    field = ("f:spec", "f:minReadySeconds")
    for _ in range(4):
        wars.enforced({}, [field], bench.now)
    assert bench.reconciler.contested() == 0
    wars.enforced({}, [field], bench.now)
    bench.memory.status_wars.enforced({}, [("f:status",)] * 5, bench.now)
    assert bench.reconciler.contested() == 2
    bench.now += 60
    assert bench.reconciler.contested() == 0, "enforcement is tried again"


def test_events_that_cannot_be_posted() -> None:
    change, posts = Change(), Posts()

    def post(reason: str) -> None:
        recorder = Recorder(posts, "coxswain.dev/operator", lambda: 0.0)
        asyncio.run(recorder.record(observed_webapp(), EventRecord(reason, "Apply", "a"), RecentEvents()))

    post("Posted")
    assert change.of("coxswain_events_dropped_total") == 0
    posts.error = refusal(403)
    post("Failed")
    assert change.of("coxswain_events_dropped_total") == 1


def test_the_gauges_of_a_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = asyncio.Event()

    async def wait() -> Outcome:
        await stuck.wait()
        return Outcome()

    keys = [Key("shop", f"web-{number}") for number in range(4)]
    reconciler = Scripted(dict.fromkeys(keys, wait))
    reconciler.contested_fields = 3

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp(status={"conditions": [{"type": "Ready", "status": "True"}]}))
        for key in keys:
            loop._queue.add(key)
        while len(reconciler.asked) < 2:
            await asyncio.sleep(0.01)
        loop._queue.add(keys[0], Lane.CHANGED)
        await asyncio.sleep(10)
        with collected(lambda: loop.readings):
            assert sample("controller_runtime_active_workers", controller="webapp") == 2
            assert sample("controller_runtime_max_concurrent_reconciles", controller="webapp") == 2
            depths = {"changed": 1, "in_progress": 2, "backlog": 0}
            assert {each: sample("workqueue_depth", **QUEUE, priority=each) for each in depths} == depths
            longest = sample("workqueue_longest_running_processor_seconds", **QUEUE)
            assert longest == pytest.approx(10, abs=0.5)
            assert sample("workqueue_unfinished_work_seconds", **QUEUE) == pytest.approx(2 * longest, abs=0.5)
            assert sample("coxswain_watch_last_event_age_seconds", kind="pods") == pytest.approx(10, abs=0.5)
            assert sample("coxswain_relist_last_success_timestamp_seconds", kind="pods") > 1.7e9
            assert sample("coxswain_objects", kind="webapps") == 1
            assert sample("coxswain_objects", kind="pods") == 0
            assert sample("coxswain_parents", kind="webapps", condition="Ready", status="True") == 1
            assert sample("coxswain_parents", kind="webapps", condition="Stalled", status="Unknown") == 1
            assert sample("coxswain_contested_fields") == 3
            texts = [each.documentation for each in REGISTRY.collect() if each.name.startswith("coxswain")]
            assert [text for text in texts if "WebApp" in text] == [], "an operator of another workload serves them too"
        stuck.set()

    during(monkeypatch, reconciler, body, settings=Settings(queue=QueueSettings(workers=2)))
    assert REGISTRY.get_sample_value("coxswain_contested_fields") is None, "the gauges end with the manager"


def test_of_several_namespaces_the_worst_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(loop: Manager[WebApp]) -> None:
        monkeypatch.setattr(loop._coverage, "last_relists", lambda: {(POD, "a"): 9.0, (POD, "b"): 0.0})
        monkeypatch.setattr(loop._liveness, "data_ages", lambda: {(POD, "a"): 5.0, (POD, "b"): 7.0})
        readings = loop.readings
        assert (readings.relists, readings.event_ages) == ({"pods": 0.0}, {"pods": 7.0})

    during(monkeypatch, Scripted({}), body)
