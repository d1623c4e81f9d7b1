"""The load, a process of its own: it changes WebApps as many users would, and watches from outside what comes of it.

Each job prints one line of JSON: times in seconds of the monotonic clock, which all processes of a machine share.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bench.api import JSON, MERGE_PATCH, Api, path
from bench.drift import heal
from bench.peers import bare
from bench.storm import storm
from bench.watcher import Place, Watcher
from bench.webapps import NEXT_IMAGE, place, webapp

Item = TypeVar("Item")
CONCURRENCY = 16
"""Changes under way at a time: kubectl's client would send one after another."""


async def side_by_side(items: Iterable[Item], do: Callable[[Item], Awaitable[None]], concurrency: int) -> None:
    """Do something to all items, to so many at a time."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await do(item)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(concurrency):
            tasks.create_task(work())


async def change_all(api: Api, places: Sequence[Place], image: str | None, within: float) -> dict[str, Any]:
    """Create WebApps, or give those that are there another image; wait until all that is true."""
    async with Watcher(api) as watcher:
        begun: dict[Place, float] = {}

        async def change(where: Place) -> None:
            watcher.expect(where)
            begun[where] = time.monotonic()
            if image is None:
                answer = await api.accepted("POST", path("WebApp", where[0]), webapp(*where))
            else:
                answer = await api.accepted("PATCH", path("WebApp", *where), {"spec": {"image": image}}, MERGE_PATCH)
            watcher.expect_generation(where, answer)

        started = time.monotonic()
        await side_by_side(places, change, CONCURRENCY)
        sent = time.monotonic() - started
        missing = await watcher.all_done(within)
        return {
            "missing": missing,
            "sending": sent,
            "seconds": max(watcher.done.values(), default=started) - started,
            "latencies": [watcher.done[where] - begun[where] for where in places if where in watcher.done],
            "written": [watcher.written[where] - begun[where] for where in places if where in watcher.written],
            "done": max(watcher.done.values(), default=started),
        }


async def delete_all(api: Api, places: Sequence[Place], within: float) -> dict[str, Any]:
    """Delete WebApps, and wait until they and their Deployments are gone."""

    async def delete(where: Place) -> None:
        await api.accepted("DELETE", path("WebApp", *where), {}, JSON)

    async with Watcher(api) as watcher:
        started = time.monotonic()
        await side_by_side(places, delete, CONCURRENCY)
        gone = await watcher.all_gone(within)
        return {"missing": [] if gone else sorted(watcher.deployments), "seconds": time.monotonic() - started}


async def create_only(api: Api, places: Sequence[Place]) -> dict[str, Any]:
    """Create WebApps that nobody serves."""

    async def create(where: Place) -> None:
        await api.accepted("POST", path("WebApp", where[0]), webapp(*where))

    await side_by_side(places, create, CONCURRENCY)
    return {"missing": []}


async def write_barely(api: Api, places: Sequence[Place], template: str, concurrency: int) -> dict[str, Any]:
    """Write four children and a status for each of some WebApps, so many requests at a time (B0)."""
    latencies: list[float] = []
    found = [await api.accepted("GET", path("WebApp", *where)) for where in places]

    async def write(one: dict[str, Any]) -> None:
        started = time.monotonic()
        await bare.bring_about(api, template, one)
        await bare.tell(api, one, ready=False)
        latencies.append((time.monotonic() - started) / 5)

    started = time.monotonic()
    await side_by_side(found, write, concurrency)
    return {"missing": [], "seconds": time.monotonic() - started, "latencies": latencies}


async def edit_some(api: Api, places: Sequence[Place], image: str, pause: float, within: float) -> dict[str, Any]:
    """Give WebApps another image, one after another; tell when each was true, and by what time all were sent."""
    async with Watcher(api) as watcher:
        for where in places:
            watcher.expect(where)
            answer = await api.accepted("PATCH", path("WebApp", *where), {"spec": {"image": image}}, MERGE_PATCH)
            watcher.expect_generation(where, answer)
            await asyncio.sleep(pause)
        sent = time.monotonic()
        missing = await watcher.all_done(within)
        written, done = list(watcher.written.values()), list(watcher.done.values())
        return {"missing": missing, "sent": sent, "written": written, "done": done}


async def do(options: argparse.Namespace, api: Api) -> dict[str, Any]:
    """Do the job that was asked for."""
    places = [place(number) for number in range(options.first, options.first + options.count)]
    jobs: dict[str, Callable[[], Awaitable[dict[str, Any]]]] = {
        "create": lambda: change_all(api, places, None, options.timeout),
        "change": lambda: change_all(api, places, options.image, options.timeout),
        "delete": lambda: delete_all(api, places, options.timeout),
        "create-only": lambda: create_only(api, places),
        "bare": lambda: write_barely(api, places, options.children.read_text("utf-8"), options.concurrency),
        "edit": lambda: edit_some(api, places, options.image, options.pause, options.timeout),
        "heal": lambda: heal(api, places, options.seconds),
        "storm": lambda: storm(api, places, options.concurrency, options.seconds, aside=options.aside),
    }
    return await jobs[options.job]()


def arguments() -> argparse.ArgumentParser:
    """Return what the process takes."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    jobs = ["create", "change", "delete", "create-only", "bare", "edit", "heal", "storm"]
    parser.add_argument("job", choices=jobs)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="number of the first WebApp [%(default)s]")
    parser.add_argument("--count", type=int, required=True, help="how many WebApps")
    parser.add_argument("--image", default=NEXT_IMAGE, help="[%(default)s]")
    parser.add_argument("--children", type=Path, help="of bare: their manifests, as JSON with placeholders")
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY, help="of bare and storm [%(default)s]")
    parser.add_argument("--aside", action="store_true", help="of storm: write to a twin that no operator looks at")
    parser.add_argument("--pause", type=float, default=1.0, help="of edit: seconds between two [%(default)s]")
    parser.add_argument("--seconds", type=float, default=60.0, help="of heal and storm: how long [%(default)s]")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds until all must be true [%(default)s]")
    return parser


async def _main(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    async with Api.of(options.kubeconfig, "bench", folder) as api:
        return await do(options, api)


def main() -> None:
    """Do one job."""
    with tempfile.TemporaryDirectory() as folder:
        answer = asyncio.run(_main(arguments().parse_args(), Path(folder)))
    print(json.dumps({**answer, "CPU": time.process_time()}))


if __name__ == "__main__":
    main()
