"""Writes that the cache or the parent has outdated: of a lagging watch of records, and during a Retry-After."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.cache.store import Key
from coxswain.webapp.kinds import CONTROLLER_REVISION, SERVICE
from unit.model_bench import KEY
from unit.release_bench import ReleaseBench
from unit.test_rollback import BAD, ONE, TWO, released

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


@pytest.mark.parametrize("lag", ["older", "missing"])
def test_a_failed_spec_does_not_run_again_after_a_takeover(lag: str) -> None:
    """All watches of the new leader are up to date, but that of the records."""
    bench = released()
    bench.change(image=BAD)
    bench.settle()
    names = [record["metadata"]["name"] for record in bench.live("ControllerRevision")]
    records = [bench.store.get(CONTROLLER_REVISION, Key("shop", name)) for name in names]
    bench.time_out()
    bench.roll_out()
    assert bench.running == ONE
    bench.restart()
    bench.observe_all()
    bench.store.drop(CONTROLLER_REVISION)
    for record in records:
        if record is not None and (lag == "older" or record.content["revision"] == 1):
            bench.store.observe(record)
    written(bench)
    reconcile(bench)
    assert (bench.running, written(bench)) == (ONE, [])
    reconcile(bench)
    assert (bench.running, (bench.condition("Ready") or "")[:2]) == (ONE, ("False", "RolledBack"))
    assert bench.settle() == 0


def test_an_up_to_date_record_delays_no_write() -> None:
    bench = released()
    bench.restart()
    bench.patch(SERVICE.path("shop", "web"), {"spec": {"sessionAffinity": "ClientIP"}})
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


@pytest.mark.parametrize(
    ("first", "then"), [({"ports": None}, {"ports": PORTS}), ({"image": TWO}, {"paused": True})], ids=["back", "paused"]
)
def test_a_change_during_a_retry_after_ends_the_writes(
    monkeypatch: pytest.MonkeyPatch, first: dict[str, Any], then: dict[str, Any]
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
        throttles[-1].refused(Refused(429, {"reason": "TooManyRequests"}, retry_after="0.3"), writing=True)
        task = asyncio.create_task(bench.reconciler.reconcile(KEY, failures=0))
        await asyncio.sleep(0.1)
        bench.change(**then)
        bench.observe_all()
        with suppress(OutOfDate):
            await task

    asyncio.run(body())
    assert written(bench) == []
    bench.settle()
    assert bench.running == ONE
    assert len(bench.live("Service")) == 1
