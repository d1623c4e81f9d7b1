"""The manager as a standby: a warm cache and an empty workqueue, then all parents; and the loss of the leadership."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.election.election import WholeElection
from coxswain.kernel.election.elector import LeadershipLost
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import EventSink
from coxswain.settings import Settings
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from unit.manager_bench import Empty, Scripted, during, virtually
from unit.objects import observed_webapp

COUNT = 50


class Appointed(WholeElection):
    """An election that the test decides."""

    def __init__(self) -> None:
        super().__init__()
        self.won = asyncio.Event()
        self.error = asyncio.Event()

    @property
    def leading(self) -> bool:
        return self.won.is_set() and not self.error.is_set()

    def leads(self, namespace: str) -> bool:  # noqa: ARG002
        return self.leading

    async def acquired(self) -> None:
        await self.won.wait()

    async def ended(self) -> None:
        await self.error.wait()
        raise LeadershipLost("lost the Lease")


class Webapps(Empty):
    """A cluster with some WebApps."""

    async def pages(self, kind: Kind, *_: Any) -> Any:
        self.listed += 1
        items = [
            {"metadata": {"namespace": "shop", "name": f"web-{number}", "uid": f"u{number}", "resourceVersion": "5"}}
            for number in range(COUNT)
        ]
        yield {"metadata": {"resourceVersion": "10"}, "items": items if kind is WEBAPP else []}


def test_a_standby_is_warm_and_enqueues_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler, client, election = Scripted({}), Webapps(), Appointed()

    async def body(loop: Manager[WebApp]) -> None:
        await asyncio.sleep(5)
        parents = loop._store.parents()
        assert len(list(parents)) == COUNT
        assert loop.ready
        assert (len(loop._queue), reconciler.asked) == (0, [])
        listed = client.listed
        election.won.set()
        await asyncio.sleep(0.1)
        assert sorted(reconciler.asked) == sorted(Key("shop", f"web-{number}") for number in range(COUNT))
        await asyncio.sleep(5)
        assert client.listed == listed, "taking over sends no LIST"

    during(monkeypatch, reconciler, body, client=client, election=election)


def test_after_a_takeover_the_latest_changes_are_reconciled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reconciled the changes since the end of the last leader. A cluster may have thousands of other parents."""
    reconciler, election = Scripted({}), Appointed()

    async def body(loop: Manager[WebApp]) -> None:
        for version, name in enumerate(("web-30", "web-7", "web-41"), start=20):
            loop._handle_event(observed_webapp(name=name, version=version), gone=False)
        election.won.set()
        await asyncio.sleep(0.1)
        assert [key.name for key in reconciler.asked[:3]] == ["web-41", "web-7", "web-30"]
        assert len(reconciler.asked) == COUNT

    during(monkeypatch, reconciler, body, client=Webapps(), election=election)


def test_a_standby_ends_at_once() -> None:
    async def stuck(kinds: Sequence[Kind], sink: EventSink, _: asyncio.Event) -> None:
        for kind in kinds:
            sink.watch_started(kind, None)
        await asyncio.sleep(3600)

    async def body() -> None:
        loop, stop = Manager(WORKLOAD, Settings(), Empty(), stuck, election=Appointed()), asyncio.Event()
        running = asyncio.create_task(loop.run(stop))
        await asyncio.sleep(5)
        begun = asyncio.get_running_loop().time()
        stop.set()
        await running
        assert asyncio.get_running_loop().time() - begun < 0.1

    virtually(body())


def test_a_lost_leadership_ends_the_manager_without_a_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    election, cut_off = Appointed(), list[str]()

    async def endless() -> Outcome:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cut_off.append("cut off")
            raise
        return Outcome()

    async def body(_: Manager[WebApp]) -> None:
        election.won.set()
        await asyncio.sleep(1)
        assert reconciler.asked
        election.error.set()
        await asyncio.sleep(0.1)
        assert cut_off == ["cut off"] * Settings().queue.workers

    reconciler = Scripted({Key("shop", f"web-{number}"): endless for number in range(COUNT)})
    with pytest.raises(LeadershipLost):
        during(monkeypatch, reconciler, body, client=Webapps(), election=election)
