"""The command line: seeds for a time, or one seed step by step."""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from simulation.many import Batch, many
from simulation.profiles import generate
from simulation.run import Outcome, play
from simulation.script import Script, from_json
from simulation.shrink import shrunk

HASH_SEED = "0"
"""Of the hashes of strings: the order of sets must be the same in each process."""


def main() -> None:
    """Run the command line."""
    parsed = _parser().parse_args()
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.execve(  # noqa: S606
            sys.executable,
            [sys.executable, "-m", "simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": HASH_SEED},
        )
    if parsed.seed is not None or parsed.script is not None:
        script = generate(parsed.seed) if parsed.script is None else from_json(parsed.script.read_text())
        sys.exit(_one(script, shrink=not parsed.whole))
    batch = many(parsed.first, parsed.seeds, parsed.seconds, parsed.processes, stop=parsed.failures, tell=_tell_shortly)
    print(_summary(batch))
    short = _below(batch, parsed.floor)
    if short:
        print("too seldom: " + ", ".join(short))
    for outcome in batch.failed[:1]:
        _tell(generate(outcome.seed), outcome, seconds=60)
    sys.exit(1 if batch.failed or short else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simulation",
        description="Run the operator against a model of the cluster, in virtual time, on scripts made from seeds.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, help="stop after so many real seconds")
    parser.add_argument("--seeds", type=int, help="stop after so many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many run at a time")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many failures")
    parser.add_argument("--floor", type=int, default=0, help="fail if an action came about less often")
    parser.add_argument("--seed", type=int, help="play one seed and show each step")
    parser.add_argument("--script", type=Path, help="play the script in a file and show each step")
    parser.add_argument("--whole", action="store_true", help="with --seed or --script: do not shrink a failure")
    return parser


def _tell_shortly(outcome: Outcome) -> None:
    print(f"seed {outcome.seed}: {outcome.why}", file=sys.stderr, flush=True)


def _one(script: Script, *, shrink: bool) -> int:
    outcome = play(script, keep=1, show=print)
    verdict = outcome.why or "all invariants hold"
    print(f"\nseed {script.seed}, profile {script.profile}, trace {outcome.digest}: {verdict}")
    if outcome.invariant and shrink:
        _tell(script, outcome, seconds=60)
    return 1 if outcome.invariant else 0


def _tell(script: Script, outcome: Outcome, *, seconds: float) -> None:
    """Print a failure: the seed, the invariant, the script cut down, and the trace of that."""

    def fails(steps: object) -> bool:
        return play(script.of(tuple(steps))).invariant == outcome.invariant  # type: ignore[arg-type]

    steps = shrunk(script.steps, fails, seconds=seconds)
    small = script.of(tuple(steps))
    again = play(small, keep=80)
    print(f"\nseed {script.seed}, profile {script.profile}: {outcome.why}")
    print(f"cut down from {len(script.steps)} steps to {len(steps)}: {again.why}")
    print(f"conditions: {script.conditions}")
    print("\n".join(map(str, steps)))
    print("\nthe end of its trace:")
    print("\n".join(again.lines))
    directory = Path(".simulation")
    directory.mkdir(exist_ok=True)
    path = directory / f"seed-{script.seed}.json"
    path.write_text(small.to_json())
    print(f"\nagain: make simulate SEED={script.seed}, or cut down: make simulate SCRIPT={path}")


def _summary(batch: Batch) -> str:
    hours, spent = batch.seconds / 3600, batch.spent
    each = f"{hours / (spent / 60):.0f}" if spent else "-"
    lines = [
        f"{batch.seeds} seeds, {batch.rounds} steps, {hours:.1f} simulated hours",
        f"in {batch.real:.1f} s on {batch.processes} processes: {each} hours a minute on one core",
        f"failures: {len(batch.failed)}",
    ]
    lines += [f"  seed {found.seed}: {found.why}" for found in batch.failed[:20]]
    lines += _columns("actions that came about", batch.occurred)
    lines += _columns("faults that were met", batch.met)
    return "\n".join(lines)


def _columns(title: str, counted: Counter[str]) -> list[str]:
    return [f"{title}:", *(f"  {count:8d}  {name}" for name, count in sorted(counted.items()))]


def _below(batch: Batch, floor: int) -> list[str]:
    from simulation.actions import ACTIONS  # noqa: PLC0415

    return [f"{name} ({batch.occurred[name]})" for name in sorted(ACTIONS) if batch.occurred[name] < floor]


def timed(text: str) -> str:
    """Return a line with the time of day."""
    return f"{time.strftime('%H:%M:%S')} {text}"
