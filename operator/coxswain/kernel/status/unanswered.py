"""Status writes without an answer: the API server may have carried them out, although the connection broke.

Each write has the resourceVersion of the parent as a precondition. So a newer parent shows which of them took
effect, if any.
"""

from collections.abc import Sequence

from coxswain.kernel.status.conflict_report import Repair

_LIMIT = 10
"""Maximum writes, the latest ones: during an outage each retry may send another status."""


class UnansweredWrites:
    """The status writes for one resourceVersion of a parent that were sent and not answered with success.

    Call `settle` with each observed parent before `sent`.
    """

    def __init__(self) -> None:
        self._version = 0
        self._repairs: dict[str, tuple[Repair, ...]] = {}
        """The repairs in each status, by its fingerprint."""

    def __len__(self) -> int:
        return len(self._repairs)

    def sent(self, version: int, fingerprint: str, repairs: Sequence[Repair]) -> None:
        """Record a status before it is sent.

        A refusal does not end this: a repeated write conflicts with its predecessor if that took effect.

        Args:
            version: the resourceVersion of the parent.
            fingerprint: the fingerprint of the status.
            repairs: the repairs that this status adds to `drift`.
        """
        self._version = version
        self._repairs.pop(fingerprint, None)
        self._repairs[fingerprint] = tuple(repairs)
        for oldest in list(self._repairs)[:-_LIMIT]:
            del self._repairs[oldest]

    def answered(self) -> None:
        """Forget all writes after a success: a former one can no longer take effect."""
        self._repairs = {}

    def settle(self, version: int, fingerprint: str) -> tuple[Repair, ...] | None:
        """Return the repairs in the write that took effect, given the observed parent; None without such a write.

        A newer parent decides all writes, so they are forgotten.
        """
        if version <= self._version:
            return None
        repairs = self._repairs.get(fingerprint)
        self._repairs = {}
        return repairs
