"""WebApps that the API server's trouble keeps from being reconciled, of which one looks whether it is over.

Each waits longer after each failure, so after an outage of minutes the next try would be a minute away, and nothing
else tells that the server answers again: the watches may have stayed open. All of them looking every few seconds would
be a crowd that the server has to turn away.
"""

from coxswain.kernel.cache.store import Key


class RecoveryProbe:
    """Keys whose last attempt failed by the server's fault."""

    def __init__(self) -> None:
        self._met: dict[Key, None] = {}

    def clear(self) -> None:
        """Forget all keys."""
        self._met.clear()

    def met_by(self, key: Key) -> None:
        """Note that an attempt failed; it looks again after all others have."""
        self._met.pop(key, None)
        self._met[key] = None

    def still_met_by(self, key: Key) -> None:
        """Note that an attempt of a key failed in some way: if the server had failed it before, others look first."""
        if key in self._met:
            self.met_by(key)

    def over_for(self, key: Key) -> list[Key]:
        """Note an attempt that succeeded; return the others that needn't wait any longer, if it had failed before."""
        if key not in self._met:
            return []
        others = [other for other in self._met if other != key]
        self._met.clear()
        return others

    @property
    def scout(self) -> Key | None:
        """The key that should look next: it did so the longest time ago."""
        return next(iter(self._met), None)
