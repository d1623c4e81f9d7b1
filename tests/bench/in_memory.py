"""The operator and the model API server in one process, without HTTP: for the CPU time of the operator alone.

There are no controllers, so no Deployment becomes ready.
"""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity, EventSink
from coxswain.metrics import RequestMetrics
from coxswain.settings import Settings, StatusSettings
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from model_cluster.api_server import ApiServer

CRD = Path(__file__).parents[2] / "crds" / "webapps.yaml"
PROMPT = Settings(status=StatusSettings(settle_interval=0.1))
"""Without controllers no pod is ever counted, so the first status does not wait for that."""
SPEC: Mapping[str, Any] = {
    "image": "registry.example/web:1",
    "ports": [{"name": "http", "containerPort": 8080}],
    "config": {"A": "1"},
}


class Cluster:
    """A model API server, which is also the transport of the operator's requests and the source of its watches."""

    host = "http://model:6443"

    def __init__(self, namespaces: Iterable[str] = ("shop",)) -> None:
        numbers = itertools.count(1)
        self.api = ApiServer([CRD], now=lambda: datetime.now(UTC), new_uid=lambda: f"uid-{next(numbers)}")
        self.cpu_seconds = 0.0
        """CPU time of the model itself."""
        self.latency = 0.0
        """Seconds until the response to a request of the operator."""
        self._metrics = RequestMetrics(self.host, asyncio.get_running_loop().time)
        self._changed = asyncio.Event()
        for namespace in namespaces:
            self.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})

    def post(self, path: str, body: Any) -> None:
        """Create an object as a user."""
        answer = self._request("POST", path, body=body, content_type="application/json")
        assert answer[0] == 201, answer

    def create(self, namespace: str, name: str) -> None:
        """Create a WebApp as a user."""
        metadata = {"name": name, "namespace": namespace}
        body = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": metadata, "spec": SPEC}
        self.post(WEBAPP.path(namespace), body)

    def statuses(self) -> int:
        """Return the number of WebApps with a status."""
        with self._own_cpu():
            items = self.api.request("GET", WEBAPP.path(), query={}).body["items"]
            return sum("conditions" in item.get("status", {}) for item in items)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Any,
        seconds: float,  # noqa: ARG002
        check: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        """Answer a request of the operator."""
        check()
        with self._metrics.request(method) as answered:
            await asyncio.sleep(self.latency)
            status, answer = self._request(
                method, path, query=dict(query), body=body, content_type=headers.get("Content-Type", "")
            )
            answered(status)
        return HttpResponse(status, answer)

    def _request(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, **sent: Any
    ) -> tuple[int, bytes]:
        with self._own_cpu():
            answer = self.api.request(method, path, query=query or {}, **sent)
            payload = json.dumps(answer.body).encode()
        self._changed.set()
        return answer.status, payload

    @contextmanager
    def _own_cpu(self) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.cpu_seconds += time.process_time() - begun

    async def watch(
        self, kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event, scopes: Sequence[str | None]
    ) -> None:
        """Watch like Kopf until the stop."""
        seen = {(kind, scope): self.api.version for kind in kinds for scope in scopes}
        for kind, scope in seen:
            sink.watch_activity(kind, scope, Activity.OPENED)
            sink.watch_started(kind, scope)
        stopped = asyncio.create_task(stop.wait())
        while not stop.is_set():
            for (kind, scope), since in seen.items():
                with self._own_cpu():
                    events = self.api.watch_events(kind.path(scope), since=since, label_selector=kind.label_selector)
                for event in events:
                    sink.event(kind, event.type, event.object)
                    seen[kind, scope] = event.version
                if events:
                    sink.watch_activity(kind, scope, Activity.RECEIVED)
            self._changed.clear()
            changed = asyncio.create_task(self._changed.wait())
            await asyncio.wait([stopped, changed], return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()

    def invalidate_credentials(self) -> None:
        """Do nothing: there are no credentials."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""


def manager(cluster: Cluster, settings: Settings) -> Manager[WebApp]:
    """Return an operator of the cluster."""
    client = Client(cluster, Throttle(in_flight=settings.requests_in_flight), timeout=30, page_size=500)

    async def watches(kinds: Sequence[Kind], sink: EventSink, stop: asyncio.Event) -> None:
        await cluster.watch(kinds, sink, stop, settings.scopes)

    return Manager(WORKLOAD, settings, client, watches)


async def during(made: Manager[WebApp], body: Callable[[], Any]) -> None:
    """Run the operator during the body."""
    stop = asyncio.Event()
    running = asyncio.create_task(made.run(stop))
    try:
        async with asyncio.timeout(300):
            while made.missing:
                await asyncio.sleep(0.01)
            await body()
    finally:
        stop.set()
        await running
