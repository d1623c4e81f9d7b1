"""Freshness: whether the store's WebApp is the present one, where something may have been done for a later one.

Watches catch up in any order. After a start, where those of the children are ahead, a WebApp of the past would be
brought about over what its present asked for; of which generation the operator before this one knew, nobody tells. So
the first write for a WebApp that someone has worked on waits for a look at it: a GET without a resourceVersion is
answered with the most recent state, whatever the watches say
(https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
"""

from coxswain.kernel.api.errors import OutOfDate, Refused
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import CHILDREN, WEBAPP
from coxswain.webapp.spec import WebApp


class GenerationGuard:
    """Which WebApps this process has looked at, or was the first to work on."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer
        self._uids: dict[Key, str] = {}
        """The WebApps that this process has looked at, or was the first to work on."""
        self._doubted: dict[Key, int] = {}
        """Of these, what may have changed in a gap of a watch: the newest resourceVersion of WebApps before it."""

    async def before_a_write(self, webapp: WebApp) -> None:
        """Look at a WebApp before the first write for it, unless nobody has worked on it yet.

        Raises:
            OutOfDate: it has changed or is gone; if it has changed, the store knows it now.
            RequestFailed: it could not be looked at.
        """
        key = Key(webapp.namespace, webapp.name)
        known = self._uids.get(key) == webapp.uid
        if known and not self._is_doubted(key):
            return
        if known or self._was_worked_on(key):
            await self.check(webapp)
        self._trust(key, webapp.uid)

    async def check(self, webapp: WebApp) -> None:
        """Look at a WebApp.

        Raises:
            OutOfDate: it has changed or is gone; if it has changed, the store knows it now.
            RequestFailed: it could not be looked at.
        """
        key = Key(webapp.namespace, webapp.name)
        try:
            found = await self._writer.look_at_webapp(webapp)
        except Refused as error:
            if error.status != 404:
                raise
            raise OutOfDate(f"WebApp {key} is gone, and its DELETED is on the way") from error
        self._store.observe(found)
        self._trust(key, found.uid)
        if (found.uid, found.content["metadata"]["generation"]) != (webapp.uid, webapp.generation):
            raise OutOfDate(f"WebApp {key} has changed since generation {webapp.generation}")

    def forget(self, key: Key) -> None:
        """Forget a WebApp that is gone."""
        self._uids.pop(key, None)
        self._doubted.pop(key, None)

    def start_over(self) -> None:
        """Trust no WebApp of the store: history ran backwards."""
        self._uids.clear()
        self._doubted.clear()

    def distrust(self) -> None:
        """Trust no WebApp of the store that does not change from now on: a watch has a gap."""
        self._doubted = dict.fromkeys(self._uids, self._store.newest(WEBAPP))

    def _trust(self, key: Key, uid: str) -> None:
        self._uids[key] = uid
        self._doubted.pop(key, None)

    def _is_doubted(self, key: Key) -> bool:
        observed = self._store.webapp(key)
        newest_before = self._doubted.get(key)
        return newest_before is not None and (observed is None or observed.version <= newest_before)

    def _was_worked_on(self, key: Key) -> bool:
        observed = self._store.webapp(key)
        told = observed is not None and observed.content["status"].get("observedGeneration", 0) > 0
        return told or bool(self._store.objects_of(key, *CHILDREN))
