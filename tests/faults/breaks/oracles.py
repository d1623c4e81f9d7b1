"""Breaks for the oracles: each is wrong in the way of one oracle, and right at the end, as far as that allows."""

import asyncio
import logging
from typing import Any

from coxswain.control import reconcile
from coxswain.control.attempts import Attempts
from coxswain.control.loop import Loop
from coxswain.control.reconcile import Outcome, Reconciler
from coxswain.control.resync import Resync
from coxswain.control.store import Key
from coxswain.kube.apply import Writer
from coxswain.kube.errors import RequestFailed
from coxswain.kube.events import Occurrence
from coxswain.kube.kinds import DEPLOYMENT, WEBAPP, Kind
from coxswain.kube.observed import Observed
from coxswain.webapp.spec import Manifest
from faults.breaks import broken

log = logging.getLogger(__name__)

SECRETS = Kind("", "v1", "Secret", "secrets")


@broken("it is never at rest: an Event tells every second that it lives")
def chatters() -> None:
    tell = Reconciler._tell
    number = 0

    async def loudly(self: Reconciler, key: Key, observed: Observed, *rest: Any) -> Outcome:
        nonlocal number
        number += 1
        await self._recorder.record(observed, Occurrence("Alive", "Reconcile", f"reconcile {'x' * number}"))
        outcome = await tell(self, key, observed, *rest)
        return Outcome(outcome.failed, outcome.again, min(outcome.after or 1.0, 1.0))

    Reconciler._tell = loudly  # type: ignore[method-assign, assignment]


@broken("it is deaf to WebApps once one of them was deleted")
def deaf_after_a_deletion() -> None:
    take = Loop._take
    deaf = False

    def listen(self: Loop, feed: Any, observed: Observed, gone: bool) -> None:
        nonlocal deaf
        if observed.kind is WEBAPP and deaf:
            return
        deaf |= observed.kind is WEBAPP and gone
        take(self, feed, observed, gone)

    Loop._take = listen  # type: ignore[method-assign]


@broken("the status says Ready as soon as the children are written")
def claims_to_be_ready() -> None:
    status = reconcile.status  # type: ignore[attr-defined]

    def ready(*arguments: Any) -> Any:
        made = status(*arguments)
        for condition in made["conditions"]:
            if condition["type"] == "Ready":
                condition |= {"status": "True", "reason": "Ready", "message": "everything runs as the spec says"}
        return made

    reconcile.status = ready  # type: ignore[attr-defined, assignment]


@broken("a Deployment is created with 0 replicas, and scaled up by the next reconcile")
def begins_with_nothing() -> None:
    create = Writer.create

    async def without_pods(self: Writer, manifest: Manifest) -> Observed:
        if manifest["kind"] == DEPLOYMENT.kind:
            manifest = {**manifest, "spec": {**manifest["spec"], "replicas": 0}}
        return await create(self, manifest)

    Writer.create = without_pods  # type: ignore[method-assign]
    remember = Attempts.remember

    def forget(self: Any, key: Key, manifest: Manifest, observed: Any, refused: Any) -> None:
        if refused is not None:
            remember(self, key, manifest, observed, refused)

    Attempts.remember = forget  # type: ignore[method-assign]


@broken("everything is listed again all the time")
def lists_without_end() -> None:
    keep_swept = Resync._keep_swept

    async def restless(self: Resync, scope: Any) -> None:
        async def again() -> None:
            while True:
                await asyncio.sleep(0.05)
                if self.complete.is_set():
                    self.sweep_soon(*scope)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(again())
            tasks.create_task(keep_swept(self, scope))

    Resync._keep_swept = restless  # type: ignore[method-assign]


@broken("it asks for the Secrets that a WebApp names")
def reads_secrets() -> None:
    bring_about = Reconciler._bring_about

    async def curious(self: Reconciler, webapp: Any, **named: Any) -> Any:
        try:
            await self._writer._client.get(SECRETS, webapp.namespace, "credentials")
        except RequestFailed as error:
            log.debug("no Secret: %s", error)
        return await bring_about(self, webapp, **named)

    Reconciler._bring_about = curious  # type: ignore[method-assign]
