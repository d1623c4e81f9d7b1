"""Statuses that another process overwrites: written again a few times, then left alone for a while.

Two operators of different versions say different things of one WebApp. Each would write its status over the other's for
ever, at the speed of the watches.
"""

from coxswain.kernel.api.events import EventRecord
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.kinds import WEBAPP
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.write_wars import WriteWars
from coxswain.webapp.conditions import fingerprint
from coxswain.webapp.spec import Manifest

_STATUS = ("f:status",)

_TOLD = EventRecord(
    "Contested",
    "WriteStatus",
    "status is overwritten as often as coxswain writes it, so it is left alone for a while; the probable cause is a "
    "second coxswain operator that serves this namespace: leave only one of them running",
    "Warning",
)


class Overwritten:
    """The statuses that this process wrote last, as fingerprints, and who fights over them."""

    def __init__(self, contests: WriteWars) -> None:
        self._contests = contests
        self._written: dict[Key, tuple[str, str]] = {}

    def is_left_alone(self, key: Key, webapp: Projection) -> bool:
        """Tell whether the status is another's and is to stay so for now; a new generation ends that."""
        return self._by_another(key, webapp) and bool(self._contests.held_off(key, _manifest(webapp)))

    def written(self, key: Key, before: Projection, after: Projection | None) -> list[EventRecord]:
        """Note that a status was written; return the Event that tells if it is left alone from now on."""
        fought = self._by_another(key, before)
        if after is not None:
            self._written[key] = after.uid, fingerprint(after.content.get("status", {}))
        if not fought:
            return []
        self._contests.took_back(key, _manifest(before), [_STATUS])
        return [_TOLD] if self._contests.held_off(key, _manifest(before)) else []

    def clear(self) -> None:
        """Forget all WebApps."""
        self._written.clear()

    def forget(self, key: Key) -> None:
        """Forget a WebApp that is gone."""
        self._written.pop(key, None)

    def _by_another(self, key: Key, webapp: Projection) -> bool:
        uid, written = self._written.get(key, ("", ""))
        return uid == webapp.uid and written != fingerprint(webapp.content.get("status", {}))


def _manifest(webapp: Projection) -> Manifest:
    """Return the status as something to be contested: a new generation is a new intent."""
    metadata = webapp.content["metadata"]
    return {"kind": WEBAPP.kind, "metadata": {"name": webapp.name}, "status": metadata.get("generation", 0)}
