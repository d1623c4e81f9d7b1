"""The changes of what a process leads, as its main loop sees them."""

from dataclasses import dataclass

from coxswain.kernel.election.slots import Slot


@dataclass(frozen=True)
class Acquired:
    """The process leads a slot."""

    slot: Slot


@dataclass(frozen=True)
class Surplus:
    """A slot is to be given back: begin no reconciles, wait for those in flight, and call `Election.drained`."""

    slot: Slot


@dataclass(frozen=True)
class Dropped:
    """The process does not lead a slot any more. In-flight reconciles cannot write."""

    slot: Slot


Change = Acquired | Surplus | Dropped
