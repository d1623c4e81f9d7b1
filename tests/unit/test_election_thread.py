"""The end of a process whose release of the Lease gets no answer, in virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from coxswain.kernel.election.election import LeaseElection
from coxswain.kernel.election.slot_election import SlotElection
from coxswain.settings import ElectionSettings, Settings
from model_cluster.virtual import run
from unit.leases import virtual_loop

LIMIT = 10.0
"""Seconds from SIGTERM to the exit, in docs/high-availability.md and the manifests."""
DRAIN = Settings().drain_timeout


async def connect() -> Any:
    raise NotImplementedError


async def hung(_: str, __: Callable[[asyncio.Event], Coroutine[Any, Any, None]], ___: asyncio.Event) -> None:
    """Run a thread that never ends."""
    await asyncio.Event().wait()


@pytest.mark.parametrize("drain", [0.0, 3.0, 0.95 * DRAIN, DRAIN])
@pytest.mark.parametrize("kind", [LeaseElection, partial(SlotElection, count=6)])
def test_the_release_shares_the_time_of_the_drain(kind: Any, drain: float) -> None:
    async def body() -> None:
        clock = asyncio.get_running_loop().time
        async with kind(connect, "ns", "coxswain", ElectionSettings(), clock=clock, run=hung) as election:
            begun = clock()
            election.ending()
            await asyncio.sleep(drain)
            drained = clock()
        assert clock() - begun <= LIMIT
        assert clock() - drained >= 1.0, "the usual release needs some milliseconds"
        assert clock() - begun >= DRAIN, "a slow API server still has the rest of the drain"

    run(virtual_loop(), body())


def test_an_end_without_a_drain_is_limited_too() -> None:
    async def body() -> None:
        clock = asyncio.get_running_loop().time
        async with LeaseElection(connect, "ns", "coxswain", ElectionSettings(), clock=clock, run=hung):
            begun = clock()
        assert clock() - begun < LIMIT

    run(virtual_loop(), body())
