"""The watches with the real Kopf, against a small API server: what ends it, what hangs, what is heard."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.connection import connection
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching import kopf_watches as watch_module
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.kopf_thread import KopfThread
from coxswain.kernel.watching.session import session
from coxswain.kernel.watching.supervisor import Supervisor
from coxswain.settings import Settings, WatchSettings
from coxswain.webapp.kinds import POD, SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS
from unit.fake_api import FakeApi, serving, until, written_kubeconfig

pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")

QUICK = WatchSettings(
    restart_backoff=0.05,
    restart_backoff_limit=0.1,
    inactivity_timeout=0.5,
    reopen_interval=0.1,
    silence_timeout=1.5,
    connect_timeout=1.0,
)


class Recording:
    """A sink that keeps all; it is told in Kopf's thread."""

    def __init__(self) -> None:
        self.events: list[tuple[str | None, str]] = []
        self.activities: Counter[tuple[Activity, Kind]] = Counter()
        self.starts: Counter[Kind] = Counter()

    def event(self, _: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        self.events.append((change, raw["metadata"]["name"]))

    def watch_started(self, kind: Kind, _: str | None) -> None:
        self.starts[kind] += 1

    def watch_activity(self, kind: Kind, _: str | None, activity: Activity) -> None:
        self.activities[activity, kind] += 1


class Bench:
    """A supervisor with the real Kopf, and all that its runs were told."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.sinks: list[Recording] = []
        self.client = Client(HttpTransport(api.connection()), Throttle(in_flight=8), timeout=5, page_size=500)
        self.supervisor = Supervisor(
            self.client, KINDS.watched, KopfThread(self._connect, KINDS.watched, [None], QUICK).run, QUICK, self._sink
        )

    async def _connect(self) -> Any:
        return self.api.connection()

    def _sink(self) -> Recording:
        self.sinks.append(Recording())
        return self.sinks[-1]

    async def watched(self, run: int) -> Recording:
        """Wait until all kinds are watched in this run of Kopf, from 1."""
        await until(lambda: len(self.sinks) >= run and len(self.sinks[run - 1].starts) == len(KINDS.watched))
        return self.sinks[run - 1]


def during(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    """Run a test while supervision runs."""

    async def whole() -> None:
        async with serving() as api:
            bench = Bench(api)
            running = asyncio.create_task(bench.supervisor.run())
            await body(bench)
            bench.supervisor.stop()
            await asyncio.wait_for(running, 10)
            await bench.client.close()

    asyncio.run(whole())


def test_three_deaths_lose_nothing_and_double_no_handler() -> None:
    async def body(bench: Bench) -> None:
        for run in range(1, 5):
            sink = await bench.watched(run)
            await bench.api.change(WEBAPP, "ADDED", f"seen-{run}")
            await delivered(sink, f"seen-{run}")
            assert sink.events.count(("ADDED", f"seen-{run}")) == 1
            if run == 4:
                break
            await bench.api.send(WEBAPP, {"type": "ERROR", "object": {"code": 500, "message": "injected"}})
            await bench.api.change(WEBAPP, "ADDED", f"missed-{run}")
        # What was there before a run is the sweep's to bring, which its start calls for.
        assert [sink.events for sink in bench.sinks] == [[("ADDED", f"seen-{run}")] for run in range(1, 5)]

    during(body)


async def delivered(sink: Recording, name: str) -> None:
    """Wait for an event."""
    await until(lambda: ("ADDED", name) in sink.events)


def test_openings_lines_and_bookmarks_are_heard() -> None:
    async def body(bench: Bench) -> None:
        sink = await bench.watched(1)
        assert sink.activities[Activity.LISTED, SERVICE] == sink.activities[Activity.OPENED, SERVICE] == 1
        assert not sink.activities[Activity.RECEIVED, SERVICE]
        await bench.api.change(SERVICE, "ADDED", "web")
        await until(lambda: sink.activities[Activity.RECEIVED, SERVICE])
        await bench.api.bookmark(SERVICE)
        await until(lambda: sink.activities[Activity.BOOKMARK, SERVICE])
        assert not sink.activities[Activity.RECEIVED, POD]
        # Kopf itself opens the silent one anew, and from where it was: that is no new start.
        await until(lambda: sink.activities[Activity.OPENED, POD] >= 2)
        assert sink.starts[POD] == 1

    during(body)


def test_a_watch_that_is_closed_at_once_is_opened_at_a_pace() -> None:
    async def body(bench: Bench) -> None:
        bench.api.watches[POD] = bench.api.closing
        loop = asyncio.get_running_loop()
        await bench.watched(1)
        begun = loop.time()
        await until(lambda: bench.api.requests.count(("WATCH", POD)) >= 6)
        assert loop.time() - begun >= 3 * QUICK.reopen_interval

    during(body)


def test_a_throttled_watch_waits_also_if_kopf_asks_again_at_once() -> None:
    """Kopf obeys Retry-After, but its inactivity timeout ends that wait as well."""

    async def throttled(_: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": 429}, status=429, headers={"Retry-After": "1"})

    async def body() -> None:
        clock = asyncio.get_running_loop().time
        async with serving() as api, session(api.connection(), KINDS.watched, [None], QUICK, Recording()) as kopfs:
            api.watches[POD] = throttled
            for query in ({"watch": "true"}, {"watch": "true"}, {}):
                await kopfs.get(f"{api.connection().host}{POD.path()}", params=query)
                answered.append(clock())
            await kopfs.get(f"{api.connection().host}{SERVICE.path()}")
            assert clock() - answered[-1] < 1, "other kinds do not wait"

    answered: list[float] = []
    asyncio.run(body())
    # After each refused watch the next request waits, a LIST as well.
    assert min(later - sooner for sooner, later in itertools.pairwise(answered)) > 0.95


@asynccontextmanager
async def looping(api: FakeApi, settings: Settings, patience: float = 5) -> AsyncIterator[Manager[WebApp]]:
    """A whole loop with the real Kopf."""

    async def connect() -> Any:
        return api.connection()

    client = Client(HttpTransport(api.connection()), Throttle(in_flight=8), timeout=patience, page_size=500)
    loop = Manager(WORKLOAD, settings, client, KopfThread(connect, KINDS.watched, [None], settings.watch).run)
    stop = asyncio.Event()
    running = asyncio.create_task(loop.run(stop))
    try:
        await until(lambda: not loop.missing)
        yield loop
    finally:
        stop.set()
        await running
        await client.close()


@pytest.mark.parametrize("how", ["hanging", "silent"])
def test_one_frozen_watch_gets_a_new_kopf_and_then_the_process_is_not_live(how: str) -> None:
    """The others go on; when the frozen one moves again all is well again."""

    async def whole() -> None:
        async with serving() as api, looping(api, Settings(watch=QUICK)) as loop:
            moving = asyncio.create_task(bookmarks(api))
            # Two in one stream: so its bookmarks are known to come in time.
            await until(lambda: loop._liveness._watches[POD, None].prompt)
            api.watches[POD] = getattr(api, how)
            moving.cancel()
            moving = asyncio.create_task(bookmarks(api))
            await api.send(POD, {"type": "ERROR", "object": {"code": 410}})
            await until(lambda: loop.dead, 30)
            assert [line.partition(" silent")[0] for line in loop.dead] == ["pods"]
            assert any("pods silent for" in line for line in loop.missing)
            assert api.requests.count(("LIST", SERVICE)) >= 3, "Kopf was started anew, and the kind was swept"
            del api.watches[POD]
            await until(lambda: not loop.dead and not loop.missing)
            moving.cancel()

    asyncio.run(whole())


async def bookmarks(api: FakeApi) -> None:
    """Send bookmarks of all kinds, as the API server does."""
    while True:
        for kind in KINDS.watched:
            await api.bookmark(kind)
        await asyncio.sleep(0.1)


def test_a_server_without_bookmarks_has_live_watches() -> None:
    async def whole() -> None:
        async with serving() as api, looping(api, Settings(watch=QUICK)) as loop:
            await until(lambda: api.requests.count(("WATCH", POD)) >= 8)
            assert (loop.dead, loop.missing) == ([], [])
            assert api.requests.count(("LIST", POD)) == 2, "Kopf's and the sweep's"

    asyncio.run(whole())


def test_a_server_that_answers_nothing_at_all_leaves_the_process_live() -> None:
    """Another process would fare no better."""

    async def whole() -> None:
        async with serving() as api, looping(api, Settings(watch=QUICK), patience=0.5) as loop:
            failed: list[str] = []
            api.frozen = True
            await api.send(POD, {"type": "ERROR", "object": {"code": 410}})
            begun = asyncio.get_running_loop().time()
            while len(failed) < 5 or asyncio.get_running_loop().time() - begun < 3 * QUICK.silence_timeout:
                assert loop.dead == []
                failed += [line for line in loop.missing if "discovery failed" in line]
                await asyncio.sleep(0.05)
            api.frozen = False
            await until(lambda: not loop.missing)

    asyncio.run(whole())


def test_a_token_that_was_rotated_reaches_a_watch_that_is_opened_later(tmp_path: Any) -> None:
    async def whole() -> None:
        async with serving() as api:
            token = tmp_path / "token"
            token.write_text("first\n")
            kubeconfig = written_kubeconfig(tmp_path, api.host)
            api.token = "first"

            async def connect() -> Any:
                return await connection(kubeconfig, None, token_interval=3600)

            client = Client(HttpTransport(await connect()), Throttle(in_flight=8), timeout=5, page_size=500)
            sinks: list[Recording] = []

            def new_feed() -> Recording:
                sinks.append(Recording())
                return sinks[-1]

            supervisor = Supervisor(
                client, KINDS.watched, KopfThread(connect, KINDS.watched, [None], QUICK).run, QUICK, new_feed
            )
            running = asyncio.create_task(supervisor.run())
            await until(lambda: sinks and len(sinks[0].starts) == len(KINDS.watched))
            api.token = "second"
            await until(lambda: sinks[0].activities[Activity.FAILED, POD])
            token.write_text("second\n")
            opened = sinks[0].activities[Activity.OPENED, POD]
            await until(lambda: sinks[0].activities[Activity.OPENED, POD] > opened)
            assert len(sinks) == 1
            supervisor.stop()
            await asyncio.wait_for(running, 10)
            await client.close()

    asyncio.run(whole())


def test_kopf_tries_again_for_ever() -> None:
    """At the end of its backoffs Kopf's operator would end."""
    backoffs = watch_module._kopf_settings(WatchSettings(), KINDS.watched).networking.error_backoffs
    assert isinstance(backoffs, Iterable)
    first = list(itertools.islice(backoffs, 10_000))
    assert len(first) == 10_000
    assert 0 < min(first) <= max(first) <= 5
