"""Stale writes: after a takeover with a lagging watch of records, and after a wait in the throttle."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONTROLLER_REVISION, SERVICE, WEBAPP
from unit.model_bench import KEY
from unit.release_bench import IN_FLIGHT, CrashingTransport, ReleaseBench
from unit.test_rollback import BAD, ONE, ROLLBACK, TWO, released

pytestmark = pytest.mark.model

PORTS = [{"name": "http", "containerPort": 8080}]


def written(bench: ReleaseBench) -> list[str]:
    """Return the writes since the last call."""
    found = [sent for sent in bench.transport.sent if not sent.startswith("GET")]
    bench.transport.sent.clear()
    return found


def reconcile(bench: ReleaseBench) -> None:
    """Reconcile once with the cache as it is."""
    with suppress(OutOfDate):
        asyncio.run(bench.reconciler.reconcile(KEY, failures=0))


def change_service(bench: ReleaseBench) -> None:
    """Let another client change the Service."""
    session = {"None": "ClientIP", "ClientIP": "None"}
    before = bench.live("Service")[0]["spec"].get("sessionAffinity", "None")
    bench.patch(SERVICE.path("shop", "web"), {"spec": {"sessionAffinity": session[before]}})


def observe(bench: ReleaseBench, records: Sequence[Projection]) -> None:
    """Let the watches deliver these versions."""
    for record in records:
        bench.store.observe(record)


def records_of(bench: ReleaseBench) -> list[Projection]:
    """Return the records in the cache."""
    names = [record["metadata"]["name"] for record in bench.live("ControllerRevision")]
    found = [bench.store.get(CONTROLLER_REVISION, Key("shop", name)) for name in names]
    return [record for record in found if record is not None]


def taken_over(bench: ReleaseBench) -> list[Projection]:
    """Let a rollout fail and be rolled back, and another replica take over.

    Return the two records as they were before the failure.
    """
    bench.change(image=BAD)
    bench.settle()
    before = records_of(bench)
    assert len(before) == 2
    bench.time_out()
    bench.roll_out()
    assert bench.running == ONE
    bench.restart()
    change_service(bench)
    bench.observe_all()
    return before


def empty(bench: ReleaseBench, kind: Kind) -> None:
    """Let the store know no object of a kind."""
    bench.store.drop(kind)
    bench.store.serve(kind)


@pytest.mark.parametrize("parent_lags", [False, True], ids=["present parent", "old parent"])
@pytest.mark.parametrize("lag", ["older", "missing"])
def test_a_failed_spec_does_not_run_again_after_a_takeover(lag: str, *, parent_lags: bool) -> None:
    """All watches of the new leader are up to date, but that of the records, and maybe that of the WebApps."""
    bench = released()
    parent = bench.store.parent(KEY)
    before = taken_over(bench)
    empty(bench, CONTROLLER_REVISION)
    observe(bench, [record for record in before if lag == "older" or record.content["revision"] == 1])
    if parent_lags:
        empty(bench, WEBAPP)
        assert parent is not None
        bench.store.observe(parent)
    written(bench)
    for _ in range(2 if parent_lags else 1):
        reconcile(bench)
        assert (bench.running, written(bench)) == (ONE, [])
        bench.pass_time(1)
    reconcile(bench)
    assert (bench.running, (bench.condition("Ready") or "")[:2]) == (ONE, ("False", "RolledBack"))
    assert bench.settle() == 0


@pytest.mark.parametrize("read", ["webapps", "controllerrevisions"])
def test_the_event_of_a_record_may_arrive_while_the_guard_reads(monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    bench = released()
    before = taken_over(bench)
    present = records_of(bench)
    empty(bench, CONTROLLER_REVISION)
    observe(bench, before)
    send, met = CrashingTransport.send, []

    async def late(transport: CrashingTransport, method: str, path: str, **request: Any) -> HttpResponse:
        answer = await send(transport, method, path, **request)
        if method == "GET" and read in path:
            met.append(path)
            observe(bench, present)
        return answer

    written(bench)
    monkeypatch.setattr(CrashingTransport, "send", late)
    reconcile(bench)
    assert len(met) == 1
    assert (bench.running, written(bench)) == (ONE, [])


def test_the_record_is_read_if_the_first_write_creates_a_vanished_child() -> None:
    """That write reads the parent anyway."""
    bench = released()
    bench.restart()
    bench.reconcile_once()
    bench.request("DELETE", SERVICE.path("shop", "web"), None, "")
    bench.observe_all()
    bench.transport.sent.clear()
    reconcile(bench)
    assert [sent.split("-")[0] for sent in bench.transport.sent[:3]] == [
        "GET webapps/web",
        "GET controllerrevisions/web",
        "PATCH services/web",
    ]


def test_a_new_webapp_has_no_record_to_read() -> None:
    bench = ReleaseBench(rollout=ROLLBACK)
    bench.settle()
    assert not [sent for sent in bench.transport.sent if sent.startswith("GET")]


def test_the_record_is_read_once() -> None:
    bench = released()
    bench.restart()
    for _ in range(2):
        change_service(bench)
        bench.reconcile_once()
        bench.reconciler.doubt()
    assert [sent.split("-")[0] for sent in bench.transport.sent].count("GET controllerrevisions/web") == 1


@pytest.mark.parametrize("seen", [False, True])
def test_a_record_that_has_lost_its_label_delays_no_write(*, seen: bool) -> None:
    """The cache lacks it. If it has `seen` it, it takes no version from before the relist that missed it."""
    bench = released()
    bench.restart()
    if seen:
        bench.observe_all()
    (record,) = bench.live("ControllerRevision")
    place = CONTROLLER_REVISION.path("shop", record["metadata"]["name"])
    bench.patch(place, {"metadata": {"labels": {"coxswain.dev/webapp": None}}})
    change_service(bench)
    bench.observe_all()
    written(bench)
    reconcile(bench)
    assert written(bench)[:1] == ["PATCH services/web"]


def test_an_up_to_date_record_delays_no_write() -> None:
    bench = released()
    bench.restart()
    change_service(bench)
    bench.observe_all()
    written(bench)
    reconcile(bench)
    assert written(bench)[0] == "PATCH services/web"


def test_a_record_decides_only_if_the_spec_asks_for_a_rollback() -> None:
    reads = []
    for policy in ({}, {"rollout": {"onFailure": "Rollback"}}):
        bench = ReleaseBench(**policy)
        bench.settle()
        bench.roll_out()
        bench.restart()
        bench.change(image=TWO)
        bench.observe_all()
        bench.transport.sent.clear()
        reconcile(bench)
        assert bench.running == TWO
        reads.append([sent for sent in bench.transport.sent if sent.startswith("GET controllerrevisions")])
    assert (len(reads[0]), len(reads[1])) == (0, 1)


@pytest.mark.parametrize("waits_for", ["pause", "slot"])
@pytest.mark.parametrize(
    ("first", "then"), [({"ports": None}, {"ports": PORTS}), ({"image": TWO}, {"paused": True})], ids=["back", "paused"]
)
def test_a_change_ends_a_write_that_waits_in_the_throttle(
    monkeypatch: pytest.MonkeyPatch, first: dict[str, Any], then: dict[str, Any], waits_for: str
) -> None:
    throttles: list[Throttle] = []
    original: Callable[..., None] = Client.__init__

    def noted(client: Client, transport: Any, throttle: Throttle, **options: Any) -> None:
        throttles.append(throttle)
        original(client, transport, throttle, **options)

    monkeypatch.setattr(Client, "__init__", noted)
    bench = ReleaseBench()
    bench.settle()
    bench.roll_out()
    bench.change(**first)
    bench.observe_all()
    written(bench)

    async def body() -> None:
        async with AsyncExitStack() as others:
            if waits_for == "slot":
                for _ in range(IN_FLIGHT):
                    await others.enter_async_context(throttles[-1].turn(writing=False))
            else:
                throttles[-1].refused(Refused(429, {"reason": "TooManyRequests"}, retry_after="0.3"), writing=True)
            task = asyncio.create_task(bench.reconciler.reconcile(KEY, failures=0))
            await asyncio.sleep(0.1)
            assert not task.done()
            bench.change(**then)
            bench.observe_all()
        with pytest.raises(OutOfDate):
            await task

    asyncio.run(body())
    assert written(bench) == []
    bench.settle()
    assert bench.running == ONE
    assert len(bench.live("Service")) == 1
