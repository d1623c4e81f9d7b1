"""Removal of children that a WebApp no longer wants."""

import logging
from collections.abc import Collection

from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import CONFIG_MAP, SERVICE, SERVICE_ACCOUNT
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.attempts import Attempts
from coxswain.kernel.reconciling.finding import PATIENCE, concerns_all
from coxswain.kernel.reconciling.generation_guard import GenerationGuard
from coxswain.kernel.reconciling.result import Result
from coxswain.webapp.health import Child, not_removed, retried
from coxswain.webapp.spec import WebApp

log = logging.getLogger(__name__)

_REMOVABLE = (SERVICE_ACCOUNT, CONFIG_MAP, SERVICE)


class Removals:
    """Deletes children that are no longer wanted."""

    def __init__(self, store: Store, writer: Writer, freshness: GenerationGuard) -> None:
        self._store = store
        self._writer = writer
        self._freshness = freshness
        self._attempts = Attempts()
        self._deleted: dict[Key, set[str]] = {}
        """UIDs of children whose DELETE was answered; the answer has no resourceVersion, so the store has them yet."""

    def look_again(self) -> None:
        """Delete again what is still there."""
        self._deleted.clear()

    def clear(self) -> None:
        """Forget all WebApps."""
        self._attempts.clear()
        self._deleted.clear()

    def forget(self, key: Key) -> None:
        """Forget a WebApp that is gone."""
        self._attempts.forget(key)
        self._deleted.pop(key, None)

    async def remove_unwanted(
        self, webapp: WebApp, wanted: Collection[str], *, rolled_out: bool, patient: bool
    ) -> list[Result]:
        """Delete the children that are not `wanted`, each given as kind/name; those that pods need, once `rolled_out`.

        Returns:
            One result for each child whose deletion failed.

        Raises:
            OutOfDate: the WebApp is no longer as it was.
            Ending: the operator is about to end.
            Refused: the namespace is being deleted.
        """
        key = Key(webapp.namespace, webapp.name)
        found = [child for child in self._store.objects_of(key, *_REMOVABLE) if _place(child) not in wanted]
        deleted = self._deleted.get(key, set()) & {child.uid for child in found}
        self._deleted[key] = deleted
        self._attempts.retain(key, {_place(child) for child in found})
        failed = []
        for child in found:
            if not _removable(webapp, child) or child.uid in deleted or not (child.kind is SERVICE or rolled_out):
                continue
            try:
                await self._freshness.before_a_write(webapp)
                await self._remove(key, child)
            except RequestFailed as error:
                if concerns_all(error):
                    raise
                failed.append(self._failed(key, child, error, patient=patient))
        return failed

    async def _remove(self, key: Key, child: Projection) -> None:
        try:
            await self._writer.remove(child)
        except Refused as error:
            if error.status != 404 or error.by_admission:
                raise
        self._deleted.setdefault(key, set()).add(child.uid)
        self._attempts.succeeded(key, _place(child))
        log.info("removed %s %s, which is no longer wanted", child.kind, child.name)

    def _failed(self, key: Key, child: Projection, error: RequestFailed, *, patient: bool) -> Result:
        failures = self._attempts.failed(key, _place(child))
        refused = isinstance(error, Refused) and (error.status == 403 or error.by_admission)
        if not refused and (patient or failures <= PATIENCE):
            state = retried(there=True)
        else:
            log.warning("%s %s can't be removed: %s", child.kind, child.name, error)
            state = not_removed(error.message if isinstance(error, Refused) else str(error))
        return Result(Child(child.kind.kind, child.name, state), failed=error)


def _place(child: Projection) -> str:
    return f"{child.kind.kind}/{child.name}"


def _removable(webapp: WebApp, child: Projection) -> bool:
    """Tell whether a child may be deleted: ours by label and reference, written by us, and not going already."""
    referred = child.controller is not None and child.controller.uid == webapp.uid
    return referred and child.label == webapp.name and child.owned is not None and not child.going
