"""Optional kinds whose watch hangs or whose objects are gone: the relists, and the objects in the cache."""

import asyncio

from coxswain.kernel.cache.decode import read
from coxswain.kernel.cache.scope_state import LASTING_SECONDS
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import HTTP_ROUTE, SERVICE
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS
from unit import resync_bench
from unit.bench import WEB

OTHERS = [kind for kind in KINDS.watched if kind is not HTTP_ROUTE]


def test_a_watch_that_hangs_holds_up_nothing_for_long() -> None:
    """No error reports it: its LIST or its opening gets no answer. The manager diagnoses it by a LIST."""

    async def body(bench: resync_bench.Bench) -> None:
        resync, coverage = bench.resync, bench.resync.coverage
        for _ in range(2):
            resync.begin_watches(KINDS.watched)
            for kind in OTHERS:
                coverage.watch_started((kind, None))
                resync.relist_soon(kind, None)
            await asyncio.sleep(LASTING_SECONDS - 1)
            assert not coverage.view(None).settled
            await asyncio.sleep(LASTING_SECONDS + 2)
            assert coverage.view(None).settled
            told = coverage.unavailable("shop")[HTTP_ROUTE]
            assert "the API server answers the LIST, but the watch does not open" in str(told)
            assert bench.client.listed.count(HTTP_ROUTE) <= 3
            resync.begin_watches(OTHERS)
            bench.client.listed.clear()

    resync_bench.during(body)


def test_no_object_of_a_kind_that_has_gone_stays_in_the_cache() -> None:
    """The deletion of a CRD deletes them, but its end of the watch may come before the events."""
    metadata = {"namespace": "shop", "uid": "u", "labels": {"coxswain.dev/webapp": "web"}}

    def observed(kind: Kind, name: str, version: int) -> Projection:
        found = read(
            WORKLOAD.projector, kind, {"metadata": {**metadata, "name": name, "resourceVersion": str(version)}}
        )
        assert found is not None
        return found

    async def body(bench: resync_bench.Bench) -> None:
        store = bench.store
        for kind in (HTTP_ROUTE, SERVICE):
            store.observe(observed(kind, "web", 3))
            store.observe(observed(kind, "gone", 4))
            store.forget(kind, Key("shop", "gone"), 5)
        bench.resync.begin_watches(OTHERS)
        assert store.objects_of(WEB, HTTP_ROUTE) == []
        assert len(store.objects_of(WEB, SERVICE)) == 1
        assert store.get(HTTP_ROUTE, WEB) is None
        assert [kind for kind in KINDS.watched if store._tombstones._of.get(kind)] == [SERVICE]
        assert {kind for found in store._of_parent._items.values() for kind, _ in found} == {SERVICE}

    resync_bench.during(body)


def test_no_answer_that_comes_late_brings_an_object_of_a_kind_that_has_gone() -> None:
    """A LIST or a write may be in flight when the kind goes. Nothing deleted its objects from the cache then."""
    metadata = {"namespace": "shop", "name": "web", "uid": "u", "labels": {"coxswain.dev/webapp": "web"}}
    route = {"metadata": {**metadata, "resourceVersion": "3"}}
    observed = read(WORKLOAD.projector, HTTP_ROUTE, route)
    assert observed is not None

    async def body(bench: resync_bench.Bench) -> None:
        store, client = bench.store, bench.client
        bench.resync.begin_watches(KINDS.watched)
        client.gate.clear()
        client.first = [{"metadata": {"resourceVersion": "9"}, "items": [route]}]
        bench.resync.coverage.watch_started((HTTP_ROUTE, None))
        bench.resync.relist_soon(HTTP_ROUTE, None)
        await bench.listed(1)
        bench.resync.begin_watches(OTHERS)
        client.gate.set()
        await asyncio.sleep(1)
        store.answer(observed, None)
        assert store.get(HTTP_ROUTE, WEB) is None
        assert store.forget(HTTP_ROUTE, WEB, 4) == set()
        assert store.removed_at(HTTP_ROUTE, WEB) == 0
        bench.resync.begin_watches(KINDS.watched)
        store.answer(observed, None)
        assert store.get(HTTP_ROUTE, WEB) == observed, "the kind is served again"

    resync_bench.during(body)


def test_a_watch_that_opens_in_time_costs_one_list() -> None:
    async def body(bench: resync_bench.Bench) -> None:
        bench.resync.begin_watches(KINDS.watched)
        await asyncio.sleep(1)
        bench.resync.coverage.watch_started((HTTP_ROUTE, None))
        bench.resync.relist_soon(HTTP_ROUTE, None)
        await asyncio.sleep(300)
        assert bench.client.listed.count(HTTP_ROUTE) == 1

    resync_bench.during(body)


def test_a_kind_that_is_not_served_is_not_diagnosed() -> None:
    async def body(bench: resync_bench.Bench) -> None:
        bench.resync.begin_watches(OTHERS)
        await asyncio.sleep(300)
        assert HTTP_ROUTE not in bench.client.listed

    resync_bench.during(body)
