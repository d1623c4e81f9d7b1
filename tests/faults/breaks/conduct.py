"""Breaks for F6, F12 to F17, F19, F20: other writers, foreign objects, deletions and load."""

import asyncio
from dataclasses import replace
from typing import Any

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.objects.manifests import Manifest, child_key, kind_and_name
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child import decide
from coxswain.kernel.reconciling.child.child import ChildReconciler, _child
from coxswain.kernel.reconciling.child.result import Result
from coxswain.kernel.reconciling.memory.attempts import Attempt
from coxswain.kernel.reconciling.memory.backoff import Backoff
from coxswain.kernel.reconciling.memory.unwatched import Unwatched
from coxswain.kernel.reconciling.memory.write_wars import DeletionBrake, WriteWars
from coxswain.kernel.reconciling.parent.reconciler import Outcome, Reconciler
from coxswain.kernel.reconciling.queue.workers import Workers
from coxswain.kernel.reconciling.queue.workqueue import WorkQueue
from coxswain.kernel.status.health import MISSING, Level
from coxswain.kernel.workload import Desired, Observations
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WebAppWorkload
from fault_engine.lives import PEACE
from faults.breaks import broken, put
from rendered import FIELD_MANAGER, observe


@broken("identifies the owner of a child by name instead of uid", passes=PEACE)
def owner_by_name() -> None:
    def is_child_of(self: Projection, webapp: WebApp) -> bool:
        return self.controller is None or self.controller.name == webapp.name

    put(Projection, is_child_of=is_child_of)


@broken("retries the status of a deleted WebApp at once", passes=PEACE)
def retries_status_of_deleted() -> None:
    write = Writer.write_status

    async def insist(self: Writer, *arguments: Any) -> Projection:
        while True:
            try:
                return await write(self, *arguments)
            except Refused as error:
                if error.status != 404:
                    raise
                await asyncio.sleep(0.01)  # the retry interval of this break

    put(Writer, write_status=insist)


@broken("reconciles a WebApp that is being deleted", passes=PEACE)
def makes_anew_what_goes() -> None:
    init = Projection.__init__

    def staying(self: Projection, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        if self.kind is WEBAPP:
            object.__setattr__(self, "terminating", False)

    put(Projection, __init__=staying)


@broken("retries failures at once, without backoff")
def retries_without_backoff() -> None:
    def at_once(self: WorkQueue, key: Any, **_: Any) -> float:
        self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, 0)
        return 0.0

    put(WorkQueue, add_rate_limited=at_once)
    put(Backoff, ends=lambda self, _: self.last)
    put(Refused, namespace_terminating=property(lambda _: False))


@broken("retries permanent refusals at once", passes=PEACE)
def tries_again_what_is_refused() -> None:
    report = Reconciler._report

    async def again(self: Reconciler[WebApp], *arguments: Any, **named: Any) -> Outcome:
        results = arguments[2]
        outcome = await report(self, *arguments, **named)
        refused = any(each.child.health.reason in ("Rejected", "AdmissionDenied") for each in results)
        return replace(outcome, again=outcome.again or refused)

    put(decide, obstacle_of=lambda *_: None)
    put(Attempt, matches=lambda *_, **__: False)
    put(Backoff, ends=lambda self, _: self.last)
    put(Reconciler, _report=again)


@broken("compares a child only after a change of its manifest", passes=PEACE)
def sees_no_drift() -> None:
    reconcile = ChildReconciler.reconcile
    written: dict[Any, Manifest] = {}

    async def once(
        self: ChildReconciler[WebApp], child_type: Any, desired: Desired, webapp: WebApp, world: Any, *, patient: bool
    ) -> Any:
        target = self._target(child_type, desired, webapp, world)
        if written.get(child_key(*kind_and_name(target.manifest))) == target.manifest:
            health = child_type.health(target.live) if target.live is not None else MISSING
            return target.desired, Result(_child(target, health), target.live)
        found = await reconcile(self, child_type, desired, webapp, world, patient=patient)
        if found[1].live is not None and not found[1].retry:
            written[child_key(*kind_and_name(found[0].manifest))] = found[0].manifest
        return found

    put(ChildReconciler, reconcile=once)


@broken("an update applies all live labels and annotations, also those of other managers", passes=PEACE)
def reads_modifies_writes() -> None:
    async def update(self: Writer, manifest: Manifest, observed: Projection, **_: bool) -> Projection:
        found = observed.content["metadata"]
        metadata = {"uid": observed.uid, **manifest["metadata"]}
        for part in ("labels", "annotations"):
            # Except those of the controllers, which would reveal the break in every script.
            others = {name: value for name, value in found.get(part, {}).items() if "kubernetes.io/" not in name}
            if others:
                metadata[part] = {**others, **metadata.get(part, {})}
        sent = {**manifest, "metadata": metadata}
        return observe(
            observed.kind, await self._client.apply(observed.kind, sent, field_manager=FIELD_MANAGER, force=True)
        )

    put(Writer, update=update)


@broken("repeats an apply without effect", passes=PEACE)
def repeats_applies_without_effect() -> None:
    put(Attempt, matches=lambda self, *_, **__: self.refused is not None)
    put(WriteWars, enforced=lambda *_: None)
    put(DeletionBrake, recreated=lambda *_: None)


@broken("writes a status without a precondition on the uid", passes=PEACE)
def writes_status_by_name() -> None:
    async def blindly(self: Writer, webapp: Projection, status: Any) -> Projection:
        metadata = {"name": webapp.name, "namespace": webapp.namespace}
        manifest = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": metadata, "status": status}
        answer = await self._client.apply(
            WEBAPP, manifest, field_manager=FIELD_MANAGER, force=True, subresource="status"
        )
        return observe(WEBAPP, answer)

    put(Writer, write_status=blindly)


@broken("creates a child by an apply, which adopts a foreign object with its name", passes=PEACE)
def adopts_by_name() -> None:
    async def create(self: Writer, manifest: Manifest) -> Projection:
        return await self._apply(manifest, {}, force=True)

    put(Writer, create=create)


@broken("never retries refused children and name conflicts")
def never_looks_again() -> None:
    def nothing(self: Reconciler[WebApp]) -> None:
        pass

    put(Unwatched, is_due=lambda *_: False)
    put(Reconciler, resynced=nothing)


@broken("the status does not report a refused child")
def hides_refusals() -> None:
    status = WebAppWorkload.status

    def silent(self: WebAppWorkload, webapp: Any, found: Observations, *rest: Any) -> Any:
        visible = [report for report in found.children if report.child.health.level is not Level.DEGRADED]
        return status(self, webapp, replace(found, children=visible), *rest)

    put(WebAppWorkload, status=silent)


@broken("reconciles one WebApp at a time, and retries it until success", passes=PEACE)
def reconciles_one_by_one() -> None:
    handle = Workers._process
    turn = asyncio.Lock()

    async def one_by_one(self: Workers[WebApp], key: Any) -> None:
        async with turn:
            await handle(self, key)
            while (webapp := self._reconciler._store.parent(key)) is not None and _stalled(webapp):
                await asyncio.sleep(0.5)  # polls the cache until the WebApp is no longer stalled

    put(Workers, _process=one_by_one)


def _stalled(webapp: Projection) -> bool:
    conditions = webapp.content.get("status", {}).get("conditions", [])
    return any(found["type"] == "Stalled" and found["status"] == "True" for found in conditions)
