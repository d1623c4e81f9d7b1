"""The election with slots in its thread, over HTTP: roles, changes, metrics, the handover, and the release."""

import asyncio
import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.election import slot_elector
from coxswain.kernel.election.changes import Acquired, Change, Dropped, Surplus
from coxswain.kernel.election.elector import LeadershipLost
from coxswain.kernel.election.lease_client import SLOT_LABEL
from coxswain.kernel.election.slot_election import SlotElection
from coxswain.kernel.election.slots import Slot, slots
from coxswain.settings import ElectionSettings
from unit.fake_api import until
from unit.leases import LeaseServer
from unit.test_lease_election import FAST, METRIC, Http

pytestmark = pytest.mark.thorough

COUNT = 4
SETTINGS = replace(FAST, settling_period=0.3)
PATIENT = replace(SETTINGS, lease_duration=3.0, renew_deadline=2.4, request_timeout=1.2)
"""For a test whose replicas all live: a machine that stands still for two seconds changes no leader."""
NAMESPACES = [
    next(name for name in map("team-{}".format, itertools.count()) if slot.covers(name)) for slot in slots(COUNT)
]
"""One in each slot."""


class SlotHttp(Http):
    """The Leases of one namespace over HTTP."""

    def __init__(self) -> None:
        super().__init__()
        self.all: dict[str, LeaseServer] = {}
        self.listed: list[str] = []

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        with self._lock:
            if self.refuses:
                return self.refuses, {"reason": "Refused", "message": "no"}
            try:
                return 200, self._execute(method, path, body)
            except Refused as refused:
                return refused.status, {"reason": refused.reason}

    def _execute(self, method: str, path: str, body: Any) -> Any:
        bare, _, query = path.partition("?")
        name = bare.partition("/leases")[2].strip("/")
        if method == "GET" and not name:
            self.listed.append(query)
            return {"items": [each.stored for each in self.all.values() if self._labelled(each.stored)]}
        return self.all.setdefault(name or body["metadata"]["name"], LeaseServer()).execute(method, body)

    def _labelled(self, raw: Mapping[str, Any] | None) -> bool:
        return raw is not None and raw["metadata"].get("labels", {}).get(SLOT_LABEL) == "coxswain"

    def holders(self) -> list[str]:
        stored = [self.all[slot.lease_name("coxswain")].stored for slot in slots(COUNT)]
        return [raw["spec"]["holderIdentity"] if raw else "" for raw in stored]


@pytest.fixture
def http() -> Iterator[SlotHttp]:
    server = SlotHttp()
    yield server
    server.close()


def candidate(http: Http, count: int = COUNT, settings: ElectionSettings = SETTINGS) -> SlotElection:
    async def connect() -> HttpTransport:
        return await http.connect()

    made = SlotElection(connect, "ns", "coxswain", settings, count=count)
    made.synced()
    return made


async def changes(election: SlotElection, number: int) -> list[Change]:
    """Return the next changes. Raise the error of a thread that ends meanwhile."""

    async def found() -> list[Change]:
        return [await election.next_change() for _ in range(number)]

    async with asyncio.timeout(10):
        waiting, ended = asyncio.create_task(found()), asyncio.create_task(election.ended())
        await asyncio.wait([waiting, ended], return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            await ended
            raise AssertionError("the thread has ended")
        ended.cancel()
        return waiting.result()


def led(number: int) -> float | None:
    return REGISTRY.get_sample_value(METRIC, {"name": f"coxswain-slot-{number}"})


def test_one_replica_leads_all_slots_and_shares_them_with_a_second_one(http: SlotHttp) -> None:
    async def body() -> None:
        async with candidate(http, settings=PATIENT) as first:
            assert first.role() == ["standby: nobody leads yet"]
            assert "cannot be read or acquired: no answer yet" in first.obstacles()[0]
            assert {change.slot for change in await changes(first, COUNT)} == set(slots(COUNT))
            assert first.led_slots == COUNT
            assert [led(number) for number in range(COUNT)] == [1] * COUNT
            assert all(first.leads(name) and first.serves(name) for name in NAMESPACES)
            identity = http.holders()[0]
            assert first.role() == [
                f"leader of 4 of 4 slots: {identity}",
                *(f"slot {number}: leader" for number in range(COUNT)),
            ]
            assert http.listed[0] == "labelSelector=coxswain.dev/slots-of%3Dcoxswain"
            async with candidate(http, settings=PATIENT) as second:
                surplus = await changes(first, 2)
                assert all(isinstance(change, Surplus) for change in surplus)
                for change in surplus:
                    name = NAMESPACES[change.slot.number]
                    assert first.leads(name), "until the last write"
                    assert not first.serves(name)
                    assert f"slot {change.slot.number}: leader, giving it back" in first.role()
                assert first.led_slots == COUNT
                await asyncio.sleep(1)
                assert second.led_slots == 0
                for change in surplus:
                    first.drained(change.slot)
                assert first.led_slots == 2
                given = {change.slot for change in surplus}
                assert {change.slot for change in await changes(second, 2)} == given
                for number, name in enumerate(NAMESPACES):
                    theirs = Slot(number, COUNT) in given
                    assert (first.leads(name), second.leads(name)) == (not theirs, theirs)
                await until(lambda: sum("standby, " in line for line in first.role()) == 2)
                assert second.obstacles() == first.obstacles() == first.dead() == []
            assert {change.slot for change in await changes(first, 2)} == given, "the second one has released them"
        assert http.holders() == [""] * COUNT
        assert not any(first.leads(name) or first.serves(name) for name in NAMESPACES)
        assert [led(number) for number in range(COUNT)] == [0] * COUNT

    asyncio.run(body())


def test_a_process_that_ends_takes_nothing(http: SlotHttp) -> None:
    async def body() -> None:
        async with candidate(http) as first:
            first.ending()
            await until(lambda: http.listed != [])
            await asyncio.sleep(2 * SETTINGS.lease_duration)
            assert first.led_slots == 0
        async with candidate(http) as second:
            await changes(second, COUNT)
            second.ending()
            http.all["coxswain-slot-2"].edit(holderIdentity="stranger")
            assert await changes(second, 1) == [Dropped(Slot(2, COUNT))]
            await asyncio.sleep(2 * SETTINGS.lease_duration)
            assert second.led_slots == COUNT - 1, "it keeps the others for its drain"

    asyncio.run(body())


def test_the_shared_lease_keeps_other_numbers_of_slots_away(http: SlotHttp) -> None:
    async def body() -> None:
        async with candidate(http) as first:
            await changes(first, COUNT)
            async with candidate(http, 3) as other:
                await until(lambda: other.role() == ["standby: slots-4 leads"])
                await until(lambda: not other.obstacles())
                assert not any(other.leads(name) for name in NAMESPACES)

    asyncio.run(body())


def test_a_slot_that_a_stranger_takes_is_dropped(http: SlotHttp) -> None:
    async def body() -> None:
        async with candidate(http) as first:
            await changes(first, COUNT)
            with http._lock:
                http.all["coxswain-slot-2"].edit(holderIdentity="stranger")
            assert await changes(first, 1) == [Dropped(Slot(2, COUNT))]
            assert not first.leads(NAMESPACES[2])
            assert not first.serves(NAMESPACES[2])
            assert first.leads(NAMESPACES[1])
            assert led(2) == 0
            await until(lambda: "slot 2: standby, stranger leads" in first.role())
            assert await changes(first, 1) == [Acquired(Slot(2, COUNT))]

    asyncio.run(body())


def test_a_blocked_main_loop_neither_loses_slots_nor_writes_after_the_loss(http: SlotHttp) -> None:
    async def body() -> None:
        async with candidate(http) as first:
            await changes(first, COUNT)
            time.sleep(3 * SETTINGS.lease_duration)  # noqa: ASYNC251 - blocks the loop on purpose
            assert all(first.leads(name) for name in NAMESPACES)
            http.refuses = 500
            time.sleep(2 * SETTINGS.lease_duration)  # noqa: ASYNC251 - blocks the loop on purpose
            assert not any(first.leads(name) for name in NAMESPACES), "although this loop has not heard of the loss"
            with pytest.raises(LeadershipLost, match=r"the Lease ns/coxswain: not renewed for 0.8 s \("):
                await first.ended()
            assert first.led_slots == 0

    asyncio.run(body())


def test_a_replica_without_slots_survives_an_outage(http: SlotHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_elector, "SYNC_SECONDS", 3600.0)

    async def body() -> None:
        async with candidate(http) as first:
            first._synced = False
            await until(lambda: first._elector is not None)
            assert first._elector is not None
            first._elector.synced = False
            await until(lambda: first.role()[0].startswith("standby of 0 of 4 slots: "))
            http.refuses = 403
            await until(lambda: "403" in str(first.obstacles()))
            await asyncio.sleep(2 * SETTINGS.lease_duration)
            http.refuses = 0
            await until(lambda: not first.obstacles())
            assert first.led_slots == 0
            first.synced()
            await changes(first, COUNT)

    asyncio.run(body())


def test_a_lease_without_the_label_is_found_and_labelled(http: SlotHttp) -> None:
    bare = {"metadata": {"name": "coxswain-slot-1"}, "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
    http.all["coxswain-slot-1"] = LeaseServer()
    http.all["coxswain-slot-1"].execute("POST", bare)

    async def body() -> None:
        async with candidate(http) as first:
            await changes(first, COUNT)
            assert all(http._labelled(each.stored) for name, each in http.all.items() if name != "coxswain")

    asyncio.run(body())
