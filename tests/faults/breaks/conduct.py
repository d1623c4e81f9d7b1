"""Breaks for F6, F12 to F17, F19, F20: other writers, foreign objects, deletions and loads."""

import asyncio
from dataclasses import replace
from typing import Any

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.manager import Manager
from coxswain.kernel.objects.manifests import Manifest, child_key
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling import decide
from coxswain.kernel.reconciling.attempts import Attempt
from coxswain.kernel.reconciling.child import Children, _child
from coxswain.kernel.reconciling.memory import NameHolder
from coxswain.kernel.reconciling.reconciler import Outcome, Reconciler
from coxswain.kernel.reconciling.result import Result
from coxswain.kernel.reconciling.workqueue import WorkQueue
from coxswain.kernel.reconciling.write_wars import WriteWars
from coxswain.kernel.status.health import Level
from coxswain.kernel.workload import Observations
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WebAppWorkload
from faults.breaks import PEACE, broken, put
from rendered import FIELD_MANAGER, observe


@broken("a child is known by its owner's name, not by its uid", passes=PEACE)
def owner_by_name() -> None:
    def is_child_of(self: Projection, webapp: WebApp) -> bool:
        return self.controller is None or self.controller.name == webapp.name

    put(Projection, is_child_of=is_child_of)


@broken("a status whose WebApp is not there is sent again at once", passes=PEACE)
def insists_on_its_status() -> None:
    write = Writer.write_status

    async def insist(self: Writer, *arguments: Any) -> Projection:
        while True:
            try:
                return await write(self, *arguments)
            except Refused as error:
                if error.status != 404:
                    raise
                await asyncio.sleep(0.01)

    put(Writer, write_status=insist)


@broken("a WebApp that is being deleted is reconciled on", passes=PEACE)
def makes_anew_what_goes() -> None:
    init = Projection.__init__

    def staying(self: Projection, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        if self.kind is WEBAPP:
            object.__setattr__(self, "terminating", False)

    put(Projection, __init__=staying)


@broken("what failed is tried again at once, without backoff")
def retries_without_backoff() -> None:
    def at_once(self: WorkQueue, key: Any, **_: Any) -> float:
        self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, 0)
        return 0.0

    put(WorkQueue, add_rate_limited=at_once)
    put(Refused, namespace_terminating=property(lambda _: False))


@broken("what the API server refuses for good, a change in place among it, is sent again at once", passes=PEACE)
def tries_again_what_is_refused() -> None:
    report = Reconciler._report

    async def again(self: Reconciler[WebApp], *arguments: Any, **named: Any) -> Outcome:
        children = arguments[2]
        outcome = await report(self, *arguments, **named)
        refused = any(result.child.health.reason in ("Rejected", "AdmissionDenied") for result in children)
        return replace(outcome, again=outcome.again or refused)

    put(decide, obstacle_of=lambda *_: None)
    put(Attempt, matches=lambda *_: False)
    put(Reconciler, _report=again)


@broken("a child is looked at only when its manifest has changed", passes=PEACE)
def sees_no_drift() -> None:
    reconcile = Children.reconcile
    written: dict[Any, Manifest] = {}

    async def once(self: Children[WebApp], child_type: Any, webapp: WebApp, world: Any, *, patient: bool) -> Any:
        target = self._target(child_type, webapp, world)
        if (
            target is not None
            and target.live is not None
            and written.get(child_key(target.manifest)) == target.manifest
        ):
            return target.desired, Result(_child(target, child_type.health(target.live.content)), target.live)
        found = await reconcile(self, child_type, webapp, world, patient=patient)
        if found is not None and found[1].live is not None and not found[1].retry:
            written[child_key(found[0].manifest)] = found[0].manifest
        return found

    put(Children, reconcile=once)


@broken("an update sends back the labels and annotations that it finds, and so takes those of others", passes=PEACE)
def reads_modifies_writes() -> None:
    async def update(self: Writer, manifest: Manifest, observed: Projection, **_: bool) -> Projection:
        found = observed.content["metadata"]
        metadata = {"uid": observed.uid, **manifest["metadata"]}
        for part in ("labels", "annotations"):
            # But for those of the controllers, which would show the break in any life.
            others = {name: value for name, value in found.get(part, {}).items() if "kubernetes.io/" not in name}
            if others:
                metadata[part] = {**others, **metadata.get(part, {})}
        sent = {**manifest, "metadata": metadata}
        return observe(
            observed.kind, await self._client.apply(observed.kind, sent, field_manager=FIELD_MANAGER, force=True)
        )

    put(Writer, update=update)


@broken("an apply that had no effect is sent again and again, as if it could have another one", passes=PEACE)
def fights_a_policy() -> None:
    put(Attempt, matches=lambda self, *_: self.refused is not None)
    put(WriteWars, enforced=lambda *_: None)


@broken("a status is written to whatever bears the name by now", passes=PEACE)
def tells_a_namesake() -> None:
    async def blindly(self: Writer, webapp: Projection, status: Any) -> Projection:
        metadata = {"name": webapp.name, "namespace": webapp.namespace}
        manifest = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, "metadata": metadata, "status": status}
        answer = await self._client.apply(
            WEBAPP, manifest, field_manager=FIELD_MANAGER, force=True, subresource="status"
        )
        return observe(WEBAPP, answer)

    put(Writer, write_status=blindly)


@broken("a child is created by a plain apply, which takes what bears its name", passes=PEACE)
def adopts_by_name() -> None:
    async def create(self: Writer, manifest: Manifest) -> Projection:
        return await self._apply(manifest, {}, force=True)

    put(Writer, create=create)


@broken("what was refused, and whose name was taken, is never looked at again")
def never_looks_again() -> None:
    def nothing(self: Reconciler[WebApp]) -> None:
        pass

    put(NameHolder, is_current=lambda *_: True)
    put(Reconciler, resynced=nothing)


@broken("the status is silent about a child that could not be written")
def hides_refusals() -> None:
    status = WebAppWorkload.status

    def silent(self: WebAppWorkload, webapp: Any, found: Observations, *rest: Any) -> Any:
        told = [report for report in found.children if report.child.health.level is not Level.DEGRADED]
        return status(self, webapp, replace(found, children=told), *rest)

    put(WebAppWorkload, status=silent)


@broken("one WebApp at a time, and the next only when this one is no longer refused", passes=PEACE)
def waits_for_the_poisoned() -> None:
    handle = Manager._process
    turn = asyncio.Lock()

    async def one_by_one(self: Manager[WebApp], key: Any) -> None:
        async with turn:
            await handle(self, key)
            while (webapp := self._store.parent(key)) is not None and _stalled(webapp):
                await asyncio.sleep(0.5)

    put(Manager, _process=one_by_one)


def _stalled(webapp: Projection) -> bool:
    conditions = webapp.content.get("status", {}).get("conditions", [])
    return any(found["type"] == "Stalled" and found["status"] == "True" for found in conditions)
