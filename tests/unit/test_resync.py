"""Resync: a sweep once a watch runs, again when it starts over and when it is time; and what a failed LIST does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from coxswain.control import resync as module
from coxswain.control.resync import Resync
from coxswain.control.store import HistoryReset, Key, Store
from coxswain.kube.client import Client
from coxswain.kube.errors import Refused, Unreachable
from coxswain.kube.kinds import KINDS, WEBAPP, Kind
from unit.objects import raw_webapp

WEB = Key("shop", "web")


class Pages(Client):
    """Lists what the test says, in pages of one object."""

    def __init__(self) -> None:
        self.version = 100
        self.webapps: list[dict[str, Any]] = [raw_webapp()]
        self.failures = 0
        self.failure: Exception = Unreachable("reset")
        self.listed: list[Kind] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def pages(self, kind: Kind, namespace: str | None) -> AsyncIterator[dict[str, Any]]:
        assert namespace is None
        self.listed.append(kind)
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise self.failure
        for item in self.webapps if kind is WEBAPP else []:
            yield {"metadata": {"resourceVersion": str(self.version)}, "items": [item]}
        yield {"metadata": {"resourceVersion": str(self.version)}, "items": []}


class Bench:
    """A resync, and what it told."""

    def __init__(self, interval: float = 600.0) -> None:
        self.client = Pages()
        self.store = Store()
        self.found: list[Key] = []
        self.resynced = asyncio.Event()
        self.resets: list[HistoryReset] = []
        self.resync = Resync(
            self.store,
            self.client,
            [None],
            interval,
            found=self.found.extend,
            resynced=self.resynced.set,
            history_reset=self.resets.append,
        )

    async def listed(self, count: int) -> None:
        """Wait until so many LISTs were sent."""
        async with asyncio.timeout(10):
            while len(self.client.listed) < count:
                await asyncio.sleep(0.01)


def during(body: Callable[[Bench], Any], interval: float = 600.0) -> None:
    """Run a test while the resync runs."""

    async def whole() -> None:
        bench = Bench(interval)
        running = asyncio.create_task(bench.resync.run())
        try:
            await body(bench)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(whole())


def test_nothing_is_swept_before_its_watch_runs() -> None:
    async def body(bench: Bench) -> None:
        for kind in KINDS[1:]:
            bench.resync.sweep_soon(kind, None)
        await bench.listed(len(KINDS) - 1)
        assert WEBAPP not in bench.client.listed
        assert bench.resync.pending == ["webapps not listed yet"]
        assert not bench.resync.complete.is_set()
        bench.resync.sweep_soon(WEBAPP, None)
        async with asyncio.timeout(10):
            await bench.resync.complete.wait()
        assert bench.found == [WEB]
        assert sorted(map(str, bench.client.listed)) == sorted(map(str, KINDS))

    during(body)


def test_a_watch_that_starts_over_is_swept_again_and_what_vanished_is_noticed() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(1)
        bench.client.webapps, bench.client.version = [], 200
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(2)
        assert bench.store.webapps() == []
        assert bench.found == [WEB, WEB]

    during(body)


def test_it_is_swept_again_when_it_is_time() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.sweep_soon(WEBAPP, None)
        async with asyncio.timeout(10):
            await bench.resynced.wait()
        assert len(bench.client.listed) >= 2

    during(body, interval=0.05)


def test_a_sweep_that_it_is_time_for_is_one_list() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.sweep_soon(WEBAPP, None)
        for count in range(2, 5):
            async with asyncio.timeout(10):
                await bench.resynced.wait()
            bench.resynced.clear()
            assert len(bench.client.listed) == count

    during(body, interval=0.2)


def test_what_is_wanted_during_a_sweep_is_swept_once_more() -> None:
    async def body(bench: Bench) -> None:
        bench.client.gate.clear()
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(1)
        bench.resync.sweep_soon(WEBAPP, None)
        bench.resync.sweep_soon(WEBAPP, None)
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
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(4)
        assert "webapps not listed yet" not in bench.resync.pending
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
        monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
        bench.client.failures = 5
        bench.resync.sweep_soon(WEBAPP, None)
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
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(2)
        assert clock() - begun >= 0.5

    during(body)


def test_a_failed_list_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    async def body(bench: Bench) -> None:
        bench.client.failures = 2
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(3)
        assert "webapps not listed yet" not in bench.resync.pending

    during(body)


def test_a_sweep_that_history_overtakes_counts_for_nothing() -> None:
    async def body(bench: Bench) -> None:
        bench.client.gate.clear()
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(1)
        bench.resync.start_over()
        bench.client.gate.set()
        bench.resync.sweep_soon(KINDS[1], None)
        await bench.listed(2)
        assert "webapps not listed yet" in bench.resync.pending
        assert bench.store.webapps() == []
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(3)
        assert "webapps not listed yet" not in bench.resync.pending

    during(body)


def test_a_list_from_the_past_is_told_and_nothing_counts_as_swept() -> None:
    async def body(bench: Bench) -> None:
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(1)
        bench.client.version = 5
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(2)
        assert len(bench.resets) == 1
        bench.store.clear()
        bench.resync.start_over()
        assert not bench.resync.complete.is_set()
        bench.resync.sweep_soon(WEBAPP, None)
        await bench.listed(3)
        assert "webapps not listed yet" not in bench.resync.pending

    during(body)
