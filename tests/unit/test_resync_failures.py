"""Resync: failed pages, unreadable objects, responses that are no list, and scopes whose watch is refused."""

import asyncio
from typing import Any

import pytest
from prometheus_client import REGISTRY

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.cache import resync as module
from coxswain.kernel.cache.store import Key
from coxswain.webapp.kinds import SERVICE, WEBAPP
from unit.objects import observed_child, raw_webapp
from unit.resync_bench import Bench, during


def test_objects_of_a_page_are_processed_even_if_a_later_page_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """K2: the store already had the first page, so the next relist found no change there, and nothing was requeued."""
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    async def body(bench: Bench) -> None:
        bench.client.webapps = [raw_webapp("first", version=10), raw_webapp("second", version=11, uid="uid-2")]
        bench.client.failing_pages = 1
        bench.resync.relist_soon(WEBAPP, None)
        await bench.relisted(WEBAPP)
        assert sorted(key.name for key in bench.found) == ["first", "second"]

    during(body)


ODD: dict[str, Any] = {"metadata": {"name": "odd", "namespace": "shop", "uid": "u", "resourceVersion": "12"}, "spec": 7}


def nested(depth: int) -> dict[str, Any]:
    """Return an object whose spec has this number of levels."""
    spec: dict[str, Any] = {}
    for _ in range(depth):
        spec = {"a": spec}
    return {**ODD, "spec": spec}


def adoptable(raw: dict[str, Any], fields: Any = None) -> dict[str, Any]:
    """Return an object that is kept as a whole, with the fieldsV1 of another manager."""
    entry = {"manager": "m", "operation": "Update", "fieldsV1": fields}
    annotations = {"coxswain.dev/adopt": "web"}
    return {**raw, "metadata": {**ODD["metadata"], "annotations": annotations, "managedFields": [entry]}}


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({**ODD, "metadata": {**ODD["metadata"], "managedFields": 7, "labels": 8}}, id="other types"),
        pytest.param(nested(2000), id="deeply nested"),
        pytest.param(adoptable(nested(400)), id="too deeply nested for pickle"),
        pytest.param(adoptable({**ODD, "spec": {}}, fields=nested(400)), id="too deeply nested fieldsV1"),
        pytest.param({}, id="empty"),
        pytest.param(7, id="no object"),
    ],
)
def test_an_unreadable_object_is_skipped_and_reported(caplog: pytest.LogCaptureFixture, odd: Any) -> None:
    """K24: an unreadable object ended the process, although the log announced another report by the next relist."""

    async def body(bench: Bench) -> None:
        before = unreadable()
        bench.client.services = [raw_webapp("before"), odd, raw_webapp("after")]
        bench.store.observe(observed_child(SERVICE, "odd", version=11))
        bench.resync.relist_soon(SERVICE, None)
        await bench.relisted(SERVICE)
        assert all(bench.store.get(SERVICE, Key("shop", name)) is not None for name in ("before", "after"))
        assert unreadable() == before + 1
        assert "cannot be read and is skipped" in caplog.text
        if odd and odd != 7:
            assert "odd" in caplog.text
            assert bench.store.get(SERVICE, Key("shop", "odd")) is not None, "a listed object stays in the store"

    during(body)


def unreadable() -> float:
    return REGISTRY.get_sample_value("coxswain_unreadable_objects_total", {"kind": "services"}) or 0.0


@pytest.mark.parametrize("answer", [{}, {"metadata": {}}, {"metadata": {"resourceVersion": "1"}, "items": 7}, []])
def test_an_answer_that_is_no_list_is_a_failure(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """K27: such a response ended the process."""
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    async def body(bench: Bench) -> None:
        bench.client.first = [answer]
        bench.resync.relist_soon(WEBAPP, None)
        await bench.relisted(WEBAPP)
        assert len(bench.client.listed) == 2

    during(body)


@pytest.mark.parametrize("error", [ValueError("the plugin printed nonsense"), TypeError()])
def test_an_error_in_one_relist_does_not_end_others(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    async def body(bench: Bench) -> None:
        bench.client.failure, bench.client.failures = error, 2
        bench.resync.relist_soon(WEBAPP, None)
        await bench.relisted(WEBAPP)
        bench.resync.relist_soon(SERVICE, None)
        await bench.relisted(SERVICE)

    during(body)


def test_a_scope_with_a_refused_watch_is_listed_for_the_reason_only() -> None:
    async def body(bench: Bench) -> None:
        scope = (WEBAPP, None)
        bench.client.failure, bench.client.failures = Refused(403, {"message": "no right"}), 1
        bench.resync.diagnose(scope)
        await bench.listed(1)
        assert bench.resync.coverage.missing()[scope] == "webapps cannot be listed: 403 : no right"
        bench.resync.diagnose(scope)
        await asyncio.sleep(0.05)
        assert len(bench.client.listed) == 1, "one request in ten seconds"
        bench.resync.relist_soon(WEBAPP, None)
        await bench.relisted(WEBAPP)
        assert bench.resync.coverage.missing()[scope] == "webapps not watched yet"
        bench.resync.diagnose(scope)
        await asyncio.sleep(0.05)
        assert len(bench.client.listed) == 2, "a listed scope needs no request"

    during(body)


def refused_watch(bench: Bench, seconds: int) -> Any:
    """Refuse the watch of Services every five seconds."""

    async def refuse() -> None:
        for _ in range(seconds // 5):
            bench.resync.coverage.watch_refused((SERVICE, None))
            bench.resync.diagnose((SERVICE, None))
            await asyncio.sleep(5)

    return refuse()


def test_a_kind_with_a_refused_watch_is_relisted_each_minute() -> None:
    """The right to watch is gone, the one to list is not: changes were found by the resync alone."""

    async def body(bench: Bench) -> None:
        bench.resync.coverage.watch_started((SERVICE, None))
        bench.resync.relist_soon(SERVICE, None)
        await bench.relisted(SERVICE)
        await refused_watch(bench, 60)
        assert bench.client.listed == [SERVICE], "a short failure needs no relist"
        bench.client.services = [raw_webapp("new", version=11)]
        await refused_watch(bench, 180)
        assert bench.client.listed == [SERVICE] * 4
        assert bench.store.get(SERVICE, Key("shop", "new")) is not None
        bench.resync.coverage.watch_opened((SERVICE, None))
        bench.resync.diagnose((SERVICE, None))
        await asyncio.sleep(100)
        assert bench.client.listed == [SERVICE] * 4

    during(body)


def test_an_outage_is_no_reason_for_more_relists() -> None:
    """Otherwise each outage would end with a relist of every kind, and be reported as a kind that cannot be listed."""

    async def body(bench: Bench) -> None:
        bench.resync.coverage.watch_started((SERVICE, None))
        bench.resync.relist_soon(SERVICE, None)
        await bench.relisted(SERVICE)
        bench.client.failures, bench.client.failure = 1000, Refused(403, {"message": "the roles are not loaded yet"})
        await refused_watch(bench, 240)
        assert bench.client.listed == [SERVICE] * 4, "one attempt a minute"
        assert "cannot be watched" in bench.resync.coverage.missing()[SERVICE, None]
        bench.client.failures = 0
        bench.resync.coverage.watch_opened((SERVICE, None))
        await asyncio.sleep(60)
        assert bench.client.listed == [SERVICE] * 4
        assert (SERVICE, None) not in bench.resync.coverage.missing()

    during(body)
