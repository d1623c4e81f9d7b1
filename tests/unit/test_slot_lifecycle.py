"""The manager with slots: it enqueues acquired ones, drains surplus ones, and forgets lost ones."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from coxswain.gauges import collected
from coxswain.kernel.api.errors import NotLeading, Unreachable
from coxswain.kernel.cache.store import Key
from coxswain.kernel.election import changes
from coxswain.kernel.election.changes import Acquired, Dropped, Surplus
from coxswain.kernel.election.slots import Slot, slots
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.reconciling.queue.workqueue import Lane
from coxswain.settings import Settings
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp
from unit.manager_bench import Empty, Scripted, during, raising
from unit.metric_changes import QUEUE, Change, sample

COUNT = 6
NAMESPACES = [f"team-{number}" for number in range(24)]
KEYS = [Key(namespace, "web") for namespace in NAMESPACES]
MINE, OTHER = slots(COUNT)[0], slots(COUNT)[3]


def of(slot: Slot) -> list[Key]:
    return sorted(key for key in KEYS if slot.covers(key.namespace))


class Shared:
    """An election with slots that the test decides."""

    def __init__(self) -> None:
        self.changes: asyncio.Queue[changes.Change] = asyncio.Queue()
        self.led: set[Slot] = set()
        self.released: list[Slot] = []
        self.heard_synced = self.is_ending = False

    @property
    def led_slots(self) -> int:
        return len(self.led)

    def leads(self, namespace: str) -> bool:
        return any(slot.covers(namespace) for slot in self.led)

    serves = leads

    async def next_change(self) -> changes.Change:
        return await self.changes.get()

    async def ended(self) -> None:
        await asyncio.Event().wait()

    def drained(self, slot: Slot) -> None:
        self.released.append(slot)

    def synced(self) -> None:
        self.heard_synced = True

    def ending(self) -> None:
        self.is_ending = True

    def acquire(self, *acquired: Slot) -> None:
        for slot in acquired:
            self.led.add(slot)
            self.changes.put_nowait(Acquired(slot))

    def change(self, change: changes.Change) -> None:
        self.led.discard(change.slot)
        self.changes.put_nowait(change)


class Webapps(Empty):
    """A cluster with a WebApp in each namespace."""

    async def pages(self, kind: Kind, *_: Any) -> Any:
        self.listed += 1
        items = [
            {"metadata": {"namespace": namespace, "name": "web", "uid": f"u-{namespace}", "resourceVersion": "5"}}
            for namespace in NAMESPACES
        ]
        yield {"metadata": {"resourceVersion": "10"}, "items": items if kind is WEBAPP else []}


class Bench:
    """A manager with slots and in-flight reconciles that the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.election, self.client = Shared(), Webapps()
        self.reconciler = Scripted({})
        self._monkeypatch = monkeypatch

    def run(self, body: Callable[[Manager[WebApp]], Any]) -> None:
        during(self._monkeypatch, self.reconciler, body, client=self.client, election=self.election)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    assert len(of(MINE)) >= 2
    assert len(of(OTHER)) >= 2
    return Bench(monkeypatch)


def test_an_acquired_slot_is_reconciled_from_the_cache(bench: Bench) -> None:
    async def body(loop: Manager[WebApp]) -> None:
        await asyncio.sleep(5)
        assert bench.election.heard_synced
        assert bench.reconciler.asked == []
        listed = bench.client.listed
        bench.election.acquire(MINE)
        await asyncio.sleep(0.1)
        assert sorted(bench.reconciler.asked) == of(MINE)
        adds = Change()
        loop._enqueue(set(KEYS), Lane.CHANGED)
        await asyncio.sleep(0.1)
        assert sorted(bench.reconciler.asked) == sorted(2 * of(MINE))
        assert adds.of("workqueue_adds_total", **QUEUE) == len(of(MINE)), "nothing else is enqueued"
        assert bench.client.listed == listed, "no LIST"

    bench.run(body)


def test_the_metric_of_the_led_slots_follows_the_election(bench: Bench) -> None:
    async def body(loop: Manager[WebApp]) -> None:
        with collected(lambda: loop.readings):
            assert sample("coxswain_led_slots") == 0
            bench.election.acquire(MINE, OTHER)
            await asyncio.sleep(0.1)
            assert sample("coxswain_led_slots") == 2
            bench.election.change(Dropped(OTHER))
            await asyncio.sleep(0.1)
            assert sample("coxswain_led_slots") == 1

    bench.run(body)


def test_a_surplus_slot_is_released_after_its_last_reconcile(bench: Bench) -> None:
    ended = asyncio.Event()
    slow, quick = of(MINE)[0], of(OTHER)[0]

    async def in_flight() -> Outcome:
        await ended.wait()
        return Outcome(again=True)

    bench.reconciler.acts[slow] = in_flight

    async def body(loop: Manager[WebApp]) -> None:
        bench.election.acquire(MINE, OTHER)
        await asyncio.sleep(0.1)
        bench.election.change(Surplus(MINE))
        await asyncio.sleep(8)
        assert bench.election.released == []
        assert bench.reconciler.forgotten_namespaces == []
        loop._enqueue({slow, quick}, Lane.CHANGED)
        ended.set()
        await asyncio.sleep(0.1)
        assert bench.election.released == [MINE]
        [covers] = bench.reconciler.forgotten_namespaces
        assert covers(slow.namespace)
        assert not covers(quick.namespace)
        assert bench.reconciler.asked.count(slow) == 1, "a slot that was given back begins nothing"
        assert bench.reconciler.asked.count(quick) == 2
        assert len(loop._queue) == 0

    bench.run(body)


def test_a_drain_of_a_slot_has_a_limit(bench: Bench) -> None:
    """A reconcile may wait for one request after another. The namespaces of its slot wait with it."""
    slow, quick = of(MINE)[0], of(OTHER)[0]
    cancelled = []

    async def in_flight() -> Outcome:
        try:
            await asyncio.sleep(300)
        except asyncio.CancelledError:
            cancelled.append(bench.election.released.copy())
            raise
        return Outcome()

    bench.reconciler.acts[slow] = bench.reconciler.acts[quick] = in_flight

    async def body(loop: Manager[WebApp]) -> None:
        bench.election.acquire(MINE, OTHER)
        await asyncio.sleep(0.1)
        bench.election.change(Surplus(MINE))
        await asyncio.sleep(Settings().drain_timeout - 0.1)
        assert (cancelled, bench.election.released) == ([], [])
        await asyncio.sleep(0.2)
        assert cancelled == [[]], "before the release, and in this slot only"
        assert bench.election.released == [MINE]
        # A cancelled reconcile ends no worker.
        begun = bench.reconciler.asked.count(of(OTHER)[1])
        for number in range(1, loop._workers.limit + 1):
            loop._queue.add(of(OTHER)[1])
            await asyncio.sleep(0.01)
            assert bench.reconciler.asked.count(of(OTHER)[1]) == begun + number

    bench.run(body)


def test_a_process_that_ends_takes_no_more_slots_during_its_drain(bench: Bench) -> None:
    heard = []

    async def in_flight() -> Outcome:
        await asyncio.sleep(1)
        heard.append(bench.election.is_ending)
        return Outcome()

    bench.reconciler.acts[of(MINE)[0]] = in_flight

    async def body(_: Manager[WebApp]) -> None:
        bench.election.acquire(MINE)
        await asyncio.sleep(0.1)
        assert not bench.election.is_ending

    bench.run(body)
    assert heard == [True]


def test_a_slot_without_reconciles_is_released_at_once(bench: Bench) -> None:
    async def body(_: Manager[WebApp]) -> None:
        bench.election.acquire(MINE)
        await asyncio.sleep(0.1)
        bench.election.change(Surplus(MINE))
        await asyncio.sleep(0.001)
        assert bench.election.released == [MINE]

    bench.run(body)


def test_a_drain_that_a_loss_ends_does_not_forget_the_next_term(bench: Bench) -> None:
    ended, slow = asyncio.Event(), of(MINE)[0]

    async def in_flight() -> Outcome:
        await ended.wait()
        return Outcome()

    bench.reconciler.acts[slow] = in_flight

    async def body(_: Manager[WebApp]) -> None:
        bench.election.acquire(MINE)
        await asyncio.sleep(0.1)
        bench.election.change(Surplus(MINE))
        await asyncio.sleep(0.1)
        bench.election.change(Dropped(MINE))
        bench.election.acquire(MINE)
        await asyncio.sleep(0.1)
        ended.set()
        await asyncio.sleep(0.1)
        assert len(bench.reconciler.forgotten_namespaces) == 1, "at the loss"
        assert bench.election.released == []
        assert [bench.reconciler.asked.count(key) for key in of(MINE)] == [2] * len(of(MINE))

    bench.run(body)


def test_a_drain_does_not_delay_other_changes(bench: Bench) -> None:
    slow = of(MINE)[0]

    async def in_flight() -> Outcome:
        await asyncio.sleep(3)
        return Outcome()

    bench.reconciler.acts[slow] = in_flight

    async def body(_: Manager[WebApp]) -> None:
        bench.election.acquire(MINE)
        await asyncio.sleep(0.1)
        bench.election.change(Surplus(MINE))
        bench.election.acquire(OTHER)
        await asyncio.sleep(0.1)
        assert set(of(OTHER)) <= set(bench.reconciler.asked)
        assert bench.election.released == []

    bench.run(body)


def test_a_dropped_slot_is_forgotten_with_its_backoffs_and_delays(bench: Bench) -> None:
    failing, delayed = of(MINE)[:2]

    async def later() -> Outcome:
        return Outcome(after=5.0)

    bench.reconciler.acts[failing] = lambda: raising(NotLeading("not sent"))
    bench.reconciler.acts[delayed] = later

    async def body(loop: Manager[WebApp]) -> None:
        bench.election.acquire(MINE, OTHER)
        await asyncio.sleep(0.1)
        assert loop._queue.failures(failing) > 0
        assert delayed in loop._queue._delayed
        bench.election.change(Dropped(MINE))
        await asyncio.sleep(0.01)
        assert len(bench.reconciler.forgotten_namespaces) == 1
        tables = (loop._queue._delayed, loop._queue._failures, loop._queue._retry_at, loop._queue._added)
        assert [len(table) for table in tables] == [0, 0, 0, 0]
        asked = len(bench.reconciler.asked)
        await asyncio.sleep(10)
        assert len(bench.reconciler.asked) == asked
        assert bench.election.released == []
        bench.election.acquire(MINE)
        await asyncio.sleep(0.01)
        assert len(bench.reconciler.asked) == asked + len(of(MINE))

    bench.run(body)


def test_a_failure_after_the_loss_of_its_slot_does_not_occupy_the_recovery_probe(bench: Bench) -> None:
    """Its key is never reconciled here again, so it would stay the candidate, and nothing else would be probed."""
    late, failing = of(MINE)[0], of(OTHER)[0]
    ended = asyncio.Event()

    async def in_flight() -> Outcome:
        await ended.wait()
        raise Unreachable("no answer")

    bench.reconciler.acts[late] = in_flight
    bench.reconciler.acts[failing] = lambda: raising(Unreachable("no answer"))

    async def body(loop: Manager[WebApp]) -> None:
        bench.election.acquire(MINE, OTHER)
        await asyncio.sleep(0.1)
        bench.election.change(Dropped(MINE))
        await asyncio.sleep(0.1)
        ended.set()
        await asyncio.sleep(0.1)
        assert list(loop._workers._recovery_probe._failing) == [failing]
        assert late not in loop._queue._delayed
        assert loop._queue.failures(late) == 0

    bench.run(body)
