"""One LIST, then watches, each from the end of the previous one: the operator's own watches, in the audit log.

Here they use a short `timeoutSeconds`, so that the server ends them every few seconds instead of minutes.
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
    """A sink that records the events of WebApps."""

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
    """Kopf's requests for the WebApps of one namespace, since a mark in the audit log."""

    def __init__(self, mark: AuditLog, namespace: str) -> None:
        self._mark = mark
        self._namespace = namespace
        self._seen: list[tuple[str, str | None]] = []

    def requests(self) -> list[tuple[str, str | None]]:
        """Return each verb with the requested resourceVersion, in order."""
        for event in self._mark.events():
            mine = (event.user, event.agent, event.namespace) == (OPERATOR, "coxswain-watch", self._namespace)
            if mine and event.resource == "webapps":
                query = parse_qs(urlsplit(event.uri).query)
                self._seen.append((event.verb, query.get("resourceVersion", [None])[0]))
        return self._seen

    def versions(self) -> list[int]:
        """Return the start versions of the watches."""
        return [int(version or 0) for verb, version in self.requests() if verb == "watch"]


@contextmanager
def watching(kubeconfig: Path, namespace: str) -> Iterator[Recorder]:
    """Run the operator's watches of one namespace in a thread, like the supervisor."""
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


def test_each_watch_starts_where_the_previous_list_or_watch_ended(
    cluster: ControlPlane, kubeconfig: Path, make_namespace: Callable[[], str]
) -> None:
    api, namespace = cluster.pykube(), make_namespace()
    watches = Watches(cluster.audit(), namespace)
    before = present(api, namespace)
    with watching(kubeconfig, namespace) as recorder:
        after = present(api, namespace)
        assert [verb for verb, _ in watches.requests()] == ["list", "watch"]
        assert watches.requests()[0][1] is None, "the LIST requests the most recent state"
        assert before <= watches.versions()[0] <= after, "the WATCH starts at the version of the LIST"

        created = create(api, namespace)
        eventually(lambda: ("ADDED", created) in recorder.events, "the event")
        opened = len(watches.versions())
        eventually(lambda: len(watches.versions()) > opened, "the server ended a watch, and Kopf opened another")
        assert watches.versions()[opened] >= created, "it starts at the version of the last event or bookmark"

        elsewhere = create(api, make_namespace())
        eventually(lambda: watches.versions()[-1] >= elsewhere, "a later version is used")
        assert Activity.BOOKMARK in recorder.activities
        assert max(version for _, version in recorder.events) < elsewhere, "from a bookmark, not from an event"
    assert watches.versions() == sorted(watches.versions())
    assert [verb for verb, _ in watches.requests()].count("list") == 1
    assert len(set(recorder.events)) == len(recorder.events), "no event is delivered twice"
    print("the watches were opened from", watches.versions())
