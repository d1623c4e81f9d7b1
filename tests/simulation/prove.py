"""Proof: operators with known defects, and the number of seeds until the simulation finds each."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from selection import unknown
from simulation.workloads import DEFAULT, MODULES, ROOT

MUTANTS = Path(__file__).parent / "mutants"


class Outdated(Exception):
    """The replaced text of a mutant does not occur exactly once."""


@dataclass(frozen=True)
class Mutant:
    """A defect: replacements in the operator's source."""

    name: str
    title: str
    changes: tuple[tuple[str, str, str], ...]
    """File below operator/coxswain, old text, new text."""
    invariants: tuple[str, ...] = ()
    """The invariants that the defect violates: a failure of another one, such as a crash, does not prove it."""
    replicas: int | None = None
    """The number of replicas in each run; None: from the seed."""
    slots: int | None = None
    """The number of slots in each run; None: from the seed."""

    def changed(self, package: Path) -> dict[str, str]:
        """Return the changed files of the operator's package with their new text. Write nothing.

        Raises:
            Outdated: a text does not occur exactly once.
        """
        texts: dict[str, str] = {}
        for file, old, new in self.changes:
            source = texts[file] if file in texts else (package / file).read_text()
            if source.count(old) != 1:
                raise Outdated(f"{self.name}: {source.count(old)} matches in {file} instead of 1: {old.strip()[:80]}")
            texts[file] = source.replace(old, new)
        return texts

    def apply(self, package: Path) -> None:
        """Change a copy of the operator's package.

        Raises:
            Outdated: a text does not occur exactly once.
        """
        for file, text in self.changed(package).items():
            (package / file).write_text(text)


def mutants(names: list[str]) -> list[Mutant]:
    """Return the mutants with these names, or all."""
    found = []
    for path in sorted(MUTANTS.glob("*.toml"), key=lambda path: (len(path.stem), path.stem)):
        if names and path.stem not in names:
            continue
        read = tomllib.loads(path.read_text())
        changes = tuple((each["file"], each["old"], each["new"]) for each in read["change"])
        found.append(
            Mutant(
                path.stem, read["title"], changes, tuple(read["invariants"]), read.get("replicas"), read.get("slots")
            )
        )
    return found


def proof(mutant: Mutant, workload: str, seeds: int, seconds: float) -> str:
    """Run seeds on a broken operator until one fails as the defect should; return a row of the table."""
    with tempfile.TemporaryDirectory() as directory:
        package = Path(directory) / "coxswain"
        for name in ("coxswain", "example"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / "operator" / name, Path(directory) / name, ignore=ignored)
        mutant.apply(package)
        limits = [workload, str(seeds), str(seconds), str(mutant.replicas or ""), str(mutant.slots or "")]
        arguments = [sys.executable, "-m", "simulation.first", *limits, *mutant.invariants]
        path = os.pathsep.join([directory, str(ROOT / "tests" / "harness"), str(ROOT / "tests")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        # A killed process writes no error.
        why = [f"exit status {done.returncode}", *done.stderr.strip().splitlines()][-1]
        return f"| {mutant.name} | - | it does not run: {why[:100]} | {mutant.title} |"
    found = json.loads(done.stdout.splitlines()[-1])
    why = found["why"].replace("|", "/")[:120]
    if not found["proved"]:
        other = f", but seed {found['failed']} failed: {why}" if why else ""
        return f"| {mutant.name} | - | NOT FOUND in {found['seeds']} seeds{other} | {mutant.title} |"
    return f"| {mutant.name} | {found['seeds']} | {why} | {mutant.title} |"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m simulation.prove", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants; default: all")
    parser.add_argument("--workload", choices=MODULES, default=DEFAULT, help="the operator under test")
    parser.add_argument("--seeds", type=int, default=3000, help="maximum number of seeds for each")
    parser.add_argument("--seconds", type=float, default=300, help="maximum CPU time for each")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parsed = parser.parse_args()
    known = [mutant.name for mutant in mutants([])]
    for name in set(parsed.names) - set(known):
        parser.error(unknown(name, known))
    chosen = mutants(parsed.names)
    print("| mutant | seeds until found | failed | defect |\n|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(parsed.processes) as pool:
        rows = list(pool.map(lambda each: _shown(proof(each, parsed.workload, parsed.seeds, parsed.seconds)), chosen))
    missed = [row for row in rows if "| - |" in row]
    print(f"{len(rows) - len(missed)} of {len(rows)} found")
    sys.exit(1 if missed else 0)


def _shown(row: str) -> str:
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
