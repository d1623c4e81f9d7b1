"""The kernel's decisions on the model API server: one WebApp and its children, without watches and queue."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.actions import Action
from coxswain.kernel.reconciling.child.answers import Answers
from coxswain.kernel.reconciling.child.child import ChildReconciler
from coxswain.kernel.reconciling.child.decide import Target, decide
from coxswain.kernel.reconciling.child.execute import Executor
from coxswain.kernel.reconciling.child.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.child.name_reader import NameReader
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.memory import Memories
from coxswain.settings import Settings
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from model_cluster.api_server import APPLY, MERGE_PATCH, ApiServer, Response
from model_cluster.api_server.store import Snapshot
from rendered import MODELLED, observe
from unit.event_loop import run
from unit.set_coverage import SetCoverage

CRD = Path(__file__).parents[2] / "crds" / "webapps.yaml"
KEY = Key("shop", "web")
SPEC: dict[str, Any] = {
    "image": "registry.example/web:1",
    "ports": [{"name": "http", "containerPort": 8080}],
    "env": [{"name": "A", "value": "1"}],
    "config": {"B": "2"},
    "labels": {"team": "red"},
}


Saved = tuple[Snapshot, int]
"""The objects on the server, and the number of uids so far."""


class ModelTransport:
    """Sends each request to the model."""

    host = "http://model"

    def __init__(self, api: ApiServer) -> None:
        self._api = api

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
        check()
        content_type = headers.get("Content-Type", "")
        answer = self._api.request(method, path, query=dict(query), body=body, content_type=content_type)
        return HttpResponse(answer.status, json.dumps(answer.body).encode())

    def invalidate_credentials(self) -> None:
        """Do nothing: there are no credentials."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class ModelBench:
    """One WebApp on the model. The cache sees each change before the next decision."""

    def __init__(self, **spec: Any) -> None:
        self._uids = 0
        self.now = 1000.0
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.api = ApiServer([CRD], now=lambda: self.time, new_uid=self._new_uid)
        self.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        metadata = {"name": "web", "namespace": "shop"}
        made = {"apiVersion": "coxswain.dev/v1", "kind": "WebApp", "metadata": metadata, "spec": {**SPEC, **spec}}
        self.post(WEBAPP.path("shop"), made)
        self.store = Store(WEBAPP)
        writer = Writer(
            Client(ModelTransport(self.api), Throttle(in_flight=8), timeout=1, page_size=100), WORKLOAD.projector
        )
        guard = GenerationGuard(self.store, writer, WORKLOAD)
        answers = Answers(self.store, name_interval=60, clock=lambda: self.now)
        reader = NameReader(writer, answers)
        executor = Executor(self.store, writer, guard, answers, reader, clock=lambda: self.now)
        self.children = ChildReconciler(WORKLOAD, executor, reader, Settings().status, clock=lambda: self.now)
        self._memories = Memories(Settings().write_war)
        self._observed = 0
        self._observations: dict[str, Projection] = {}
        self.observe_all()

    def _new_uid(self) -> str:
        self._uids += 1
        return f"uid-{self._uids}"

    def save(self) -> Saved:
        """Return the objects on the server."""
        return self.api.snapshot(), self._uids

    def load(self, saved: Saved) -> None:
        """Replace the objects on the server by copies of those of a bench with the same spec, and observe them."""
        snapshot, self._uids = copy.deepcopy(saved)
        self.api.restore(snapshot)
        self._observations.clear()
        self.observe_all()

    @property
    def webapp(self) -> WebApp:
        """The desired WebApp."""
        observed = self.store.parent(KEY)
        assert observed is not None
        return WORKLOAD.parse(observed)

    @property
    def world(self) -> CacheView:
        """The cache, seen from the WebApp."""
        webapp = self.webapp
        memory = self._memories.of(KEY, webapp.uid)
        return CacheView(self.store, SetCoverage(), webapp, memory, datetime.now(UTC))

    def request(self, method: str, path: str, body: Any, content_type: str, **query: str) -> Response:
        """Send a request of another client."""
        return self.api.request(
            method, path, query=query, body=body, content_type=content_type, user_agent="kubectl-edit/1"
        )

    def post(self, path: str, body: Any) -> Response:
        """Create an object as another client."""
        answer = self.request("POST", path, body, "application/json")
        assert answer.status == 201, answer.body
        return answer

    def patch(self, path: str, body: Any) -> Response:
        """Change an object as another client, by Merge Patch."""
        return self.request("PATCH", path, body, MERGE_PATCH)

    def apply(self, path: str, body: Any) -> Response:
        """Change an object as another client, by Server-Side Apply with force."""
        return self.request("PATCH", path, body, APPLY, fieldManager="flux", force="true")

    def delete(self, path: str) -> Response:
        """Delete an object as another client."""
        return self.request("DELETE", path, {}, "application/json")

    def observe_all(self) -> None:
        """Bring the cache up to date like watches, with all objects of a kind or only those with our label."""
        if self._observed == self.api.version:
            return
        self._observed = self.api.version
        for kind in (WEBAPP, *MODELLED):
            present = self.request("GET", kind.path("shop"), None, "").body["items"]
            listed = [self._observe(kind, item) for item in present]
            watched = [each for each in listed if not kind.label_selector or each.label is not None]
            for each in watched:
                self.store.observe(each)
            relist = self.store.begin_relist(kind, None)
            self.store.end_relist(relist, self.api.version, [Key(each.namespace, each.name) for each in watched])

    def _observe(self, kind: Kind, item: Mapping[str, Any]) -> Projection:
        """Return the projection of an object, the same one as long as its version is the same."""
        version = int(item["metadata"]["resourceVersion"])
        if (known := self._observations.get(item["metadata"]["uid"])) is not None and known.version == version:
            return known
        made = self._observations[item["metadata"]["uid"]] = observe(kind, item)
        return made

    def objects(self) -> dict[str, Any]:
        """Return every object on the server except those of the cluster itself."""
        return {
            f"{kind}/{item['metadata']['name']}": item
            for kind in MODELLED
            for item in self.request("GET", kind.path("shop"), None, "").body["items"]
        }

    def reconcile(self) -> list[Result]:
        """Reconcile each child once, in order."""
        self.observe_all()
        results = run(self._reconcile())
        self.observe_all()
        return results

    async def _reconcile(self) -> list[Result]:
        return [
            (await self.children.reconcile(child_type, wanted, self.webapp, self.world, patient=True))[1]
            for child_type in WORKLOAD.children
            for wanted in child_type.all_desired(self.webapp, self.world)
        ]

    def targets(self) -> list[Target[WebApp]]:
        """Return the targets of the next reconcile, one for each child."""
        return [
            self.children._target(child_type, wanted, self.webapp, self.world)
            for child_type in WORKLOAD.children
            for wanted in child_type.all_desired(self.webapp, self.world)
        ]

    def decisions(self) -> list[tuple[Target[WebApp], Action]]:
        """Return the actions of the next reconcile."""
        return [(target, decide(target)) for target in self.targets()]

    @staticmethod
    def project(kind: Kind, raw: Mapping[str, Any]) -> Projection:
        """Return the projection of an object."""
        return observe(kind, raw)
