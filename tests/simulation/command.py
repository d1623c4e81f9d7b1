"""The command line: many seeds for a time, or one seed with its trace."""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from model_cluster.shrink import shrunk
from simulation.generate import actions_of, generate
from simulation.many import Batch, ProcessEnded, many
from simulation.run import MEMORY_CHECKED, Outcome, play
from simulation.script import Script, from_json
from simulation.workloads import DEFAULT, MODULES, workload

HASH_SEED = "0"
"""The seed of string hashes: the order of sets must be the same in each process."""


def main() -> None:
    """Run the command line."""
    parsed = _parser().parse_args()
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.execve(  # noqa: S606
            sys.executable,
            [sys.executable, "-m", "simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": HASH_SEED},
        )
    try:
        if parsed.seed is not None or parsed.script is not None:
            sys.exit(_one(_script(parsed), shrink=not parsed.whole))
        sys.exit(_many(parsed))
    except ProcessEnded as error:
        print(f"simulation: {error}; if memory is short, run fewer --processes", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("simulation: interrupted", file=sys.stderr)
        sys.exit(130)


def _script(parsed: argparse.Namespace) -> Script:
    if parsed.script is None:
        return generate(parsed.seed, parsed.workload, parsed.replicas, parsed.slots)
    try:
        return from_json(parsed.script.read_text())
    except (OSError, ValueError) as error:
        _parser().error(f"{parsed.script}: {error}")


def _many(parsed: argparse.Namespace) -> int:
    batch = many(
        parsed.workload,
        parsed.first,
        parsed.seeds,
        parsed.seconds,
        parsed.processes,
        stop=parsed.failures,
        replicas=parsed.replicas,
        slots=parsed.slots,
        tell=_tell_shortly,
    )
    print(_summary(batch))
    short = _below(batch, parsed.workload, parsed.floor)
    if short:
        print("too seldom: " + ", ".join(short))
    for outcome in batch.failed[:1]:
        _tell(generate(outcome.seed, parsed.workload, parsed.replicas, parsed.slots), outcome, seconds=60)
    return 1 if batch.failed or short else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simulation",
        description="Run the operator against a model of the cluster in virtual time, with a script for each seed.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--workload", choices=MODULES, default=DEFAULT, help="the operator under test")
    parser.add_argument("--replicas", type=int, choices=(1, 2, 3), help="number of replicas; default: from the seed")
    parser.add_argument(
        "--slots", type=int, choices=range(1, 65), metavar="1..64", help="number of slots; default: from the seed"
    )
    parser.add_argument("--seconds", type=float, help="stop after this many real seconds")
    parser.add_argument("--seeds", type=int, help="stop after this many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="number of parallel processes")
    parser.add_argument("--failures", type=int, default=1, help="stop after this many failures")
    parser.add_argument(
        "--floor",
        type=int,
        default=0,
        help="fail if an action had an effect less often, or an event occurred less often",
    )
    parser.add_argument("--seed", type=int, help="run one seed and show each step")
    parser.add_argument("--script", type=Path, help="run the script in a file and show each step")
    parser.add_argument("--whole", action="store_true", help="with --seed or --script: do not shrink a failing script")
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
    """Print a failure: the seed, the invariant, the shrunk script, and the end of its trace."""

    def fails(steps: object) -> bool:
        return play(script.of(tuple(steps))).invariant == outcome.invariant  # type: ignore[arg-type]

    steps = shrunk(script.steps, fails, seconds=seconds)
    small = script.of(tuple(steps))
    again = play(small, keep=80)
    print(f"\nseed {script.seed}, profile {script.profile}: {outcome.why}")
    print(f"shrunk from {len(script.steps)} steps to {len(steps)}: {again.why}")
    print(f"conditions: {script.conditions}")
    print("\n".join(map(str, steps)))
    print("\nthe end of its trace:")
    print("\n".join(again.lines))
    directory = Path(".simulation")
    directory.mkdir(exist_ok=True)
    path = directory / f"seed-{script.seed}.json"
    path.write_text(small.to_json())
    several = f" REPLICAS={script.conditions.replicas}" if script.conditions.replicas > 1 else ""
    several += f" SLOTS={script.conditions.slots}" if script.conditions.slots > 1 else ""
    whole = f"make simulate WORKLOAD={script.workload} SEED={script.seed}{several}"
    print(f"\nto repeat: {whole}, or shrunk: make simulate SCRIPT={path}")


def _summary(batch: Batch) -> str:
    hours, spent = batch.seconds / 3600, batch.spent
    each = f"{hours / (spent / 60):.0f}" if spent else "-"
    lines = [
        f"{batch.seeds} seeds, {batch.rounds} steps, {hours:.1f} simulated hours",
        f"in {batch.real:.1f} s on {batch.processes} processes: {each} hours a minute on one core",
        f"failures: {len(batch.failed)}",
    ]
    lines += [f"  seed {found.seed}: {found.why}" for found in batch.failed[:20]]
    lines += [f"longest time without a leader: {batch.leaderless:.1f} s"] if batch.leaderless else []
    lines += _columns("actions with an effect", batch.occurred)
    lines += _columns("events", batch.happened) if batch.happened else []
    lines += _columns("faults with an effect", batch.met)
    return "\n".join(lines)


def _columns(title: str, counted: Counter[str]) -> list[str]:
    return [f"{title}:", *(f"  {count:8d}  {name}" for name, count in sorted(counted.items()))]


def _below(batch: Batch, name: str, floor: int) -> list[str]:
    counted = {each: batch.occurred[each] for each in actions_of(name)}
    counted |= {each: batch.happened[each] for each in (MEMORY_CHECKED, *workload(name).happenings)}
    return [f"{each} ({count})" for each, count in counted.items() if count < floor]


def timed(text: str) -> str:
    """Return a line with the time of day."""
    return f"{time.strftime('%H:%M:%S')} {text}"
