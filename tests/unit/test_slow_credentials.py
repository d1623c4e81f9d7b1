"""Credentials that take long to read, for example by an exec plugin, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from coxswain.kernel.api.connection import Connection
from coxswain.kernel.api.credentials import ClientConfig
from coxswain.settings import ElectionSettings
from model_cluster.virtual import run
from unit.leases import virtual_loop

SECONDS = 7.0
"""The duration of a read."""
INTERVAL = 60.0
OLD, NEW = "Bearer t0", "Bearer t1"


class Slow:
    """A source of credentials that returns another token after each read."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.begun: list[bool] = []
        """Whether each read is a renewal."""
        self.cancelled = 0

    async def read(self, *, renew: bool = False) -> ClientConfig:
        self.begun.append(renew)
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return ClientConfig("http://127.0.0.1:1", f"Bearer t{len(self.begun)}")


def playing(body: Callable[[Slow, Connection], Awaitable[None]], seconds: float = SECONDS) -> None:
    async def whole() -> None:
        source = Slow(seconds)
        await body(source, Connection(source, ClientConfig("http://127.0.0.1:1", OLD), interval=INTERVAL))

    run(virtual_loop(), whole())


async def within(seconds: float, made: Connection) -> str | None:
    """Return the Authorization header of a request with a timeout."""
    async with asyncio.timeout(seconds):
        return await made.authorization()


def test_a_request_that_gives_up_does_not_interrupt_a_renewal() -> None:
    """Otherwise each request would start the plugin anew, and none would get a token."""

    async def body(source: Slow, made: Connection) -> None:
        made.invalidate()
        with pytest.raises(TimeoutError):
            await within(1.0, made)
        await asyncio.sleep(SECONDS - 3.0)
        assert await made.authorization() == NEW
        assert source.begun == [True], "one read, by both requests"

    playing(body)


def test_all_requests_wait_for_a_renewal() -> None:
    """The API server would refuse their old token."""

    async def body(source: Slow, made: Connection) -> None:
        made.invalidate()
        assert await asyncio.gather(*(made.authorization() for _ in range(3))) == [NEW] * 3
        assert source.begun == [True]

    playing(body, seconds=2.0)


def test_a_renewal_that_hangs_delays_no_request_beyond_its_timeout() -> None:
    """The rejection may have been wrong: the leader renews its Lease with the old token."""
    timeout = ElectionSettings().request_timeout

    async def body(source: Slow, made: Connection) -> None:
        made.invalidate()
        assert await within(timeout, made) == OLD
        assert await within(timeout, made) == OLD
        await asyncio.sleep(SECONDS)
        assert await within(timeout, made) == NEW
        assert source.begun == [True]

    playing(body)


def test_a_periodic_read_delays_a_request_by_a_second_at_most() -> None:
    """The old token still works. A slow plugin must not cost a leader its Lease."""

    async def body(source: Slow, made: Connection) -> None:
        await asyncio.sleep(INTERVAL)
        assert await within(1.1, made) == OLD
        await asyncio.sleep(SECONDS)
        assert await within(0.0, made) == NEW
        assert source.begun == [False]

    playing(body)


def test_a_token_refused_during_a_periodic_read_waits_for_its_end() -> None:
    async def body(source: Slow, made: Connection) -> None:
        await asyncio.sleep(INTERVAL)
        assert await made.authorization() == OLD
        made.invalidate()
        await asyncio.sleep(SECONDS - 3.0)
        assert await made.authorization() == NEW
        assert await made.authorization() == NEW
        assert source.begun == [False], "the renewal is done"

    playing(body)


def test_a_read_ends_with_the_session() -> None:
    async def body(source: Slow, made: Connection) -> None:
        session = made.session("test")
        made.invalidate()
        with pytest.raises(TimeoutError):
            await within(1.0, made)
        await session.close()
        await asyncio.sleep(0)
        assert source.cancelled == 1

    playing(body)
