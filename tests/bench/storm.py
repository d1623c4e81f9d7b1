"""B9: many writers of one WebApp without a pause, and occasional changes of quiet WebApps."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from typing import Any

from bench.api import JSON, MERGE_PATCH, Api, path
from bench.watcher import Place, Watcher
from bench.webapps import ASIDE_GROUP, IMAGE, NEXT_IMAGE, webapp
from coxswain.webapp.spec import GROUP

PAUSE = 0.25
"""Seconds between two changes of quiet WebApps."""
TIMEOUT = 60.0


async def storm(api: Api, places: Sequence[Place], writers: int, seconds: float, *, aside: bool) -> dict[str, Any]:
    """Let many writers write to the first WebApp, and change the others in turn; return the delays of these changes.

    With `aside` they write to a copy that no operator watches: this shows the storm's cost for the API server.
    """
    hot, *quiet = places
    stormed = path("WebApp", *hot)
    if aside:
        stormed = _aside(stormed)
        twin = webapp(*hot) | {"apiVersion": f"{ASIDE_GROUP}/v1"}
        await api.send("POST", _aside(path("WebApp", hot[0])), twin, JSON)
    async with Watcher(api) as watcher:
        writes = [0]
        raging = [asyncio.create_task(_rage(api, stormed, number, writes)) for number in range(writers)]
        begun: dict[Place, float] = {}
        latencies: list[float] = []
        written: list[float] = []
        started = time.monotonic()
        for number in itertools.count():
            if time.monotonic() - started > seconds:
                break
            await _quiet_change(api, watcher, quiet[number % len(quiet)], begun)
            await asyncio.sleep(PAUSE)
        took = time.monotonic() - started
        for task in raging:
            task.cancel()
        await asyncio.gather(*raging, return_exceptions=True)
        calm = time.monotonic()
        answer = await api.accepted("PATCH", path("WebApp", *hot), {"spec": {"replicas": 1}}, MERGE_PATCH)
        watcher.expect(hot)
        watcher.expect_generation(hot, answer)
        missing = await watcher.all_done(TIMEOUT)
        latencies += [watcher.done[where] - at for where, at in begun.items() if where in watcher.done]
        written += [watcher.written[where] - at for where, at in begun.items() if where in watcher.written]
        return {
            "missing": missing,
            "latencies": latencies,
            "written": written,
            "writes per second": writes[0] / took,
            "convergence": watcher.done.get(hot, calm + TIMEOUT) - calm,
        }


async def _quiet_change(api: Api, watcher: Watcher, where: Place, begun: dict[Place, float]) -> None:
    image = NEXT_IMAGE if watcher.webapps[where]["spec"]["image"] == IMAGE else IMAGE
    watcher.expect(where)
    begun[where] = time.monotonic()
    answer = await api.accepted("PATCH", path("WebApp", *where), {"spec": {"image": image}}, MERGE_PATCH)
    watcher.expect_generation(where, answer)


def _aside(where: str) -> str:
    return where.replace(GROUP, ASIDE_GROUP)


async def _rage(api: Api, where: str, writer: int, writes: list[int]) -> None:
    """Write without a pause: a separate annotation, and every tenth time the replicas shared by all writers."""
    for number in itertools.count():
        if number % 10 == 9:
            body: dict[str, Any] = {"spec": {"replicas": 1 + number // 10 % 2}}
        else:
            body = {"metadata": {"annotations": {f"writer-{writer}": str(number)}}}
        # Even without a precondition it may be refused, after five conflicts inside the server.
        status, _ = await api.send("PATCH", where, body, MERGE_PATCH)
        writes[0] += status < 400
