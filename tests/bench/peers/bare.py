"""P0: only the writes. Measures the cost of Python, JSON and the API server without any decisions.

It watches WebApps, because it needs their uids, and writes the four children and a status twice, without reading
anything else.
"""

import argparse
import asyncio
import signal
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.api import APPLY, Api, path
from bench.webapps import bare_status, children

WORKERS = 16


async def bring_about(api: Api, template: str, webapp: Mapping[str, Any], *, changed: bool = False) -> None:
    """Write the children of a WebApp, or only its Deployment if the WebApp was `changed`."""
    for manifest in children(template, webapp):
        if not changed or manifest["kind"] == "Deployment":
            await apply(api, manifest)


async def apply(api: Api, manifest: Mapping[str, Any]) -> None:
    """Apply one child like coxswain."""
    metadata = manifest["metadata"]
    where = path(manifest["kind"], metadata["namespace"], metadata["name"])
    await api.accepted("PATCH", f"{where}?fieldManager=bare&force=true", manifest, APPLY)


async def tell(api: Api, webapp: Mapping[str, Any], *, ready: bool) -> None:
    """Apply a status."""
    metadata = webapp["metadata"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "apiVersion": webapp["apiVersion"],
        "kind": webapp["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "status": bare_status(webapp, ready=ready, now=now),
    }
    where = path("WebApp", metadata["namespace"], metadata["name"], "status")
    await api.accepted("PATCH", f"{where}?fieldManager=bare&force=true", body, APPLY)


async def serve(kubeconfig: Path, template: str, folder: Path) -> None:
    """Write for each new WebApp or new generation, until cancelled."""
    queue: asyncio.Queue[tuple[Mapping[str, Any], bool]] = asyncio.Queue()
    async with Api.of(kubeconfig, "bare", folder) as api, asyncio.TaskGroup() as tasks:
        for _ in range(WORKERS):
            tasks.create_task(_work(api, template, queue))
        generations: dict[str, int] = {}
        async for event in api.follow(path("WebApp")):
            if event["type"] not in ("ADDED", "MODIFIED"):
                continue
            metadata = event["object"]["metadata"]
            before = generations.get(metadata["uid"])
            if before != metadata["generation"]:
                generations[metadata["uid"]] = metadata["generation"]
                queue.put_nowait((event["object"], before is not None))


async def _work(api: Api, template: str, queue: asyncio.Queue[tuple[Mapping[str, Any], bool]]) -> None:
    while True:
        webapp, changed = await queue.get()
        await bring_about(api, template, webapp, changed=changed)
        for ready in (False, True):
            await tell(api, webapp, ready=ready)


async def _main(options: argparse.Namespace, folder: Path) -> None:
    serving = asyncio.create_task(serve(options.kubeconfig, options.children.read_text(encoding="utf-8"), folder))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    await asyncio.wait([serving])
    if not serving.cancelled():
        serving.result()


def main() -> None:
    """Run until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.bare", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--children", type=Path, required=True, help="the manifests, as JSON with placeholders")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_main(parser.parse_args(), Path(folder)))


if __name__ == "__main__":
    main()
