"""Gaps of watches: how long the store has been complete, and which relist ends the doubt about it."""

import asyncio
from collections.abc import Sequence

import pytest

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.cache.coverage import Coverage, Visibility
from coxswain.kernel.cache.scope_state import LASTING_SECONDS, MIXED_LASTING_SECONDS
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.settings import Settings, WatchSettings
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER, HTTP_ROUTE, SECRET, SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from unit.manager_bench import WEB, Empty, Scripted
from unit.manager_bench import during as during_manager
from unit.resync_bench import Bench as ResyncBench
from unit.resync_bench import during as during_resync

KINDS = WORKLOAD.projector.with_referenced(["secrets"]).kinds
SECRETS, AUTOSCALERS, ROUTES = (SECRET, None), (HORIZONTAL_POD_AUTOSCALER, None), (HTTP_ROUTE, None)
CAUGHT_UP = Visibility(None, 0.0)


class Bench:
    """The coverage of the whole cluster, 100 s after every kind was listed and watched."""

    def __init__(self) -> None:
        self.now = 0.0
        self.coverage = Coverage(KINDS, [None], lambda: self.now)
        self.coverage.begin_watches(KINDS.watched)
        for kind in KINDS.watched:
            self.coverage.watch_started((kind, None))
            self.coverage.listed((kind, None), self.coverage.gaps((kind, None)))
        self.now = 100.0

    @property
    def visibility(self) -> Visibility:
        return self.coverage.visibility(SECRET, "shop")

    @property
    def doubtful(self) -> bool:
        return HORIZONTAL_POD_AUTOSCALER in self.coverage.view(None).doubtful


@pytest.fixture
def bench() -> Bench:
    return Bench()


class Undiscovered(Empty):
    """A cluster whose discovery fails on request."""

    fails = False

    async def missing(self, kinds: Sequence[Kind]) -> list[Kind]:
        if self.fails:
            raise Unreachable("timed out")
        return await super().missing(kinds)


# The time since which the store has been complete.


def test_a_store_whose_watch_was_refused_is_complete_since_the_next_relist(bench: Bench) -> None:
    """The reopened watch delivers changes that are 30 minutes old, and all users of a Secret restarted at once."""
    assert bench.visibility == Visibility(None, 100.0)
    bench.coverage.watch_refused(SECRETS)
    bench.now = 1000.0
    assert bench.visibility == CAUGHT_UP
    bench.coverage.listed(SECRETS, bench.coverage.gaps(SECRETS))
    bench.now = 1900.0
    assert bench.visibility.seconds == 0, "the watch is still refused"
    bench.coverage.watch_opened(SECRETS)
    assert bench.visibility == CAUGHT_UP, "the watch may deliver changes after the relist"
    bench.coverage.listed(SECRETS, bench.coverage.gaps(SECRETS))
    bench.now = 1930.0
    assert bench.visibility == Visibility(None, 30.0)


def test_a_store_is_not_complete_between_the_pages_of_a_relist_after_a_410(bench: Bench) -> None:
    bench.coverage.begin_watches(KINDS.watched)
    assert bench.visibility == CAUGHT_UP, "the watch has not started"
    bench.coverage.watch_started(SECRETS)
    bench.now = 130.0
    assert bench.visibility == CAUGHT_UP
    bench.coverage.listed(SECRETS, bench.coverage.gaps(SECRETS))
    bench.now = 135.0
    assert bench.visibility == Visibility(None, 5.0)


def test_a_new_start_of_the_watch_is_a_gap(bench: Bench) -> None:
    """Kopf lists again after a 410 in the same run, and its LIST brings no objects."""
    bench.coverage.watch_started(SECRETS)
    assert bench.visibility == CAUGHT_UP


def test_named_kinds_are_relisted_when_their_watch_reopens(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(loop: Manager[WebApp]) -> None:
        await asyncio.sleep(5)
        loop._handle_activity(*SECRETS, Activity.FAILED)
        await asyncio.sleep(5)
        loop._handle_activity(*SECRETS, Activity.OPENED)
        assert loop._coverage.visibility(SECRET, "shop") == CAUGHT_UP
        await asyncio.sleep(5)
        problem, seconds, _ = loop._coverage.visibility(SECRET, "shop")
        assert problem is None
        assert 4 < seconds <= 5, "the relist after the reopening ends the doubt"

    during_manager(monkeypatch, Scripted({}), body, settings=Settings(watch_metadata=("secrets",)))


# The relist that ends the doubt.


def test_a_relist_from_before_a_restart_of_kopf_does_not_end_the_doubt(bench: Bench) -> None:
    """An autoscaler that was created during the restart was unknown, but not doubtful."""
    before = bench.coverage.gaps(AUTOSCALERS)
    bench.coverage.begin_watches(KINDS.watched)
    bench.coverage.listed(AUTOSCALERS, before)
    bench.coverage.watch_started(AUTOSCALERS)
    assert bench.doubtful
    bench.coverage.listed(AUTOSCALERS, bench.coverage.gaps(AUTOSCALERS))
    assert not bench.doubtful


def test_a_relist_from_before_a_refusal_does_not_end_the_doubt(bench: Bench) -> None:
    before = bench.coverage.gaps(AUTOSCALERS)
    bench.coverage.watch_refused(AUTOSCALERS)
    during = bench.coverage.gaps(AUTOSCALERS)
    bench.coverage.listed(AUTOSCALERS, before)
    bench.coverage.watch_opened(AUTOSCALERS)
    assert bench.doubtful
    bench.coverage.listed(AUTOSCALERS, during)
    assert bench.doubtful, "an autoscaler may have been created between that LIST and the reopening"
    bench.coverage.listed(AUTOSCALERS, bench.coverage.gaps(AUTOSCALERS))
    assert not bench.doubtful


def test_a_relist_from_before_a_history_reset_does_not_end_the_doubt(bench: Bench) -> None:
    before = bench.coverage.gaps(AUTOSCALERS)
    bench.coverage.start_over()
    bench.coverage.listed(AUTOSCALERS, before)
    assert bench.doubtful


def test_a_relist_in_flight_at_a_gap_is_followed_by_another() -> None:
    async def body(bench: ResyncBench) -> None:
        coverage, autoscaler = bench.resync.coverage, HORIZONTAL_POD_AUTOSCALER
        bench.client.gate.clear()
        coverage.watch_started(AUTOSCALERS)
        bench.resync.relist_soon(*AUTOSCALERS)
        await bench.listed(1)
        coverage.watch_refused(AUTOSCALERS)
        coverage.watch_opened(AUTOSCALERS)
        bench.client.gate.set()
        await bench.relisted(autoscaler)
        assert autoscaler in coverage.view(None).doubtful
        bench.resync.relist_soon(*AUTOSCALERS)
        await bench.listed(2)
        await asyncio.sleep(0.1)
        assert autoscaler not in coverage.view(None).doubtful

    during_resync(body)


# Failures of a LIST.


def unlisted_routes(*, seconds: float) -> Coverage:
    """Return a coverage without the LIST of HTTPRoutes, which has failed in two ways for this number of seconds."""
    bench, now = Bench(), 0.0
    bench.coverage.start_over()
    for kind in KINDS.watched:
        if kind is not HTTP_ROUTE:
            bench.coverage.listed((kind, None), bench.coverage.gaps((kind, None)))
    errors = [Refused(500, {"message": "the conversion webhook failed"}), Unreachable("timed out")]
    while now <= seconds:
        bench.now = 100.0 + now
        bench.coverage.failed(ROUTES, errors[0])
        errors.reverse()
        now += 5
    bench.now = 100.0 + seconds
    return bench.coverage


def test_an_optional_kind_with_alternating_errors_does_not_hold_up_webapps_for_ever() -> None:
    view = unlisted_routes(seconds=MIXED_LASTING_SECONDS - 1).view(None)
    assert (view.settled, view.unavailable) == (False, ())
    coverage = unlisted_routes(seconds=MIXED_LASTING_SECONDS)
    view = coverage.view(None)
    assert (view.settled, view.unavailable) == (True, (HTTP_ROUTE,))
    assert "cannot be listed" in (coverage.unavailable("shop")[HTTP_ROUTE] or "")


def test_a_success_restarts_the_time_of_all_failures() -> None:
    coverage = unlisted_routes(seconds=MIXED_LASTING_SECONDS - 1)
    coverage.listed(ROUTES, coverage.gaps(ROUTES))
    coverage.start_over()
    for kind in KINDS.watched:
        if kind is not HTTP_ROUTE:
            coverage.listed((kind, None), coverage.gaps((kind, None)))
    coverage.failed(ROUTES, Unreachable("timed out"))
    assert not coverage.view(None).settled


def test_one_sort_of_error_lasts_after_15_seconds(bench: Bench) -> None:
    assert LASTING_SECONDS < MIXED_LASTING_SECONDS
    bench.coverage.start_over()
    for kind in (WEBAPP, SERVICE):
        bench.coverage.failed((kind, None), Unreachable("timed out"))
    bench.now += LASTING_SECONDS
    assert bench.coverage.view(None).unlisted == ("services",)


# A silent watch.


def test_a_silent_watch_is_doubtful_until_the_relist_after_the_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shutdown of Kopf may hang. The restart was only requested then, and the doubt had ended with the request."""
    restarts: list[bool] = []

    async def body(loop: Manager[WebApp]) -> None:
        restart = loop._supervisor.restart
        monkeypatch.setattr(loop._supervisor, "restart", lambda: restarts.append(True))
        assert not loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")
        while not restarts:
            await asyncio.sleep(0.01)
        assert loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")
        loop._resync.relist_soon(*AUTOSCALERS)
        await asyncio.sleep(1)
        assert loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop"), "the watch is still silent after a relist"
        assert "horizontalpodautoscalers not watched yet" in loop.missing
        restart()
        await asyncio.sleep(2)
        assert not loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")

    watch = WatchSettings(silence_timeout=5, restart_backoff=0.01)
    during_manager(monkeypatch, Scripted({}), body, settings=Settings(watch=watch))


def test_doubt_about_autoscalers_begins_with_the_end_of_kopf(monkeypatch: pytest.MonkeyPatch) -> None:
    """It began with the next run, which waits for the discovery: the API server may be down meanwhile."""
    discovery = Undiscovered()

    async def body(loop: Manager[WebApp]) -> None:
        discovery.fails = True
        loop._supervisor.restart()
        await asyncio.sleep(5)
        assert loop.missing[0].startswith("discovery failed")
        assert loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")
        discovery.fails = False
        while loop.missing:
            await asyncio.sleep(0.01)
        assert not loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")

    during_manager(monkeypatch, Scripted({}), body, client=discovery)


def test_parents_are_read_before_their_next_write_from_the_end_of_kopf_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were read only after the watches had started again."""
    discovery, reconciler = Undiscovered(), Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        before = reconciler.doubted
        discovery.fails = True
        loop._supervisor.restart()
        await asyncio.sleep(5)
        assert reconciler.doubted == before + 1
        discovery.fails = False

    during_manager(monkeypatch, reconciler, body, client=discovery)


def test_a_webapp_reconciled_before_the_look_at_a_silent_watch_is_not_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The silence counted as doubt before the coverage knew of it, so its end requeued nothing for ten minutes."""
    reconciler, doubts = Scripted({}), []

    async def body(loop: Manager[WebApp]) -> None:
        async def note() -> Outcome:
            doubts.append(loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop"))
            return Outcome()

        reconciler.acts[WEB] = note
        # The watchdog does not see the silence yet.
        monkeypatch.setattr(loop._liveness, "mark_restarts", dict)
        await asyncio.sleep(6)
        loop._queue.add(WEB)
        await asyncio.sleep(1)
        assert (doubts, WEB in loop._waiting._keys) == ([False], False)

    during_manager(monkeypatch, reconciler, body, settings=Settings(watch=WatchSettings(silence_timeout=5)))
