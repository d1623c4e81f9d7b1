"""Causes of pods that are not ready: the result of each diagnosis."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from coxswain.kernel.objects.quote import abridged, quoted, without_numbers

_POD_ASIDE = re.compile(r' \(pod: "[^"]*", container: [^)]*\)')
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class Rank(IntEnum):
    """Rank of a cause. Report the first one: it is least likely to resolve by retrying."""

    NOT_MADE = 0
    CRASHES = 1
    UNSCHEDULED = 2
    NOT_PREPARED = 3
    UNREADY = 4
    FAILED = 5
    NOT_ENDED = 6


@dataclass(frozen=True)
class Cause:
    """Cause of a pod that is not ready: reason, message text, and a quotation of Kubernetes or the program."""

    rank: Rank
    reason: str
    text: str
    quotation: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """Equal for all pods with this cause. Their quotations may differ."""
        return (self.reason, self.text)

    @property
    def order(self) -> tuple[int, str, str, str, str]:
        """Sort key. Report the cause with the lowest one."""
        return (self.rank, self.reason, self.text, without_numbers(quoted("", self.quotation)), self.quotation)


@dataclass(frozen=True)
class Finding:
    """The result of a diagnosis: a cause, or none yet."""

    cause: Cause | None = None
    until: datetime | None = None
    """When to repeat the diagnosis without an event."""
    final_at: datetime | None = None
    """When the cause counts as final: only another spec helps. None if it may resolve."""


def message_of(state: Mapping[str, Any], pod: str) -> str:
    """Return the message of a state without the pod's name."""
    return abridged(_POD_ASIDE.sub("", state.get("message") or "").replace(pod or "\n", "the pod"))


def word(reason: str | None, otherwise: str) -> str:
    """Return a reason if it is one word, as conditions require. The kubelet's reason may be any error text."""
    return reason if reason and _WORD.fullmatch(reason) else otherwise
