"""Event loops that end without waiting for threads.

The executor of an event loop resolves host names in threads with getaddrinfo. This call cannot be interrupted and takes
up to 30 s with an unresponsive DNS server. asyncio.run would wait for it.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class _Executor(ThreadPoolExecutor):
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        super().shutdown(wait=False, cancel_futures=True)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine like asyncio.run, but do not join the executor's threads at the end."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(body)


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Executor(thread_name_prefix="lookup"))
    return loop
