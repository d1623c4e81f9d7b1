"""The content of an Event: one to post, or one that was read."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class EventRecord:
    """The reason, action, note and type of an Event."""

    reason: str
    action: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(frozen=True)
class ReportedEvent:
    """The reason and note of a Warning that another client has posted."""

    reason: str
    note: str
