"""The content of an Event."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class EventRecord:
    """The reason, action, note and type of an Event."""

    reason: str
    action: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"
