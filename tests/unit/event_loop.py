"""One event loop for the reconciles of all tests. `asyncio.run` makes a new one, which takes as long as a reconcile."""

import asyncio
import atexit
import functools
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    return loop


def run(body: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end.

    Raises:
        AssertionError: it has left a task behind, which would run on in the next test.
    """
    loop = _loop()
    found = loop.run_until_complete(body)
    assert not asyncio.all_tasks(loop)
    return found
