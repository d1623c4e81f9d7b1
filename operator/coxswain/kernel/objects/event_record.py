"""The content of an Event."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class EventRecord:
    """What an Event tells."""

    reason: str
    action: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"
