"""Optional kinds: absent at the start, appearing, disappearing, and forbidden. Nothing else waits for them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client import REGISTRY

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.cache.coverage import Coverage
from coxswain.kernel.cache.scope_state import LASTING_SECONDS
from coxswain.kernel.cache.store import Key
from coxswain.kernel.cache.waiting import Waiting
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind, Kinds
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.settings import Settings, WatchSettings
from coxswain.webapp.kinds import HTTP_ROUTE, POD, SERVICE, WEBAPP
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS
from unit.bench import WEB
from unit.manager_bench import Empty, Scripted
from unit.resync_bench import Bench as ResyncBench
from unit.resync_bench import during as during_resync
from unit.test_supervisor import Bench as Supervised
from unit.test_supervisor import during

OTHERS = [kind for kind in KINDS.watched if kind is not HTTP_ROUTE]
FORBIDDEN = Refused(403, {"reason": "Forbidden", "message": "no right"})
NOT_FOUND = Refused(404, {"reason": "NotFound", "message": "the server could not find the requested resource"})


# The supervisor: the watched kinds.


def test_an_optional_kind_is_watched_while_it_is_served() -> None:
    """Absent at the start, then found by discovery (after one failure), then gone, then back."""
    bench = Supervised([[HTTP_ROUTE], [HTTP_ROUTE], NOT_FOUND, [], []])

    async def body() -> None:
        await bench.runs_of(2)
        bench.discovery.answers = [[HTTP_ROUTE], [HTTP_ROUTE], []]
        bench.supervisor.restart()
        await bench.runs_of(4)
        assert bench.supervisor.obstacle is None

    during(bench, body)
    assert bench.watched == [OTHERS, list(KINDS.watched)] * 2


def test_discovery_is_not_asked_while_every_kind_is_served() -> None:
    bench = Supervised([])

    async def body() -> None:
        await bench.runs_of(1)
        bench.discovery.answers = [[HTTP_ROUTE]]
        await asyncio.sleep(0.1)
        assert bench.discovery.answers
        assert bench.runs == 1

    during(bench, body)


def test_another_missing_kind_still_holds_up_the_watches() -> None:
    bench = Supervised([[WEBAPP, HTTP_ROUTE], [HTTP_ROUTE]])

    async def body() -> None:
        await bench.runs_of(1)

    during(bench, body)
    assert bench.watched[0] == OTHERS


# Coverage: the reconciled namespaces, and the message of readiness.


class Covered:
    """The coverage of one namespace where all kinds except HTTPRoutes are listed and watched."""

    def __init__(self, kinds: Kinds = KINDS) -> None:
        self.now = 100.0
        self.coverage = Coverage(kinds, ["a"], lambda: self.now)
        self.scope = (HTTP_ROUTE, "a")

    def cover(self, kinds: Sequence[Kind]) -> None:
        for kind in kinds:
            self.coverage.watch_started((kind, "a"))
            self.coverage.listed((kind, "a"), self.coverage.gaps((kind, "a")))

    def refuse(self) -> None:
        self.coverage.failed(self.scope, FORBIDDEN)
        self.now += LASTING_SECONDS
        self.coverage.failed(self.scope, FORBIDDEN)


@pytest.fixture
def covered() -> Covered:
    made = Covered()
    made.coverage.begin_watches(OTHERS)
    made.cover(OTHERS)
    return made


def test_an_unserved_kind_is_neither_missing_nor_required(covered: Covered) -> None:
    view = covered.coverage.view("a")
    assert (view.settled, view.unlisted, view.unavailable) == (True, (), (HTTP_ROUTE,))
    assert covered.coverage.unavailable("a") == {HTTP_ROUTE: None}
    assert covered.coverage.unlisted("a") == {}
    assert covered.coverage.missing() == {}
    assert covered.coverage.complete


def test_a_kind_is_required_while_it_is_served(covered: Covered) -> None:
    coverage = covered.coverage
    coverage.begin_watches(KINDS.watched)
    assert coverage.view("a").unavailable == ()
    assert not coverage.view("a").settled
    assert not coverage.complete
    assert covered.scope in coverage.missing()
    covered.cover(KINDS.watched)
    assert coverage.view("a").settled
    assert coverage.missing() == {}
    assert coverage.unavailable("a") == {}
    coverage.begin_watches(OTHERS)
    coverage.listed(covered.scope, coverage.gaps(covered.scope))
    coverage.failed(covered.scope, NOT_FOUND)
    assert not coverage.is_listed(covered.scope), "a LIST sent before the kind disappeared has no effect"
    assert coverage.unavailable("a") == {HTTP_ROUTE: None}
    assert coverage.view("a").settled


def test_a_missing_right_is_reported_and_blocks_nothing(covered: Covered) -> None:
    coverage = covered.coverage
    coverage.begin_watches(KINDS.watched)
    covered.cover(OTHERS)
    covered.refuse()
    view = coverage.view("a")
    assert (view.settled, view.unlisted, view.unavailable) == (True, (), (HTTP_ROUTE,))
    told = coverage.unavailable("a")[HTTP_ROUTE]
    assert told is not None
    assert "httproutes.gateway.networking.k8s.io cannot be listed in namespace a: 403 Forbidden" in told
    assert "No HTTPRoute is written until they can" in told
    assert coverage.missing() == {}
    assert coverage.complete
    assert REGISTRY.get_sample_value("coxswain_unlisted", {"kind": "httproutes", "namespace": "a"}) == 1
    covered.cover([HTTP_ROUTE])
    assert coverage.unavailable("a") == {}


def test_the_metric_of_a_failure_ends_with_the_kind(covered: Covered) -> None:
    covered.coverage.begin_watches(KINDS.watched)
    covered.refuse()
    covered.coverage.begin_watches(OTHERS)
    assert REGISTRY.get_sample_value("coxswain_unlisted", {"kind": "httproutes", "namespace": "a"}) == 0


def test_a_decisive_kind_that_is_not_served_is_not_doubtful() -> None:
    kinds = Kinds(WEBAPP, (SERVICE,), related=(POD,), decisive=(POD,), optional=(POD,))
    covered = Covered(kinds)
    covered.coverage.begin_watches([WEBAPP, SERVICE])
    covered.cover([WEBAPP, SERVICE])
    view = covered.coverage.view("a")
    assert (view.settled, view.doubtful) == (True, ())


def test_every_webapp_is_enqueued_when_a_kind_appears_or_disappears(covered: Covered) -> None:
    webapps = [Key("a", "one"), Key("a", "two")]
    waiting = Waiting(covered.coverage, ["a"])
    assert waiting.take_due(lambda: webapps) == set()
    covered.coverage.begin_watches(KINDS.watched)
    assert waiting.take_due(lambda: webapps) == set(webapps)
    covered.cover(KINDS.watched)
    waiting.take_due(lambda: webapps)
    covered.coverage.begin_watches(OTHERS)
    assert waiting.take_due(lambda: webapps) == set(webapps)


def test_every_webapp_is_enqueued_when_a_kind_disappears_that_could_not_be_listed(covered: Covered) -> None:
    """Each status named the missing right until the next resync, although there was nothing to list any more."""
    webapps = [Key("a", "one"), Key("a", "two")]
    waiting = Waiting(covered.coverage, ["a"])
    covered.coverage.begin_watches(KINDS.watched)
    waiting.take_due(lambda: webapps)
    covered.cover(OTHERS)
    covered.refuse()
    assert waiting.take_due(lambda: webapps) == set(webapps)
    assert waiting.take_due(lambda: webapps) == set()
    covered.coverage.begin_watches(OTHERS)
    covered.cover(OTHERS)
    assert covered.coverage.unavailable("a") == {HTTP_ROUTE: None}
    assert waiting.take_due(lambda: webapps) == set(webapps)


def test_a_watch_that_does_not_run_is_not_silent() -> None:
    now = 0.0
    scopes = [(HTTP_ROUTE, None), (SERVICE, None)]
    liveness = WatchLiveness(scopes, silence_timeout=180, inactivity_timeout=90, clock=lambda: now)
    liveness.begin([SERVICE])
    now = 200.0
    assert list(liveness.silent()) == [(SERVICE, None)]
    liveness.begin()
    now = 400.0
    assert list(liveness.mark_restarts()) == [(SERVICE, None)]
    liveness.begin([SERVICE, HTTP_ROUTE])
    now = 600.0
    assert list(liveness.silent()) == scopes


def test_the_relist_of_a_kind_that_has_gone_is_given_up() -> None:
    async def body(bench: ResyncBench) -> None:
        bench.client.failures, bench.client.failure = 1000, NOT_FOUND
        bench.resync.relist_soon(HTTP_ROUTE, None)
        await asyncio.sleep(30)
        tried = len(bench.client.listed)
        assert tried > 3
        bench.resync.coverage.begin_watches(OTHERS)
        await asyncio.sleep(3600)
        assert bench.client.listed.count(HTTP_ROUTE) <= tried + 1

    during_resync(body)


# The whole manager.


class Growing(Empty):
    """A cluster that serves HTTPRoutes, and allows the operator to list them, on request of the test."""

    def __init__(self) -> None:
        super().__init__()
        self.absent: list[Kind] = [HTTP_ROUTE]
        self.forbidden: list[Kind] = []
        self.routes = 0
        self.runs: list[list[Kind]] = []

    async def watch(self, kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        """Watch like Kopf: a disappearing kind ends all watches, and a forbidden one is retried."""
        self.runs.append(list(kinds))
        for kind in kinds:
            if kind not in self.forbidden:
                sink.watch_started(kind, None)
        while not stop.is_set():
            if set(kinds) & set(self.absent):
                raise NOT_FOUND
            for kind in set(kinds) & set(self.forbidden):
                sink.watch_activity(kind, None, Activity.FAILED)
            await asyncio.sleep(0.01)

    async def missing(self, kinds: Sequence[Kind]) -> list[Kind]:
        return [kind for kind in kinds if kind in self.absent]

    async def pages(self, kind: Kind, *_: Any) -> Any:
        if kind in self.absent:
            raise NOT_FOUND
        if kind in self.forbidden:
            raise FORBIDDEN
        self.routes += kind is HTTP_ROUTE
        webapp = {"metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "9"}, "spec": {}}
        yield {"metadata": {"resourceVersion": "10"}, "items": [webapp] if kind is WEBAPP else []}


def test_a_manager_lives_through_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absent, served, gone, forbidden, served: one process, always ready; each step reconciles each WebApp."""
    monkeypatch.setattr("coxswain.kernel.cache.scope_state.LASTING_SECONDS", 0.05)
    client, reconciler = Growing(), Scripted({})
    settings = Settings(watch=WatchSettings(restart_backoff=0.01, discovery_interval=0.02))

    async def until(condition: Any) -> None:
        while not condition():
            await asyncio.sleep(0.01)

    async def phase(loop: Manager[Any], *, routes: bool) -> None:
        """Wait until the WebApp was reconciled with the kind, or without it."""
        wanted = () if routes else (HTTP_ROUTE,)
        await until(lambda: loop.ready and loop._coverage.view(None).unavailable == wanted)
        await until(lambda: WEB in reconciler.asked)
        assert loop.missing == loop.dead == []
        reconciler.asked.clear()

    async def whole() -> None:
        loop = Manager(WORKLOAD, settings, client, client.watch)
        monkeypatch.setattr(loop, "_reconciler", reconciler)
        monkeypatch.setattr(loop._workers, "_reconciler", reconciler)
        stop = asyncio.Event()
        running = asyncio.create_task(loop.run(stop))
        async with asyncio.timeout(20):
            await phase(loop, routes=False)
            assert not client.routes
            client.absent.clear()
            await phase(loop, routes=True)
            client.absent.append(HTTP_ROUTE)
            await phase(loop, routes=False)
            client.absent.clear()
            await phase(loop, routes=True)
            client.absent.append(HTTP_ROUTE)
            await phase(loop, routes=False)
            client.forbidden, client.absent = [HTTP_ROUTE], []
            await until(lambda: "403" in str(loop._coverage.unavailable("shop").get(HTTP_ROUTE)))
            await phase(loop, routes=False)
            stop.set()
            await running

    asyncio.run(whole())
    assert client.runs == [OTHERS, list(KINDS.watched)] * 3
