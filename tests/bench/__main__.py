"""`make bench`: compares coxswain with the alternatives; writes docs/benchmarks.json and docs/benchmarks.md.

`--only B6,B10` measures only these and keeps the other results in docs/benchmarks.json; `--render` rewrites the page
from it; `--quick` shows the effect of a code change on B1, in two minutes.
"""

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.failover import failovers
from bench.large import Lengths, large
from bench.lives import CHANGED, DELETED, bare_writes, life
from bench.peers.build import build_controller_runtime
from bench.profile import profiles
from bench.quick import quick
from bench.render import RESULTS, render
from bench.replicas import NUMBERS, separate, shared
from bench.results import CONTROLLER_RUNTIME, PEERS, Machine, Measured, Results, load, merged, save
from bench.trouble import OUTAGES, outage, storms
from cluster.catalog import KUBERNETES

BENCHMARKS = ("B0", "B1", "B3", "B4", "B6", "B8", "B9", "B10", "B11", "B11-separate")
"""The values of --only. B1 includes B2, B5 and the peers' B7; B6 the other B7; B11-separate is a case of B11."""
BARE_SIZE = 100


@dataclass(frozen=True)
class Task:
    """One measurement."""

    name: str
    run: Callable[[], Sequence[Measured]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the page, and return the exit code."""
    options = _parser().parse_args(arguments)
    if options.quick:
        return quick(RESULTS, _say)
    if not options.render:
        _measure(options)
    render()
    return 0


def _measure(options: argparse.Namespace) -> None:
    only = set(options.only.split(",")) if options.only else set(BENCHMARKS)
    if unknown := only - {*BENCHMARKS, "profile"}:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}. --only accepts {', '.join(BENCHMARKS)} and profile")
    kept = load(RESULTS) if options.only and RESULTS.exists() else None
    machine = _this_machine()
    if kept is not None:
        # For a run in several parts, keep the load before the first: later parts start directly after the previous one.
        machine = replace(machine, load_before=kept.machine.load_before)
    results = Results(machine, kept.measured if kept else [], kept.profile if kept else {})
    program = build_controller_runtime(_say) if "B1" in only else None
    planned = list(_tasks(options, only, program))
    measured_at = commit()  # before the first saved result changes the tree
    began = time.monotonic()
    for number, task in enumerate(planned, start=1):
        _say(f"[{number}/{len(planned)}, {(time.monotonic() - began) / 60:.0f} min] {task.name}")
        results = merged(results, [replace(each, commit=measured_at, date=machine.date) for each in task.run()])
        save(results, RESULTS)
    if not options.only or "profile" in only:
        results = merged(results, (), profiles(_say))
        save(results, RESULTS)


def _tasks(options: argparse.Namespace, only: set[str], program: Path | None) -> Iterator[Task]:
    """Yield the measurements; the peers alternate, and each round starts with another peer."""
    peers = [peer for peer in PEERS if peer != CONTROLLER_RUNTIME or program is not None]
    for number in range(1, options.rounds + 1):
        if "B0" in only:
            yield Task(f"B0, round {number}", partial(bare_writes, BARE_SIZE, number, _say))
        for size in options.sizes if "B1" in only else ():
            for turn in range(len(peers)):
                peer = peers[(turn + number) % len(peers)]
                run = partial(life, peer, size, number, program, _say)
                yield Task(f"B1, B5: {peer}, N = {size}, round {number}", run)
    for size in options.large if only & {"B3", "B4", "B6"} else ():
        first = size == min(options.large)
        lengths = Lengths(
            heal=options.heal if first and "B4" in only else 0.0,
            steady=options.steady if first and "B3" in only else 0.0,
        )
        restarts = options.rounds if "B6" in only else 0
        yield Task(f"B3, B4, B6, B7: N = {size}", partial(large, size, options.rounds, restarts, lengths, _say))
    yield from _tasks_of_trouble(options, only)


def _tasks_of_trouble(options: argparse.Namespace, only: set[str]) -> Iterator[Task]:
    """Yield the measurements of coxswain alone: failover, storms, outages, several replicas."""
    for number in range(1, options.rounds + 1):
        if "B8" in only:
            yield Task(f"B8, round {number}", partial(failovers, number, _say))
        if "B9" in only:
            yield Task(f"B9, round {number}", partial(storms, number, _say))
        for case in OUTAGES if "B10" in only else ():
            yield Task(f"B10: {case}, round {number}", partial(outage, case, number, options.outage, _say))
    for size in options.shared if "B11" in only else ():
        for number in range(1, options.rounds + 1):
            for replicas in options.replicas:
                what = f"B11: N = {size}, {replicas} replicas, round {number}"
                yield Task(what, partial(shared, size, number, replicas, _say))
    for number in range(1, options.rounds + 1) if "B11-separate" in only else ():
        size = min(options.shared)
        yield Task(f"B11: N = {size}, separate namespaces, round {number}", partial(separate, size, number, _say))


def _parser() -> argparse.ArgumentParser:
    def sizes(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--render", action="store_true", help="only rewrite the page")
    parser.add_argument("--quick", action="store_true", help="B1 with 50 WebApps against the bare writer, and no page")
    parser.add_argument("--only", help=f"some of {','.join(BENCHMARKS)},profile")
    parser.add_argument("--rounds", type=int, default=3, help="[%(default)s]")
    several = f"N of B1 [100,300,500,1000]; B5 is measured with {CHANGED}, a delete with {DELETED}"
    parser.add_argument("--sizes", type=sizes, default=[100, 300, CHANGED, 1000], help=several)
    parser.add_argument("--large", type=sizes, default=[1000, 3000], help="N of B6 and B7 [1000,3000]")
    parser.add_argument("--shared", type=sizes, default=[3000, 10_000], help="N of B11 [3000,10000]")
    parser.add_argument("--replicas", type=sizes, default=list(NUMBERS), help="of B11 [1,2,3]")
    parser.add_argument("--heal", type=float, default=60.0, help="seconds of B4 [%(default)s]")
    parser.add_argument("--steady", type=float, default=660.0, help="seconds of B3: more than a resync [%(default)s]")
    parser.add_argument("--outage", type=float, default=120.0, help="seconds of B10 [%(default)s]")
    return parser


def _this_machine() -> Machine:
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    version = platform.python_version()
    return Machine(today, str(KUBERNETES.version), os.cpu_count() or 1, version, os.getloadavg()[0])


def commit() -> str:
    """Return the checked out commit, marked if files differ from it; empty outside of a checkout."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, check=False
    )
    return described.stdout.strip()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
