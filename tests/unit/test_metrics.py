"""Counters and histograms follow their causes."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from bench import in_memory
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.manager import Manager
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.reconciling.queue.workqueue import Lane, WorkQueue
from coxswain.kernel.watching.session import session
from coxswain.metrics import RequestMetrics
from coxswain.settings import QueueSettings, Settings, WatchSettings
from coxswain.webapp.kinds import SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from unit import resync_bench
from unit.fake_api import serving
from unit.manager_bench import WEB, Scripted, during, raising, virtually
from unit.metric_changes import Change
from unit.test_kopf_watches import Recording


def test_results_of_reconciles(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = Refused(422, {"reason": "Invalid", "message": "spec is invalid"})
    conflict = Refused(409, {"reason": "Conflict", "message": "the object has been modified"})
    outcomes: Sequence[Outcome | Exception] = (
        *(Outcome(), Outcome(), Outcome(after=3600), Outcome(again=True, after=5)),
        *(Outcome(failed=RequestFailed("x")), Outcome(refused=denied), conflict, denied, ValueError("a defect")),
    )
    pending = {Key("shop", f"web-{number}"): outcome for number, outcome in enumerate(outcomes)}

    def act(key: Key) -> Any:
        outcome = pending.pop(key, Outcome())
        return raising(outcome) if isinstance(outcome, Exception) else slow(outcome)

    async def slow(outcome: Outcome) -> Outcome:
        await asyncio.sleep(2)
        return outcome

    reconciler = Scripted({key: partial(act, key) for key in pending})
    change = Change()

    async def body(loop: Manager[WebApp]) -> None:
        for key in reconciler.acts:
            loop._queue.add(key)
        while len(reconciler.asked) < len(outcomes) + 1 or loop._workers.processing:
            await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body, settings=Settings(queue=QueueSettings(retry_delay=3600)))
    results = {
        result: change.of("controller_runtime_reconcile_total", controller="webapp", result=result)
        for result in ("success", "requeue", "requeue_after", "error")
    }
    assert results == {"success": 3, "requeue": 1, "requeue_after": 1, "error": 5}, "the requeued one succeeds"
    assert change.of("controller_runtime_reconcile_errors_total", controller="webapp") == 5
    terminal = change.of("controller_runtime_terminal_reconcile_errors_total", controller="webapp")
    assert terminal == 1, "an error that ends the reconcile is retried, whatever its class"
    assert change.of("controller_runtime_reconcile_panics_total", controller="webapp") == 1
    assert change.of("controller_runtime_reconcile_time_seconds_count", controller="webapp") == 10
    seconds = change.of("controller_runtime_reconcile_time_seconds_sum", controller="webapp")
    assert seconds == pytest.approx(14, abs=0.1), "seven reconciles of 2 s, in virtual time"


def test_a_cancelled_reconcile_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler = Scripted({WEB: lambda: asyncio.sleep(3600, Outcome())})
    change = Change()

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        while not reconciler.asked:
            await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body)
    assert change.of("controller_runtime_reconcile_time_seconds_count", controller="webapp") == 0


def test_the_workqueue() -> None:
    now = 0.0
    labels = {"name": "queue-test", "controller": "queue-test"}
    change, other = Change(), Key("shop", "other")

    async def body() -> None:
        nonlocal now
        keys = WorkQueue("queue-test", retry_delay=60, retry_delay_limit=60, clock=lambda: now)
        keys.add(WEB)
        keys.add(WEB)
        keys.add(other, Lane.BACKLOG)
        assert keys.depths() == {Lane.CHANGED: 0, Lane.IN_PROGRESS: 1, Lane.BACKLOG: 1}
        now = 3.0
        assert await keys.get() == WEB
        assert change.of("workqueue_queue_duration_seconds_sum", **labels) == 3
        now = 4.0
        keys.add(WEB, Lane.CHANGED)
        keys.add(WEB)
        assert keys.depths() == {Lane.CHANGED: 1, Lane.IN_PROGRESS: 0, Lane.BACKLOG: 1}, "it waits for its worker"
        now = 10.0
        assert keys.processing_seconds() == [7]
        keys.done(WEB)
        assert keys.processing_seconds() == []
        assert change.of("workqueue_work_duration_seconds_sum", **labels) == 7
        assert await keys.get() == WEB
        assert change.of("workqueue_queue_duration_seconds_sum", **labels) == 3 + 6
        assert change.of("workqueue_adds_total", **labels) == 3
        assert change.of("workqueue_retries_total", **labels) == 0
        keys.done(WEB)
        keys.add_rate_limited(WEB)
        keys.add_after(WEB, 5)
        assert change.of("workqueue_retries_total", **labels) == 2
        keys.retry_now()
        assert change.of("workqueue_adds_total", **labels) == 4
        keys.clear()
        assert keys.depths() == dict.fromkeys(Lane, 0)
        keys.add(WEB)
        assert change.of("workqueue_adds_total", **labels) == 5
        keys.clear()

    asyncio.run(body())
    assert change.of("workqueue_queue_duration_seconds_count", **labels) == 2
    assert change.of("workqueue_work_duration_seconds_count", **labels) == 2


def test_requests_of_the_client() -> None:
    change, found = Change(), {}

    async def body() -> None:
        async with serving() as api:
            client = Client(HttpTransport(api.connection()), Throttle(in_flight=1), timeout=5, page_size=500)
            assert await client.missing([SERVICE]) == []
            api.token = "required"
            with pytest.raises(Refused):
                await client.delete(SERVICE, "shop", "web", uid="u", version=1)
        with pytest.raises(RequestFailed):
            await client.get(SERVICE, "shop", "web")
        await client.close()
        host = api.host.removeprefix("http://")
        for method, code in (("GET", "200"), ("DELETE", "401"), ("GET", "<error>")):
            found[method, code] = change.of("rest_client_requests_total", method=method, code=code, host=host)
        for name in ("request", "rate_limiter"):
            assert change.of(f"rest_client_{name}_duration_seconds_count", verb="GET", host=host) == 2
            assert change.of(f"rest_client_{name}_duration_seconds_count", verb="DELETE", host=host) == 1

    asyncio.run(body())
    assert found == {("GET", "200"): 1, ("DELETE", "401"): 1, ("GET", "<error>"): 1}


def test_the_wait_of_a_request_is_not_part_of_its_duration() -> None:
    change = Change()

    async def body() -> None:
        cluster, throttle = in_memory.Cluster(), Throttle(in_flight=1)
        cluster.latency = 2
        client = Client(cluster, throttle, timeout=5, page_size=500)
        async with throttle.turn(writing=False):
            asking = asyncio.create_task(client.missing([SERVICE]))
            await asyncio.sleep(5)
        assert await asking == []

    virtually(body())
    seconds = {
        name: change.of(f"rest_client_{name}_duration_seconds_sum", verb="GET", host="model:6443")
        for name in ("request", "rate_limiter")
    }
    assert seconds == {"request": pytest.approx(2, abs=0.1), "rate_limiter": pytest.approx(5, abs=0.1)}


def test_requests_of_the_watches() -> None:
    """They count, but their duration does not: a watch lasts for minutes."""
    change = Change()

    async def body() -> None:
        async with serving() as api:
            host = api.host.removeprefix("http://")
            made = session(api.connection(), [SERVICE], [None], WatchSettings(), Recording())
            async with made, made.get(api.host + SERVICE.path(), params={"watch": "true", "resourceVersion": "1"}):
                pass
            assert change.of("rest_client_requests_total", method="GET", code="200", host=host) == 1
            assert change.of("rest_client_request_duration_seconds_count", verb="GET", host=host) == 0

    asyncio.run(body())


def test_the_host_is_without_credentials() -> None:
    change = Change()
    with RequestMetrics("https://me:secret@api.example:6443/k8s").request("GET"):
        pass
    assert change.of("rest_client_requests_total", method="GET", code="<error>", host="api.example:6443") == 1


def test_restarts_of_the_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    change = Change()

    async def body(_: Manager[WebApp]) -> None:
        """Do nothing: two runs ended before."""

    during(monkeypatch, Scripted({}), body, [[WEBAPP], [WEBAPP]])
    assert change.of("coxswain_watch_restarts_total") == 2


def test_a_history_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler = Scripted({WEB: lambda: raising(HistoryReset("9 after 10"))})
    change = Change()

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        while not reconciler.started_over:
            await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body)
    assert change.of("coxswain_history_resets_total") == 1
    assert change.of("controller_runtime_reconcile_panics_total", controller="webapp") == 0


def test_relists() -> None:
    change = Change()

    async def body(bench: resync_bench.Bench) -> None:
        scope = (SERVICE, None)
        assert bench.resync.coverage.last_relists()[scope] == 0
        bench.client.failures = 1
        bench.resync.relist_soon(*scope)
        await bench.listed(1)
        assert change.of("coxswain_relist_duration_seconds_count", kind="services") == 0
        assert bench.resync.coverage.last_relists()[scope] == 0
        await bench.relisted(SERVICE)
        assert change.of("coxswain_relist_duration_seconds_count", kind="services") == 1
        first = bench.resync.coverage.last_relists()[scope]
        assert first > 1.7e9
        bench.resync.coverage.begin_watches([WEBAPP])
        assert list(bench.resync.coverage.last_relists()) == [(WEBAPP, None)], "other kinds are not served"

    resync_bench.during(body)
