"""The watches with the real Kopf, against a small API server: their end, silent watches, and reported activity."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from coxswain.kernel.api import connection as connections
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
    silence_timeout=1.0,
    connect_timeout=1.0,
)


@pytest.fixture(autouse=True)
def quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kopf ends only after its workers have been idle, which costs a second per restart."""
    monkeypatch.setattr(watch_module, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(watch_module, "_CANCEL_SECONDS", 0.1)


class Recording:
    """A sink that keeps all events, called in Kopf's thread."""

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
    """A supervisor with the real Kopf, and the sinks of all its runs."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.sinks: list[Recording] = []
        self.client = Client(HttpTransport(api.connection()), Throttle(in_flight=8), timeout=5, page_size=500)
        self.supervisor = Supervisor(
            self.client, KINDS, KopfThread(self._connect, [None], QUICK).run, QUICK, self._sink
        )

    async def _connect(self) -> Any:
        return self.api.connection()

    def _sink(self, _: Sequence[Kind]) -> Recording:
        self.sinks.append(Recording())
        return self.sinks[-1]

    async def watched(self, run: int) -> Recording:
        """Wait until all kinds are watched in this run of Kopf, counted from 1."""
        await until(lambda: len(self.sinks) >= run and len(self.sinks[run - 1].starts) == len(KINDS.watched))
        return self.sinks[run - 1]


def during(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    """Run a test while the supervisor runs."""

    async def whole() -> None:
        async with serving() as api:
            bench = Bench(api)
            running = asyncio.create_task(bench.supervisor.run())
            await body(bench)
            bench.supervisor.stop()
            await asyncio.wait_for(running, 10)
            await bench.client.close()

    asyncio.run(whole())


@pytest.mark.thorough
def test_three_restarts_lose_no_event_and_double_no_handler() -> None:
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
        # Objects from before a run come from the relist that its start triggers.
        assert [sink.events for sink in bench.sinks] == [[("ADDED", f"seen-{run}")] for run in range(1, 5)]

    during(body)


async def delivered(sink: Recording, name: str) -> None:
    """Wait for an event."""
    await until(lambda: ("ADDED", name) in sink.events)


@pytest.mark.thorough
def test_lists_openings_lines_and_bookmarks_are_reported() -> None:
    async def body(bench: Bench) -> None:
        sink = await bench.watched(1)
        assert sink.activities[Activity.LISTED, SERVICE] == sink.activities[Activity.OPENED, SERVICE] == 1
        assert not sink.activities[Activity.RECEIVED, SERVICE]
        await bench.api.change(SERVICE, "ADDED", "web")
        await until(lambda: sink.activities[Activity.RECEIVED, SERVICE])
        await bench.api.bookmark(SERVICE)
        await until(lambda: sink.activities[Activity.BOOKMARK, SERVICE])
        assert not sink.activities[Activity.RECEIVED, POD]
        # Kopf itself reopens the silent watch from its last version, which is not a new start.
        await until(lambda: sink.activities[Activity.OPENED, POD] >= 2)
        assert sink.starts[POD] == 1

    during(body)


@pytest.mark.thorough
def test_a_watch_that_closes_at_once_is_reopened_at_a_limited_rate() -> None:
    async def body(bench: Bench) -> None:
        bench.api.watches[POD] = bench.api.closing
        loop = asyncio.get_running_loop()
        await bench.watched(1)
        begun = loop.time()
        await until(lambda: bench.api.requests.count(("WATCH", POD)) >= 6)
        assert loop.time() - begun >= 3 * QUICK.reopen_interval

    during(body)


@pytest.mark.thorough
def test_a_watch_obeys_retry_after_even_if_kopf_reopens_it_at_once() -> None:
    """Kopf obeys Retry-After, but its inactivity timeout also ends that wait."""

    async def throttled(_: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": 429}, status=429, headers={"Retry-After": "0.5"})

    async def body() -> None:
        clock = asyncio.get_running_loop().time
        async with serving() as api, session(api.connection(), KINDS.watched, [None], QUICK, Recording()) as kopfs:
            api.watches[POD] = throttled
            for query in ({"watch": "true"}, {"watch": "true"}, {}):
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    await kopfs.get(f"{api.connection().host}{POD.path()}", params=query)
                answered.append(clock())
            await kopfs.get(f"{api.connection().host}{SERVICE.path()}")
            assert clock() - answered[-1] < 0.5, "requests for other kinds do not wait"

    answered: list[float] = []
    asyncio.run(body())
    # After each refused watch the next request waits, even a LIST.
    assert min(later - sooner for sooner, later in itertools.pairwise(answered)) > 0.45


@pytest.mark.thorough
def test_a_request_that_kopf_gives_up_counts_as_refused_like_the_previous_one() -> None:
    """Kopf's inactivity timeout may end a request whose 429 is on its way."""

    async def throttled(_: web.Request) -> web.Response:
        sent.append(asyncio.get_running_loop().time())
        if len(sent) == 2:
            requests[-1].cancel()
        return web.json_response({"kind": "Status", "code": 429}, status=429, headers={"Retry-After": "0.5"})

    async def body() -> None:
        async with serving() as api, session(api.connection(), KINDS.watched, [None], QUICK, Recording()) as kopfs:
            api.watches[POD] = throttled
            for _ in range(3):
                sending = kopfs.get(f"{api.connection().host}{POD.path()}", params={"watch": "true"})
                requests.append(asyncio.ensure_future(sending))
                await asyncio.wait([requests[-1]])

    requests: list[asyncio.Future[aiohttp.ClientResponse]] = []
    sent: list[float] = []
    asyncio.run(body())
    assert min(later - sooner for sooner, later in itertools.pairwise(sent)) > 0.45, sent


@asynccontextmanager
async def looping(api: FakeApi, settings: Settings, patience: float = 5) -> AsyncIterator[Manager[WebApp]]:
    """A whole manager with the real Kopf."""

    async def connect() -> Any:
        return api.connection()

    client = Client(HttpTransport(api.connection()), Throttle(in_flight=8), timeout=patience, page_size=500)
    loop = Manager(WORKLOAD, settings, client, KopfThread(connect, [None], settings.watch).run)
    stop = asyncio.Event()
    running = asyncio.create_task(loop.run(stop))
    try:
        await until(lambda: not loop.missing)
        yield loop
    finally:
        stop.set()
        await running
        await client.close()


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["hanging", "silent"])
def test_one_frozen_watch_restarts_kopf_and_then_fails_the_liveness_probe(how: str) -> None:
    """The other watches continue. Once the frozen watch works again, the process is live again."""

    async def whole() -> None:
        async with serving() as api, looping(api, Settings(watch=QUICK)) as loop:
            moving = asyncio.create_task(bookmarks(api))
            # Two bookmarks in one stream show that its bookmarks arrive in time.
            await until(lambda: loop._liveness._watches[POD, None].prompt)
            api.watches[POD] = getattr(api, how)
            moving.cancel()
            moving = asyncio.create_task(bookmarks(api))
            await api.send(POD, {"type": "ERROR", "object": {"code": 410}})
            await until(lambda: loop.dead, 30)
            assert [line.partition(" silent")[0] for line in loop.dead] == ["pods"]
            assert any("pods silent for" in line for line in loop.missing)
            # The watch is dead also if Kopf's shutdown takes longer than the silence timeout, as on a busy machine.
            await until(lambda: api.requests.count(("LIST", SERVICE)) >= 3)  # Kopf was restarted, and the kind relisted
            del api.watches[POD]
            await until(lambda: not loop.dead and not loop.missing)
            moving.cancel()

    asyncio.run(whole())


async def bookmarks(api: FakeApi) -> None:
    """Send bookmarks of all kinds, like the API server."""
    while True:
        for kind in KINDS.watched:
            await api.bookmark(kind)
        await asyncio.sleep(0.1)


@pytest.mark.thorough
def test_a_server_without_bookmarks_has_live_watches() -> None:
    async def whole() -> None:
        # On a busy machine a watch that is reopened after 0.25 s may be silent for a second. It must not be for three.
        settings = replace(QUICK, inactivity_timeout=0.25, silence_timeout=3.0)
        async with serving() as api, looping(api, Settings(watch=settings)) as loop:
            clock = asyncio.get_running_loop().time
            begun = clock()
            await until(lambda: clock() - begun > 1.3 * settings.silence_timeout)
            assert api.requests.count(("WATCH", POD)) >= 5, "the watch is reopened after each inactivity timeout"
            assert (loop.dead, loop.missing) == ([], [])
            assert api.requests.count(("LIST", POD)) == 2, "one LIST by Kopf and one by the relist"

    asyncio.run(whole())


@pytest.mark.thorough
def test_a_server_without_any_answer_leaves_the_process_live() -> None:
    """A restart of the process would not help."""

    async def whole() -> None:
        settings = replace(QUICK, silence_timeout=0.5, inactivity_timeout=0.25)
        async with serving() as api, looping(api, Settings(watch=settings), patience=0.25) as loop:
            failed: list[str] = []
            api.frozen = True
            await api.send(POD, {"type": "ERROR", "object": {"code": 410}})
            begun = asyncio.get_running_loop().time()
            while len(failed) < 5 or asyncio.get_running_loop().time() - begun < 3 * settings.silence_timeout:
                assert loop.dead == []
                failed += [line for line in loop.missing if "discovery failed" in line]
                await asyncio.sleep(0.05)
            api.frozen = False
            await until(lambda: not loop.missing)

    asyncio.run(whole())


@pytest.mark.thorough
def test_a_rotated_token_is_used_by_later_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The file may be written between two reads of it after a 401.
    monkeypatch.setattr(connections, "_RENEWAL_INTERVAL", 0.2)

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

            def new_feed(_: Sequence[Kind]) -> Recording:
                sinks.append(Recording())
                return sinks[-1]

            supervisor = Supervisor(client, KINDS, KopfThread(connect, [None], QUICK).run, QUICK, new_feed)
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


def test_kopf_retries_without_limit() -> None:
    """Kopf's operator ends when its list of backoffs is exhausted."""
    backoffs = watch_module._kopf_settings(WatchSettings(), KINDS.watched).networking.error_backoffs
    assert isinstance(backoffs, Iterable)
    first = list(itertools.islice(backoffs, 10_000))
    assert len(first) == 10_000
    assert 0 < min(first) <= max(first) <= 5
