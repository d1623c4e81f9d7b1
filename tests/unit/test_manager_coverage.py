"""The manager: the listed and watched kinds, and the effects of a change of these."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest
from prometheus_client import REGISTRY

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.cache import relist_schedule, scope_state
from coxswain.kernel.cache.store import HistoryReset, Key
from coxswain.kernel.election.election import Unelected
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.reconciling.parent.reconciler import Outcome
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from coxswain.settings import QueueSettings, Settings
from coxswain.webapp.kinds import HORIZONTAL_POD_AUTOSCALER, SECRET, SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from rendered import KINDS
from unit.manager_bench import WEB, Empty, Scripted, during, raising, virtually
from unit.objects import observed_webapp, raw_webapp


class Two(Empty):
    """A cluster of two namespaces. In b every LIST is forbidden, and a has a WebApp."""

    def __init__(self) -> None:
        super().__init__()
        self.forbidden: set[tuple[Kind, str | None]] = {(kind, "b") for kind in KINDS.watched}

    async def pages(self, *scope: Any) -> Any:
        if scope in self.forbidden:
            raise Refused(403, {"reason": "Forbidden", "message": "its RoleBinding is gone"})
        here = [raw_webapp(metadata={"namespace": scope[1]})] if scope[0] is WEBAPP else []
        yield {"metadata": {"resourceVersion": "10"}, "items": here}


def during_two(
    monkeypatch: pytest.MonkeyPatch,
    reconciler: Scripted,
    body: Callable[[Manager[WebApp], Two, EventSink], Coroutine[Any, Any, None]],
    settings: Settings,
) -> None:
    """Run a test during one run of the watches. The watches of namespace b are refused."""
    sinks: list[EventSink] = []
    client = Two()

    async def watches(kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        sinks.append(sink)
        for kind in kinds:
            sink.watch_started(kind, "a")
            sink.watch_activity(kind, "b", Activity.FAILED)
        await stop.wait()

    async def whole() -> None:
        loop = Manager(WORKLOAD, settings, client, watches)
        monkeypatch.setattr(loop, "_reconciler", reconciler)
        monkeypatch.setattr(loop._workers, "_reconciler", reconciler)
        stop = asyncio.Event()
        running = asyncio.create_task(loop.run(stop))
        async with asyncio.timeout(20):
            while not loop.ready:
                await asyncio.sleep(0.01)
            await body(loop, client, sinks[0])
        stop.set()
        await running

    virtually(whole())


def test_a_forbidden_namespace_does_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5: nothing in a was reconciled, and readiness did not say why."""
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp], client: Two, sink: EventSink) -> None:
        while reconciler.asked != [Key("a", "web")]:
            await asyncio.sleep(0.01)
        assert "webapps of b cannot be listed: 403 Forbidden: its RoleBinding is gone" in loop.missing
        assert REGISTRY.get_sample_value("coxswain_unlisted", {"kind": "webapps", "namespace": "b"}) == 1
        for number in range(5):
            loop._queue.add(Key("b", f"web-{number}"))
        loop._queue.add(Key("a", "web"))
        while len(reconciler.asked) < 2:
            await asyncio.sleep(0.01)
        client.forbidden.clear()
        for kind in KINDS.watched:
            sink.watch_activity(kind, "b", Activity.OPENED)
            sink.watch_started(kind, "b")
        # Keys of b taken before its coverage was complete are requeued now.
        while len(reconciler.asked) < 8:
            await asyncio.sleep(0.01)
        assert Counter(key.namespace for key in reconciler.asked) == {"a": 2, "b": 6}
        assert loop.missing == []
        assert REGISTRY.get_sample_value("coxswain_unlisted", {"kind": "webapps", "namespace": "b"}) == 0

    settings = Settings(namespaces=("a", "b"), queue=QueueSettings(workers=2))
    during_two(monkeypatch, reconciler, body, settings)


class Slow(Empty):
    """A cluster in which every LIST of namespace b takes long, or is refused after that time."""

    def __init__(self, refused: bool) -> None:
        super().__init__()
        self._refused = refused
        self.answered = asyncio.Event()

    async def pages(self, *scope: Any) -> Any:
        if scope[1] == "b":
            await self.answered.wait()
            if self._refused:
                raise Refused(403, {"reason": "Forbidden", "message": "it has no RoleBinding"})
        yield {"metadata": {"resourceVersion": "10"}, "items": []}


@pytest.mark.parametrize("refused", [False, True])
def test_a_replica_gets_no_slots_before_a_list_of_each_namespace(refused: bool) -> None:
    """Others gave their slots to a replica with one complete namespace, and nobody served the other namespaces."""

    class Told(Unelected):
        told = False

        def synced(self) -> None:
            self.told = True

    async def watches(kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        for kind in kinds:
            sink.watch_started(kind, "a")
            sink.watch_started(kind, "b")
        await stop.wait()

    async def whole() -> None:
        client, election, stop = Slow(refused), Told(), asyncio.Event()
        manager = Manager(WORKLOAD, Settings(namespaces=("a", "b")), client, watches, election=election)
        running = asyncio.create_task(manager.run(stop))
        async with asyncio.timeout(20):
            while not manager.ready:
                await asyncio.sleep(0.01)
            await asyncio.sleep(1)
            assert not election.told
            client.answered.set()
            while not election.told:
                await asyncio.sleep(0.01)
        stop.set()
        await running

    virtually(whole())


AUTOSCALERS = (HORIZONTAL_POD_AUTOSCALER, None)


async def reconciled_without_autoscalers(loop: Manager[WebApp], reconciler: Scripted) -> None:
    """Refuse the watch of autoscalers, and wait until the WebApp is reconciled."""
    loop._handle_activity(*AUTOSCALERS, Activity.FAILED)
    assert loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")
    loop._store.observe(observed_webapp())
    loop._queue.add(WEB)
    while reconciler.asked != [WEB]:
        await asyncio.sleep(0.01)


def test_a_webapp_reconciled_without_its_autoscalers_is_requeued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """K28: no event reports that the autoscalers are known now."""
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        assert not loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")
        await reconciled_without_autoscalers(loop, reconciler)
        loop._handle_activity(*AUTOSCALERS, Activity.OPENED)
        while reconciler.asked != [WEB, WEB]:
            await asyncio.sleep(0.01)
        assert not loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop")

    during(monkeypatch, reconciler, body)


def test_a_webapp_whose_autoscalers_are_listed_during_its_reconcile_is_requeued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That reconcile used the earlier state, and nothing else would requeue the WebApp (found by the simulation)."""
    known = asyncio.Event()

    async def until_known() -> Outcome:
        await known.wait()
        return Outcome()

    reconciler = Scripted({WEB: until_known})

    async def body(loop: Manager[WebApp]) -> None:
        await reconciled_without_autoscalers(loop, reconciler)
        loop._handle_activity(*AUTOSCALERS, Activity.OPENED)
        while loop._coverage.is_doubtful(HORIZONTAL_POD_AUTOSCALER, "shop"):
            await asyncio.sleep(0.01)
        known.set()
        async with asyncio.timeout(5):
            while reconciler.asked != [WEB, WEB]:
                await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body)


def test_late_events_after_a_history_reset_do_not_reach_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(loop: Manager[WebApp]) -> None:
        late = loop._bridge
        assert late is not None
        listed = loop._client.listed  # type: ignore[attr-defined]
        late.event(WEBAPP, "ADDED", raw_webapp(version=500))
        late.watch_started(WEBAPP, None)
        late.watch_activity(WEBAPP, None, Activity.FAILED)
        late.watch_activity(WEBAPP, None, Activity.OPENED)
        loop._start_over(HistoryReset("restored"))
        await asyncio.sleep(0.1)
        assert loop._store.parents() == []
        assert loop._client.listed == listed  # type: ignore[attr-defined]
        while loop.missing:
            await asyncio.sleep(0.01)

    during(monkeypatch, Scripted({}), body)


def test_when_a_watch_reopens_waiting_keys_are_retried_and_webapps_relisted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reconciler = Scripted({WEB: lambda: raising(Unreachable("reset"))})

    async def body(loop: Manager[WebApp]) -> None:
        loop._queue.add(WEB)
        while loop._queue.failures(WEB) != 1:
            await asyncio.sleep(0.01)
        listed = loop._client.listed  # type: ignore[attr-defined]
        loop._handle_activity(WEBAPP, None, Activity.OPENED)
        await asyncio.sleep(0.1)
        assert (len(reconciler.asked), loop._client.listed) == (1, listed)  # type: ignore[attr-defined]
        loop._handle_activity(WEBAPP, None, Activity.FAILED)
        loop._handle_activity(WEBAPP, None, Activity.OPENED)
        while len(reconciler.asked) < 2 or loop._client.listed < listed + 1:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        loop._handle_activity(SERVICE, None, Activity.FAILED)
        loop._handle_activity(SERVICE, None, Activity.OPENED)
        while len(reconciler.asked) < 3:
            await asyncio.sleep(0.01)
        assert loop._client.listed == listed + 1  # type: ignore[attr-defined]

    queue = QueueSettings(retry_delay=30, recovery_probe_interval=30)
    during(monkeypatch, reconciler, body, settings=Settings(queue=queue))


def test_each_resync_retries_rejected_keys_and_reconciles_all(monkeypatch: pytest.MonkeyPatch) -> None:
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp())
        while not reconciler.looked_again or WEB not in reconciler.asked:
            await asyncio.sleep(0.01)

    during(monkeypatch, reconciler, body, settings=Settings(resync_interval=0.1))


def test_all_webapps_are_requeued_when_a_referenced_kind_is_watched_no_longer_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their status says that a change of the referenced objects restarts nothing."""
    monkeypatch.setattr(scope_state, "UNWATCHED_SECONDS", 6.0)
    monkeypatch.setattr(relist_schedule, "UNWATCHED_SECONDS", 6.0)
    reconciler = Scripted({})

    async def body(loop: Manager[WebApp]) -> None:
        loop._store.observe(observed_webapp())

        async def report(activity: Activity) -> None:
            loop._handle_activity(SECRET, None, activity)
            await asyncio.sleep(1)

        for _ in range(6):
            await report(Activity.FAILED)
        assert reconciler.asked == []
        await report(Activity.FAILED)
        assert reconciler.asked == [WEB]
        await report(Activity.OPENED)
        assert reconciler.asked == [WEB, WEB]

    during(monkeypatch, reconciler, body, settings=Settings(watch_metadata=("secrets",)))


def test_a_deleted_webapp_does_not_wait_for_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind without the right to watch it would keep the keys of all WebApps of the past."""

    async def body(loop: Manager[WebApp]) -> None:
        bridge = loop._bridge
        assert bridge is not None
        loop._handle_activity(HORIZONTAL_POD_AUTOSCALER, None, Activity.FAILED)
        raw = raw_webapp(metadata={"namespace": WEB.namespace, "name": WEB.name, "uid": "u", "resourceVersion": "11"})
        bridge.event(WEBAPP, "ADDED", raw)
        await asyncio.sleep(0.1)
        assert loop._waiting._keys == {WEB}
        raw["metadata"]["resourceVersion"] = "12"
        bridge.event(WEBAPP, "DELETED", raw)
        await asyncio.sleep(0.1)
        assert loop._store.parent(WEB) is None
        assert loop._waiting._keys == set()

    during(monkeypatch, Scripted({}), body)
