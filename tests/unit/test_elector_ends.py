"""The end of a process whose acquisition of the Lease is in flight, in virtual time."""

import asyncio
import gc
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused
from model_cluster.virtual import run
from unit.leases import SETTINGS, Candidate, LeaseServer, overlaps, virtual_loop

SOON = SETTINGS.retry_period + 1.0
LATENCY = 0.05


class Handover:
    """A released Lease, and two candidates for it."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed).random
        self.server = LeaseServer(latency=LATENCY)
        self.old, *self.others = (Candidate(name, self.server, chance) for name in "abc")

    @property
    def holder(self) -> str:
        return str(self.server.stored["spec"]["holderIdentity"]) if self.server.stored else ""

    async def begin(self) -> None:
        """Start all, and release the Lease."""
        self.old.start()
        await self.until(lambda: self.old.leads)
        for each in self.others:
            each.start()
        await asyncio.sleep(5.3)
        await self.old.terminate()

    async def until(self, check: Callable[[], bool], seconds: float = 20.0) -> float:
        clock = asyncio.get_running_loop().time
        begun = clock()
        while not check():
            await asyncio.sleep(0.005)
            assert clock() - begun < seconds, f"{self.holder} holds the Lease"
        return clock() - begun

    async def stored(self) -> tuple[Candidate, Candidate]:
        """Wait until the server has stored an acquisition whose response is on its way. Return both candidates."""
        await self.until(lambda: bool(self.holder))
        [new] = [each for each in self.others if self.holder.startswith(each.name)]
        [other] = [each for each in self.others if each is not new]
        assert not new.leads
        return new, other


def virtually(body: Callable[[Handover], Coroutine[None, None, None]]) -> None:
    for seed in range(3):
        handover = Handover(seed)

        async def main(handover: Handover = handover) -> None:
            await body(handover)

        run(virtual_loop(), main())
        assert overlaps([handover.old, *handover.others]) == []


def test_an_acquisition_in_flight_is_released() -> None:
    async def body(handover: Handover) -> None:
        await handover.begin()
        new, other = await handover.stored()
        await new.terminate()
        assert handover.holder == ""
        await handover.until(lambda: other.leads, SOON)

    virtually(body)


def test_an_acquisition_that_arrives_after_the_signal_is_released() -> None:
    async def body(handover: Handover) -> None:
        await handover.begin()
        new, other = handover.others
        other.kill()
        new.faults.late = 1.0
        read = len(handover.server.requests)
        await handover.until(lambda: len(handover.server.requests) > read)
        await asyncio.sleep(LATENCY + 0.5)
        assert handover.holder == ""
        await new.terminate()
        await asyncio.sleep(3)
        assert ("b", "PUT") in handover.server.requests
        assert handover.holder == ""

    virtually(body)


def test_an_acquisition_whose_response_was_lost_is_released() -> None:
    async def body(handover: Handover) -> None:
        await handover.begin()
        execute = handover.server.execute

        def lossy(method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
            for each in handover.others:
                each.faults.loses_answers = method == "PUT"
            return execute(method, body)

        handover.server.execute = lossy  # type: ignore[method-assign]
        new, other = await handover.stored()
        other.kill()
        handover.server.execute = execute  # type: ignore[method-assign]
        await asyncio.sleep(SETTINGS.request_timeout)
        new.faults.loses_answers = False
        assert handover.holder.startswith(new.name)
        await new.terminate()
        assert handover.holder == ""

    virtually(body)


@pytest.mark.parametrize("hangs", [True, False])
def test_a_standby_sends_nothing_at_its_end(hangs: bool) -> None:
    async def body(handover: Handover) -> None:
        handover.old.start()
        await handover.until(lambda: handover.old.leads)
        standby, _ = handover.others
        standby.start()
        await asyncio.sleep(5)
        standby.faults.hangs = hangs
        await asyncio.sleep(4)
        clock = asyncio.get_running_loop().time
        begun, sent = clock(), len(handover.server.requests)
        await standby.terminate()
        assert clock() == begun
        assert len(handover.server.requests) == sent

    virtually(body)


def test_a_refusal_after_the_signal_is_not_logged_as_lost() -> None:
    """Nobody waits for the write of a cancelled election. Found by the simulation, slots, seed 312."""
    lost: list[dict[str, Any]] = []

    async def body(handover: Handover) -> None:
        await handover.begin()
        _, other = await handover.stored()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
        await other.terminate()
        gc.collect()

    virtually(body)
    assert lost == []


class Refusals:
    """Refuses the first writes from now on."""

    def __init__(self, server: LeaseServer, error: Refused, number: int) -> None:
        self.left = number
        self._error = error
        self._execute = server.execute
        server.execute = self._refused  # type: ignore[method-assign]

    def _refused(self, method: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        if method == "PUT" and self.left:
            self.left -= 1
            raise self._error
        return self._execute(method, body)


async def ended(handover: Handover, error: Refused, number: int) -> float:
    """End the leader while its writes are refused; return the seconds of its release."""
    handover.old.start()
    await handover.until(lambda: handover.old.leads)
    handover.others[0].start()
    await asyncio.sleep(5.3)
    refusals = Refusals(handover.server, error, number)
    clock = asyncio.get_running_loop().time
    begun = clock()
    await handover.old.terminate()
    refusals.left = 0
    return clock() - begun


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (Refused(500, {"message": "etcdserver: leader changed"}), 1.0),
        (Refused(503, {"message": "apiserver is shutting down"}), 1.0),
        (Refused(429, {"message": "too many requests"}, retry_after="1"), 2.0),
        (Refused(409, {"reason": "Conflict"}), 1.0),
    ],
    ids=str,
)
def test_a_release_that_is_refused_once_is_repeated(error: Refused, seconds: float) -> None:
    async def body(handover: Handover) -> None:
        assert (error.retry_after or 0.0) < await ended(handover, error, 1) < seconds
        assert handover.holder == ""
        await handover.until(lambda: handover.others[0].leads, SOON)

    virtually(body)


@pytest.mark.parametrize(
    ("error", "number", "shortest", "longest"),
    [
        (Refused(500, {"message": "broken"}), 1000, 8.0, 9.5),
        (Refused(409, {"reason": "Conflict"}), 1000, 8.0, 9.5),
        (Refused(429, {"message": "busy"}, retry_after="30"), 1, 0.0, 0.5),
        (Refused(422, {"message": "invalid"}), 1, 0.0, 0.5),
    ],
    ids=str,
)
def test_a_release_that_cannot_succeed_ends(
    error: Refused, number: int, shortest: float, longest: float, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(handover: Handover) -> None:
        assert shortest <= await ended(handover, error, number) < longest
        assert handover.holder == handover.old.elector._identity
        failed = [each for each in caplog.messages if each.endswith(f"failed, others wait for the expiry: {error}")]
        assert failed == [f"releasing the Lease coxswain-system/coxswain failed, others wait for the expiry: {error}"]
        caplog.clear()

    virtually(body)
