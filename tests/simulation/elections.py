"""The operator's elections without threads: main loop and elector are two groups of tasks in one event loop."""

import asyncio
import contextvars
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from coxswain.kernel.election.changes import Change
from coxswain.kernel.election.election import LeaseElection
from coxswain.kernel.election.election_thread import RunInThread
from coxswain.kernel.election.slot_election import SlotElection
from coxswain.kernel.election.slots import WHOLE, Slot, slot_number
from coxswain.settings import ElectionSettings
from model_cluster.virtual import GROUP

LEASE_NAMESPACE, LEASE_NAME = "coxswain-system", "coxswain"


def new_election(
    connect: Callable[[], Awaitable[Any]],
    settings: ElectionSettings,
    *,
    slots: int,
    run: RunInThread,
    groups: tuple[int, int],
) -> LeaseElection | SlotElection:
    """Return the election of one process.

    Args:
        connect: returns the transport of the elector.
        settings: the durations.
        slots: the number of slots.
        run: runs the elector beside the main loop.
        groups: the numbers of the main loop and of the elector.
    """
    clock = asyncio.get_running_loop().time
    if slots == 1:
        return LeaseElection(connect, LEASE_NAMESPACE, LEASE_NAME, settings, clock=clock, run=run)
    election = _SlotElection(connect, LEASE_NAMESPACE, LEASE_NAME, settings, count=slots, clock=clock, run=run)
    election.groups = groups
    return election


class _SlotElection(SlotElection):
    """Main loop and elector call each other as threads do: a paused one handles the call when it continues."""

    groups = (0, 0)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.reported: Counter[str] = Counter()
        """The number of changes, by name."""

    def _in_thread(self, call: Callable[[Slot], None], slot: Slot) -> None:
        _call_in_group(self.groups[1], call, slot)

    def _report(self, change: Change) -> None:
        self.reported[type(change).__name__] += 1
        _call_in_group(self.groups[0], self._hear, change)


def _call_in_group(group: int, call: Callable[..., None], *arguments: Any) -> None:
    context = contextvars.copy_context()
    context.run(GROUP.set, group)
    asyncio.get_running_loop().call_soon(call, *arguments, context=context)


@cache
def slot_of(namespace: str, count: int) -> int:
    """Return the number of the slot of a namespace."""
    return slot_number(namespace, count) if count > 1 else WHOLE.number


@cache
def namespace_of(slot: int, count: int) -> str:
    """Return a namespace of a slot, to ask for the leader of a slot without WebApps."""
    names = map("namespace-{}".format, range(100_000))
    return next(name for name in names if slot_of(name, count) == slot)


def lease_name(slot: int | None, count: int) -> str:
    """Return the name of the Lease of a slot; None is the Lease that all replicas share."""
    return LEASE_NAME if slot is None else Slot(slot, count).lease_name(LEASE_NAME)
