"""Event loops that end without waiting for threads.

Python looks up host names in threads of the event loop's executor, by getaddrinfo, which nothing can interrupt. With a
DNS server that is silent it takes up to 30 s, and asyncio.run waits for it.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class _Executor(ThreadPoolExecutor):
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        super().shutdown(wait=False, cancel_futures=True)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine as asyncio.run does, but leave threads to themselves at the end."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(body)


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Executor(thread_name_prefix="lookup"))
    return loop
