"""Compares the CPU time of two checkouts of the operator during a wave of new WebApps, without an API server.

`git worktree add /tmp/base main; python -m bench.creation_cost /tmp/base` compares this checkout with `main`. The model
API server runs in the same process; its CPU time is not counted. The rounds alternate, because the machine may be busy.
"""

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import in_memory

ROOT = Path(__file__).parents[2]
SIZE = 200
ROUNDS = 9


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or compare two checkouts; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", type=Path, help="the other checkout; without it measure only this one once")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--size", type=int, default=SIZE, help="number of WebApps of a wave")
    options = parser.parse_args(arguments)
    if options.base is None:
        print(f"{wave(options.size):.6f}")
        return 0
    checkouts = {"this": ROOT, "base": options.base}
    found: dict[str, list[float]] = {name: [] for name in checkouts}
    for number in range(options.rounds):
        for name in (*checkouts,) if number % 2 else (*reversed(checkouts),):
            found[name].append(measured(checkouts[name], options.size))
    ratios = sorted(this / base for this, base in zip(found["this"], found["base"], strict=True))
    for name, seconds in found.items():
        low, middle, high = (
            1000 * each / options.size for each in (min(seconds), statistics.median(seconds), max(seconds))
        )
        print(f"{name}: {middle:.2f} ms of CPU for each WebApp ({low:.2f} to {high:.2f})")
    best = min(found["this"]) / min(found["base"])
    print(
        f"this / base, {options.rounds} rounds of {options.size} WebApps: median {statistics.median(ratios):.3f}"
        f" ({ratios[0]:.3f} to {ratios[-1]:.3f}), ratio of the minima {best:.3f}"
    )
    return 0


def measured(checkout: Path, size: int) -> float:
    """Return the CPU seconds of the operator of a checkout, with the model of this one."""
    paths = (checkout / "operator", ROOT / "tests" / "harness", ROOT / "tests")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "bench.creation_cost", "--size", str(size)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def wave(size: int) -> float:
    """Create WebApps, wait for the status of each, and return the CPU seconds of the operator."""
    seconds = 0.0

    async def whole() -> None:
        cluster = in_memory.Cluster()

        async def body() -> None:
            nonlocal seconds
            # As in the operator's own process.
            gc.freeze()
            gc.set_threshold(5_000, 20, 20)
            begun, model = time.process_time(), cluster.cpu_seconds
            for number in range(size):
                cluster.create("shop", f"web-{number}")
            while cluster.statuses() < size:
                await asyncio.sleep(0.2)
            seconds = time.process_time() - begun - (cluster.cpu_seconds - model)

        await in_memory.during(in_memory.manager(cluster, in_memory.PROMPT), body)

    asyncio.run(whole())
    return seconds


if __name__ == "__main__":
    sys.exit(main())
