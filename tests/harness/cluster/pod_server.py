"""One HTTP server in place of the containers of all pods: KWOK runs none.

It answers at the address of a pod while the pod is Ready and, after its termination begins, during its preStop sleep. A
kubelet stops the container then. After that, and at any other address, connections are reset.
"""

import asyncio
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from math import inf
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

from cluster.control_plane import ControlPlane

ANSWER_SECONDS = 0.02
"""The time for a response. With several clients, one of them nearly always waits for it, so a reset is noticed."""
RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER for a reset at the close."""
START_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Container:
    """The container of a pod: its answer, its readiness and its end."""

    pod: str
    text: str
    ready: bool
    sleep_seconds: float
    ends_at: float = inf


class Containers:
    """The containers of the pods, by address. A pod may get the address of an earlier one."""

    def __init__(self) -> None:
        self._by_address: dict[str, Container] = {}

    def observe(self, event: Mapping[str, Any], now: float) -> None:
        """Take in a watch event of a pod."""
        if event["type"] not in {"ADDED", "MODIFIED", "DELETED"}:
            return
        pod = event["object"]
        address = pod.get("status", {}).get("podIP")
        if address is None:
            return
        container = _container(pod)
        before = self._by_address.get(address)
        is_same = before is not None and before.pod == container.pod
        if event["type"] == "DELETED" or "deletionTimestamp" in pod["metadata"]:
            if before is not None and is_same:
                self._by_address[address] = replace(before, ends_at=min(before.ends_at, now + before.sleep_seconds))
        elif before is None or not is_same or before.ends_at == inf:
            self._by_address[address] = container

    def answer(self, address: str, now: float) -> str | None:
        """Return the answer of the container at an address; None if none serves there."""
        container = self._by_address.get(address)
        return container.text if container is not None and container.ready and now < container.ends_at else None


def _container(pod: Mapping[str, Any]) -> Container:
    container = pod["spec"]["containers"][0]
    sleep = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    version = container["image"].rpartition(":")[2]
    ready = any((each["type"], each["status"]) == ("Ready", "True") for each in pod["status"].get("conditions", []))
    return Container(pod["metadata"]["uid"], f"{version} {pod['metadata']['name']}", ready, float(sleep))


class PodServer:
    """The server for the time of a `with`, on ports of every address of this network namespace."""

    def __init__(self, plane: ControlPlane, ports: Sequence[int]) -> None:
        self.containers = Containers()
        self._plane = plane
        self._ports = ports
        self._started: Future[None] = Future()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._main(),), daemon=True)
        self._stop = asyncio.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result(START_TIMEOUT_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _main(self) -> None:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._respond)
        runner = web.AppRunner(application, access_log=None)
        watch = asyncio.create_task(self._watch())
        watch.add_done_callback(self._fail)
        try:
            await runner.setup()
            for port in self._ports:
                await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - every address is the point
            await self._stop.wait()
        except OSError as error:
            self._started.set_exception(error)
        finally:
            watch.cancel()
            await asyncio.wait([watch])
            await runner.cleanup()

    def _fail(self, watch: "asyncio.Task[None]") -> None:
        if not watch.cancelled() and not self._started.done():
            self._started.set_exception(watch.exception() or RuntimeError("the watch of pods ended"))

    async def _respond(self, request: web.Request) -> web.Response:
        transport = request.transport
        assert transport is not None
        address, port = transport.get_extra_info("sockname")
        text = self.containers.answer(address, time.monotonic())
        if text is not None:
            await asyncio.sleep(ANSWER_SECONDS)
            return web.Response(text=f"{text} {port}\n")
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        transport.abort()
        return web.Response(status=503)

    async def _watch(self) -> None:
        """Follow the pods. A watch without a resourceVersion begins with the existing ones."""
        trust = ssl.create_default_context(cafile=str(self._plane.ca_file))
        headers = {"Authorization": f"Bearer {self._plane.token}"}
        limits = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(headers=headers, timeout=limits, read_bufsize=1 << 22) as session:
            while True:
                url = f"{self._plane.url}/api/v1/pods?watch=true"
                async with session.get(url, ssl=trust, raise_for_status=True) as answer:
                    if not self._started.done():
                        self._started.set_result(None)
                    async for line in answer.content:
                        self.containers.observe(json.loads(line), time.monotonic())
