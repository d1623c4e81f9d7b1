"""The time scale: shortens the waits of the suite and the timeouts of the operator by the same factor.

Times that are compared with each other must shrink together: an outage of ten minutes and a resync of ten minutes, the
silence of a connection and the timeout that detects it.
"""

from dataclasses import dataclass

USUAL = 0.1
"""The scale that the timeouts of scripts are written for."""
QUIET_MARGIN_SECONDS = 1.0
"""For a retry's own duration. The retry's jitter only makes it shorter."""


@dataclass(frozen=True)
class Scale:
    """How much shorter than in the table of faults a wait is."""

    factor: float = 1.0

    def seconds(self, table: float, least: float = 0.0) -> float:
        """Return the scaled length of a wait."""
        return min(table, max(table * self.factor, least))

    def patience(self, seconds: float) -> float:
        """Return the timeout for an expected result: `seconds` at the usual scale of a tenth, more at a larger scale.

        The order of timeouts stays: longer than the longest retry, shorter than the resync.
        """
        return seconds * max(1.0, self.factor / USUAL)
