"""One LIST, then watches, each from where the one before it ended: the operator's own watches, in the audit log.

They run here with a short `timeoutSeconds`, so that the server ends them every few seconds instead of minutes.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pykube import HTTPClient

from cluster import AuditLog, ControlPlane
from coxswain.kernel.api.connection import connection
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.kopf_watches import watch
from coxswain.settings import WatchSettings
from coxswain.webapp.kinds import WEBAPP
from integration.scene import OPERATOR, SPEC, eventually, manifest
from rendered import KINDS

pytestmark = pytest.mark.semantics

SETTINGS = WatchSettings(server_timeout=4)
PAUSED = {**SPEC, "paused": True}


class Recorder:
    """A sink that keeps what it is told of WebApps."""

    def __init__(self) -> None:
        self.events: list[tuple[str | None, int]] = []
        self.activities: list[Activity] = []
        self.started = 0

    def event(self, kind: Kind, change: str | None, raw: Mapping[str, Any]) -> None:
        if kind is WEBAPP:
            self.events.append((change, int(raw["metadata"]["resourceVersion"])))

    def watch_started(self, kind: Kind, namespace: str | None) -> None:
        assert namespace is not None
        self.started += kind is WEBAPP

    def watch_activity(self, kind: Kind, namespace: str | None, activity: Activity) -> None:
        assert namespace is not None
        if kind is WEBAPP:
            self.activities.append(activity)


class Watches:
    """What Kopf asked for about the WebApps of one namespace, since a mark in the audit log."""

    def __init__(self, mark: AuditLog, namespace: str) -> None:
        self._mark = mark
        self._namespace = namespace
        self._seen: list[tuple[str, str | None]] = []

    def requests(self) -> list[tuple[str, str | None]]:
        """Return each verb with the resourceVersion that was asked for, in their order."""
        for event in self._mark.events():
            mine = (event.user, event.agent, event.namespace) == (OPERATOR, "coxswain-watch", self._namespace)
            if mine and event.resource == "webapps":
                query = parse_qs(urlsplit(event.uri).query)
                self._seen.append((event.verb, query.get("resourceVersion", [None])[0]))
        return self._seen

    def versions(self) -> list[int]:
        """Return the versions that the watches were opened from."""
        return [int(version or 0) for verb, version in self.requests() if verb == "watch"]


@contextmanager
def watching(kubeconfig: Path, namespace: str) -> Iterator[Recorder]:
    """Run the operator's watches of one namespace, in a thread as supervision does."""
    recorder = Recorder()
    stops: list[Callable[[], object]] = []

    async def body() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        made = await connection(kubeconfig, None, token_interval=60)
        await watch(made, KINDS.watched, [namespace], SETTINGS, sink=recorder, stop=stop)

    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(asyncio.run, body())
        try:
            eventually(lambda: recorder.started or ended.done(), "the watch of WebApps is open")
            yield recorder
        finally:
            if not ended.done():
                stops[0]()
            ended.result(30)


def present(api: HTTPClient, namespace: str) -> int:
    answer = api.get(version="coxswain.dev/v1", namespace=namespace, url="webapps")
    answer.raise_for_status()
    return int(answer.json()["metadata"]["resourceVersion"])


def create(api: HTTPClient, namespace: str) -> int:
    answer = api.post(version="coxswain.dev/v1", namespace=namespace, url="webapps", json=manifest("web", PAUSED))
    answer.raise_for_status()
    return int(answer.json()["metadata"]["resourceVersion"])


def test_each_watch_goes_on_where_the_list_or_the_watch_before_it_ended(
    cluster: ControlPlane, kubeconfig: Path, make_namespace: Callable[[], str]
) -> None:
    api, namespace = cluster.pykube(), make_namespace()
    watches = Watches(cluster.audit(), namespace)
    before = present(api, namespace)
    with watching(kubeconfig, namespace) as recorder:
        after = present(api, namespace)
        assert [verb for verb, _ in watches.requests()] == ["list", "watch"]
        assert watches.requests()[0][1] is None, "the LIST is of the most recent state"
        assert before <= watches.versions()[0] <= after, "the WATCH is from the version of the LIST"

        created = create(api, namespace)
        eventually(lambda: ("ADDED", created) in recorder.events, "the event")
        opened = len(watches.versions())
        eventually(lambda: len(watches.versions()) > opened, "the server has ended a watch, and there is another")
        assert watches.versions()[opened] >= created, "it is from the last event's version, or a bookmark's"

        elsewhere = create(api, make_namespace())
        eventually(lambda: watches.versions()[-1] >= elsewhere, "a later version is carried over")
        assert Activity.BOOKMARK in recorder.activities
        assert max(version for _, version in recorder.events) < elsewhere, "no event told it: a bookmark did"
    assert watches.versions() == sorted(watches.versions())
    assert [verb for verb, _ in watches.requests()].count("list") == 1
    assert len(set(recorder.events)) == len(recorder.events), "nothing is told twice"
    print("the watches were opened from", watches.versions())
