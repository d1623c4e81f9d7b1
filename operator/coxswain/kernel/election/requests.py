"""Timeouts of the requests of an election, and their retries at the end of a process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from coxswain.kernel.api.errors import ErrorClass, RequestFailed, Unreachable

log = logging.getLogger(__name__)

_T = TypeVar("_T")

SPREAD = 0.1
"""Maximum seconds before a write that competes with those of other processes, so that they do not collide again."""
_SHORTEST, _LONGEST = 0.3, 0.5
"""Bounds of the seconds between two attempts after a transient error. The process has 9 s for its end, and 1 s after a
long drain."""


class NoAnswer(Unreachable):
    """The API server has not answered in time."""


async def within(seconds: float, request: Awaitable[_T]) -> _T:
    """Return the response to a request.

    Raises:
        NoAnswer: there is none within `seconds`.
    """
    try:
        async with asyncio.timeout(seconds):
            return await request
    except TimeoutError as error:
        raise NoAnswer(f"no answer within {seconds:.3g} s") from error


async def retry(
    attempt: Callable[[], Awaitable[None]],
    action: str,
    seconds: float,
    *,
    clock: Callable[[], float],
    chance: Callable[[], float],
) -> None:
    """Repeat an attempt until it succeeds or the time is over. A failure is logged, not raised.

    Args:
        attempt: reads the current state and writes. Raises `RequestFailed`.
        action: what it does, for the log.
        seconds: begin no attempt later. The last one may take longer.
        clock: returns monotonic seconds.
        chance: returns random numbers from 0 to 1 for the jitter.
    """
    until, reported = clock() + seconds, ""
    while True:
        try:
            await attempt()
            return
        except RequestFailed as error:
            delay = _delay(error, chance())
            if error.error_class is ErrorClass.TERMINAL or clock() + delay >= until:
                log.warning("%s failed, others wait for the expiry: %s", action, error)
                return
            is_news = error.error_class is not ErrorClass.CONFLICT and str(error) != reported
            log.log(logging.WARNING if is_news else logging.DEBUG, "%s failed, retrying: %s", action, error)
            reported = str(error)
        await asyncio.sleep(delay)


def _delay(error: RequestFailed, chance: float) -> float:
    """Return the seconds until the next attempt."""
    if error.error_class is ErrorClass.CONFLICT:
        return SPREAD * chance
    return (error.retry_after or 0.0) + _SHORTEST + (_LONGEST - _SHORTEST) * chance
