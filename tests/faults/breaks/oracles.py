"""Breaks for the oracles: each violates one oracle, and reaches the correct end state as far as possible."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.api.events import RecentEvents
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.resync import Resync
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.memory.attempts import Attempt
from coxswain.kernel.reconciling.parent.child_set import ChildSet
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.serving import metrics_server
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WebAppWorkload
from fault_engine.lives import PEACE
from fault_engine.secret import SECRET
from faults.breaks import broken, put

log = logging.getLogger(__name__)

SECRETS = Kind("", "v1", "Secret", "secrets")


@broken("writes an Event every second", always=True)
def writes_events_forever() -> None:
    report = Reconciler._report
    number = 0

    async def loudly(self: Reconciler[WebApp], observed: Projection, *rest: Any, **named: Any) -> Outcome:
        nonlocal number
        number += 1
        record = EventRecord("Alive", "Reconcile", f"reconcile {'x' * number}")
        await self._recorder.record(observed, record, RecentEvents())
        outcome = await report(self, observed, *rest, **named)
        return replace(outcome, after=min(outcome.after or 1.0, 1.0))

    put(Reconciler, _report=loudly)


@broken("ignores events of WebApps after the first deletion", always=True)
def deaf_after_a_deletion() -> None:
    take = Manager._handle_event
    deaf = False

    def listen(self: Manager[WebApp], observed: Projection, gone: bool) -> None:
        nonlocal deaf
        if observed.kind is WEBAPP and deaf:
            return
        deaf |= observed.kind is WEBAPP and gone
        take(self, observed, gone)

    put(Manager, _handle_event=listen)


@broken("sets Ready as soon as the children are written", always=True)
def claims_to_be_ready() -> None:
    status = WebAppWorkload.status

    def ready(*arguments: Any) -> Any:
        made = status(*arguments)
        for condition in made["conditions"]:
            if condition["type"] == "Ready":
                condition |= {
                    "status": "True",
                    "reason": "Ready",
                    "message": "all children match the spec and are healthy",
                }
        return made

    put(WebAppWorkload, status=ready)


@broken("creates a Deployment with 0 replicas, and scales it up in the next reconcile", always=True)
def creates_with_zero_replicas() -> None:
    create = Writer.create

    async def without_pods(self: Writer, manifest: Manifest) -> Projection:
        if manifest["kind"] == DEPLOYMENT.kind:
            manifest = {**manifest, "spec": {**manifest["spec"], "replicas": 0}}
        return await create(self, manifest)

    put(Writer, create=without_pods)
    put(Attempt, matches=lambda self, *_, **__: self.refused is not None)


@broken("relists all kinds continuously", always=True)
def relists_continuously() -> None:
    keep_listed = Resync._keep_listed

    async def restless(self: Resync, scope: Any) -> None:
        async def again() -> None:
            while True:
                await asyncio.sleep(0.05)  # the interval of the relists of this break
                if self.complete.is_set():
                    self.relist_soon(*scope)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(again())
            tasks.create_task(keep_listed(self, scope))

    put(Resync, _keep_listed=restless)


@broken("reads the Secrets that a WebApp references", always=True)
def reads_secrets() -> None:
    reconcile = ChildSet.reconcile

    async def curious(self: ChildSet[WebApp], webapp: Any, *rest: Any, **named: Any) -> Any:
        try:
            await self._remover._guard._writer._client.get(SECRETS, webapp.namespace, "credentials")
        except RequestFailed as error:
            log.debug("no Secret: %s", error)
        return await reconcile(self, webapp, *rest, **named)

    put(ChildSet, reconcile=curious)


@broken("writes to a namespace other than the WebApp's", always=True)
def writes_elsewhere() -> None:
    reconcile = ChildSet.reconcile

    async def straying(self: ChildSet[WebApp], webapp: Any, *rest: Any, **named: Any) -> Any:
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stray", "namespace": "default"}}
        try:
            await self._remover._guard._writer._client.create(CONFIG_MAP, "default", manifest)
        except RequestFailed as error:
            log.debug("no stray ConfigMap: %s", error)
        return await reconcile(self, webapp, *rest, **named)

    put(ChildSet, reconcile=straying)


@broken("deletes and recreates a Service instead of updating it", passes=PEACE)
def recreates_services() -> None:
    update = Writer.update

    async def remake(self: Writer, manifest: Manifest, observed: Projection, *, force: bool) -> Projection:
        if observed.kind is not SERVICE:
            return await update(self, manifest, observed, force=force)
        await self.remove(observed)
        return await self.create(manifest)

    put(Writer, update=remake)


@broken("exposes the value of a Secret in its metrics", always=True)
def shows_a_secret_in_its_metrics() -> None:
    served = metrics_server.generate_latest  # type: ignore[attr-defined]

    def telling(*arguments: Any, **named: Any) -> bytes:
        return bytes(served(*arguments, **named)) + f"# {SECRET}\n".encode()

    put(metrics_server, generate_latest=telling)
