"""The load, in its own process: changes WebApps like many users, and watches the results from outside.

Each job prints one line of JSON: times in seconds of the monotonic clock, which is common to all processes.
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
"""Concurrent changes; kubectl would send them sequentially."""


async def side_by_side(items: Iterable[Item], do: Callable[[Item], Awaitable[None]], concurrency: int) -> None:
    """Run a function on all items, with a limit of concurrent calls."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await do(item)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(concurrency):
            tasks.create_task(work())


async def change_all(api: Api, places: Sequence[Place], image: str | None, within: float) -> dict[str, Any]:
    """Create WebApps, or change the image of existing ones; wait until all changes are effective."""
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
    """Delete WebApps, and wait for the deletion of them and their Deployments."""

    async def delete(where: Place) -> None:
        await api.accepted("DELETE", path("WebApp", *where), {}, JSON)

    async with Watcher(api) as watcher:
        started = time.monotonic()
        await side_by_side(places, delete, CONCURRENCY)
        gone = await watcher.all_gone(within)
        return {"missing": [] if gone else sorted(watcher.deployments), "seconds": time.monotonic() - started}


async def create_only(api: Api, places: Sequence[Place]) -> dict[str, Any]:
    """Create WebApps without an operator."""

    async def create(where: Place) -> None:
        await api.accepted("POST", path("WebApp", where[0]), webapp(*where))

    await side_by_side(places, create, CONCURRENCY)
    return {"missing": []}


async def write_barely(api: Api, places: Sequence[Place], template: str, concurrency: int) -> dict[str, Any]:
    """Write four children and a status for some WebApps, with a limit of concurrent requests (B0)."""
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
    """Change the image of WebApps, one by one; return when each change was effective, and when all were sent."""
    async with Watcher(api) as watcher:
        begun: dict[Place, float] = {}
        for where in places:
            watcher.expect(where)
            begun[where] = time.monotonic()
            answer = await api.accepted("PATCH", path("WebApp", *where), {"spec": {"image": image}}, MERGE_PATCH)
            watcher.expect_generation(where, answer)
            await asyncio.sleep(pause)  # the rate of the edits
        sent = time.monotonic()
        missing = await watcher.all_done(within)
        written, done = list(watcher.written.values()), list(watcher.done.values())
        edits = [(at, watcher.written.get(where)) for where, at in begun.items()]
        return {"missing": missing, "sent": sent, "written": written, "done": done, "edits": edits}


async def do(options: argparse.Namespace, api: Api) -> dict[str, Any]:
    """Run the requested job."""
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
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    jobs = ["create", "change", "delete", "create-only", "bare", "edit", "heal", "storm"]
    parser.add_argument("job", choices=jobs)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="number of the first WebApp [%(default)s]")
    parser.add_argument("--count", type=int, required=True, help="number of WebApps")
    parser.add_argument("--image", default=NEXT_IMAGE, help="[%(default)s]")
    parser.add_argument("--children", type=Path, help="for bare: the manifests, as JSON with placeholders")
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY, help="for bare and storm [%(default)s]")
    parser.add_argument("--aside", action="store_true", help="for storm: write to a copy that no operator watches")
    parser.add_argument("--pause", type=float, default=1.0, help="for edit: seconds between changes [%(default)s]")
    parser.add_argument("--seconds", type=float, default=60.0, help="for heal and storm: the duration [%(default)s]")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds until all must be done [%(default)s]")
    return parser


async def _main(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    async with Api.of(options.kubeconfig, "bench", folder) as api:
        return await do(options, api)


def main() -> None:
    """Run one job."""
    with tempfile.TemporaryDirectory() as folder:
        answer = asyncio.run(_main(arguments().parse_args(), Path(folder)))
    print(json.dumps({**answer, "CPU": time.process_time()}))


if __name__ == "__main__":
    main()
