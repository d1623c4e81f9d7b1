"""Resync: a relist after each start of a watch and periodically, and the reaction to failed LISTs."""

import asyncio
import logging

import pytest

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.cache import resync as module
from coxswain.webapp.kinds import WEBAPP
from rendered import KINDS
from unit.resync_bench import WEB, Bench, during


def test_no_kind_is_relisted_before_its_watch_runs() -> None:
    async def body(bench: Bench) -> None:
        for kind in KINDS.watched[1:]:
            bench.resync.relist_soon(kind, None)
        await bench.listed(len(KINDS.watched) - 1)
        assert WEBAPP not in bench.client.listed
        assert bench.unlisted == ["webapps"]
        assert not bench.resync.complete.is_set()
        bench.resync.relist_soon(WEBAPP, None)
        async with asyncio.timeout(10):
            await bench.resync.complete.wait()
        assert bench.found == [WEB]
        assert sorted(map(str, bench.client.listed)) == sorted(map(str, KINDS.watched))

    during(body)


def test_a_restarted_watch_is_relisted_and_deletions_are_found() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(1)
        bench.client.webapps, bench.client.version = [], 200
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(2)
        assert bench.store.parents() == []
        assert bench.found == [WEB, WEB]

    during(body)


def test_each_interval_relists_with_one_list() -> None:
    async def body(bench: Bench) -> None:
        clock = asyncio.get_running_loop().time
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(1)
        begun = clock()
        await bench.listed(4)
        assert clock() - begun >= 3 * 0.9 * 0.1
        assert bench.resynced >= 2

    during(body, interval=0.1)


@pytest.mark.parametrize("namespaces", [[None], ["a", "b", "c", "d", "e"]])
def test_each_interval_has_one_resync(namespaces: list[str | None]) -> None:
    """K10: each relist restarted the interval, so no resync ever came. And each namespace had its own resync."""

    async def body(bench: Bench) -> None:
        clock = asyncio.get_running_loop().time
        begun = clock()
        while clock() - begun < 1.05:
            for namespace in namespaces:
                bench.resync.relist_soon(WEBAPP, namespace)
            await asyncio.sleep(0.05)
        passed = (clock() - begun) / 0.2
        assert passed / 1.1 - 1 <= bench.resynced <= passed / 0.9
        assert len(bench.client.listed) > 10 * len(namespaces)

    during(body, interval=0.2, namespaces=namespaces)


def test_a_relist_does_not_delay_the_periodic_one() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(1)
        clock = asyncio.get_running_loop().time
        begun, relists = clock(), 0
        while clock() - begun < 0.7:
            bench.resync.relist_soon(WEBAPP, None)
            relists += 1
            await asyncio.sleep(0.1)
        assert len(bench.client.listed) > 1 + relists

    during(body, interval=0.25)


def test_a_request_during_a_relist_causes_one_more() -> None:
    async def body(bench: Bench) -> None:
        bench.client.gate.clear()
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(1)
        bench.resync.relist_soon(WEBAPP, None)
        bench.resync.relist_soon(WEBAPP, None)
        bench.client.gate.set()
        await bench.listed(2)
        await asyncio.sleep(0)
        assert len(bench.client.listed) == 2

    during(body)


def test_pages_that_expired_are_asked_for_again_at_once_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(bench: Bench) -> None:
        bench.client.failure = Refused(410, {"reason": "Expired"})
        bench.client.failures = 3
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(4)
        assert "webapps" not in bench.unlisted
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
        monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
        bench.client.failures = 5
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(10)
        assert sum(record.levelno == logging.WARNING for record in caplog.records) == 2

    during(body)


def test_a_list_is_not_tried_before_the_server_wants_to_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    async def body(bench: Bench) -> None:
        clock = asyncio.get_running_loop().time
        bench.client.failure = Refused(503, {}, retry_after="0.5")
        bench.client.failures = 1
        begun = clock()
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(2)
        assert clock() - begun >= 0.5

    during(body)


def test_a_failed_list_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    async def body(bench: Bench) -> None:
        bench.client.failures = 2
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(3)
        assert "webapps" not in bench.unlisted

    during(body)


def test_a_relist_overtaken_by_a_history_reset_does_not_count() -> None:
    async def body(bench: Bench) -> None:
        bench.client.gate.clear()
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(1)
        bench.resync.start_over()
        bench.client.gate.set()
        bench.resync.relist_soon(KINDS.watched[1], None)
        await bench.listed(2)
        assert "webapps" in bench.unlisted
        assert bench.store.parents() == []
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(3)
        assert "webapps" not in bench.unlisted

    during(body)


def test_an_outdated_list_is_reported_and_does_not_count() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(1)
        bench.client.version = 5
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(2)
        assert len(bench.resets) == 1
        bench.store.clear()
        bench.resync.start_over()
        assert not bench.resync.complete.is_set()
        bench.resync.relist_soon(WEBAPP, None)
        await bench.listed(3)
        assert "webapps" not in bench.unlisted

    during(body)
