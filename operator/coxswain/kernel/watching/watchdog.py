"""Restarts all watches when one of them is silent."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping

from coxswain.kernel.cache.coverage import Scope, describe
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.kernel.watching.supervisor import Supervisor

log = logging.getLogger(__name__)


class Watchdog:
    """Acts on silent watches while Kopf runs, and describes them for the probes. Without Kopf, silence is expected."""

    def __init__(
        self,
        liveness: WatchLiveness,
        supervisor: Supervisor,
        silence_timeout: float,
        *,
        lost: Callable[[Collection[Scope]], None],
    ) -> None:
        """Restart the watches of `supervisor` if one is silent for longer than `silence_timeout` seconds.

        `lost` is called with the silent watches before the restart is requested: the shutdown of Kopf may take long.
        """
        self._liveness = liveness
        self._supervisor = supervisor
        self._silence_timeout = silence_timeout
        self._lost = lost

    async def run(self) -> None:
        """Check the watches until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            before = clock()
            await asyncio.sleep(self._silence_timeout / 20)
            if clock() - before > self._silence_timeout / 2:
                # The process itself was suspended, so silence says nothing about the watches.
                self._liveness.begin()
            if self._supervisor.obstacle is not None:
                continue
            silent = self._described(self._liveness.mark_restarts())
            if silent:
                log.warning("%s; restarting all watches", ", ".join(sorted(silent.values())))
                self._lost(silent.keys())
                self._supervisor.restart()

    def silent(self) -> dict[Scope, str]:
        """Return the silent watches with a description."""
        return self._described(self._liveness.silent())

    def dead(self) -> dict[Scope, str]:
        """Return the watches that are still silent after a restart of Kopf, with a description."""
        return self._described(self._liveness.dead())

    def _described(self, silent: Mapping[Scope, float]) -> dict[Scope, str]:
        if self._supervisor.obstacle is not None:
            return {}
        return {scope: f"{describe(scope)} silent for {seconds:.0f} s" for scope, seconds in silent.items()}
