"""The pauses requested by the API server."""

import asyncio

from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.throttle import Throttle


def refused(retry_after: str) -> Refused:
    return Refused(429, {"reason": "TooManyRequests"}, retry_after=retry_after)


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    async def body() -> float:
        throttle = Throttle(in_flight=1, chance=lambda: 0.0)
        throttle.refused(refused("0.4"), writing=True)
        throttle.refused(refused("0.05"), writing=True)
        clock = asyncio.get_running_loop().time
        begun = clock()
        async with throttle.turn(writing=True):
            return clock() - begun

    assert asyncio.run(body()) >= 0.35


def test_requests_start_within_a_quarter_of_the_pause_after_it() -> None:
    async def body() -> float:
        throttle = Throttle(in_flight=1, chance=lambda: 1.0)
        throttle.refused(refused("0.2"), writing=False)
        clock = asyncio.get_running_loop().time
        begun = clock()
        async with asyncio.timeout(10), throttle.turn(writing=False):
            return clock() - begun

    assert asyncio.run(body()) >= 0.25


def test_a_429_by_a_webhook_pauses_no_other_request() -> None:
    """A webhook for one namespace could stop the writes of all namespaces for up to a minute, again and again."""

    async def body() -> float:
        throttle = Throttle(in_flight=1, chance=lambda: 0.0)
        denial = 'admission webhook "quota.example" denied the request: wait'
        throttle.refused(Refused(429, {"message": denial}, retry_after="0.4"), writing=True)
        clock = asyncio.get_running_loop().time
        begun = clock()
        async with throttle.turn(writing=True):
            return clock() - begun

    assert asyncio.run(body()) < 0.35
