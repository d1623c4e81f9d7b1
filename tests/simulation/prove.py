"""Proof: operators with known defects, and how many seeds pass until the simulation finds each."""

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

ROOT = Path(__file__).parents[2]
MUTANTS = Path(__file__).parent / "mutants"


class Outdated(Exception):
    """The text that a mutant replaces is not there, or more than once."""


@dataclass(frozen=True)
class Mutant:
    """A defect: texts of the operator's source, and what to put in their places."""

    name: str
    title: str
    changes: tuple[tuple[str, str, str], ...]
    """File below operator/coxswain, old text, new text."""

    def apply(self, package: Path) -> None:
        """Change a copy of the operator's package.

        Raises:
            Outdated: a text is not there exactly once.
        """
        for file, old, new in self.changes:
            source = (package / file).read_text()
            if source.count(old) != 1:
                raise Outdated(f"{self.name}: {source.count(old)} places in {file} have: {old.strip()[:80]}")
            (package / file).write_text(source.replace(old, new))


def mutants(names: list[str]) -> list[Mutant]:
    """Return the mutants of these names, or all."""
    found = []
    for path in sorted(MUTANTS.glob("*.toml"), key=lambda path: (len(path.stem), path.stem)):
        if names and path.stem not in names:
            continue
        read = tomllib.loads(path.read_text())
        changes = tuple((each["file"], each["old"], each["new"]) for each in read["change"])
        found.append(Mutant(path.stem, read["title"], changes))
    return found


def proof(mutant: Mutant, seeds: int, seconds: float) -> str:
    """Play seeds on a broken operator until one fails; return a row of the table."""
    with tempfile.TemporaryDirectory() as directory:
        package = Path(directory) / "coxswain"
        shutil.copytree(ROOT / "operator" / "coxswain", package, ignore=shutil.ignore_patterns("__pycache__"))
        mutant.apply(package)
        arguments = [sys.executable, "-m", "simulation.first", str(seeds), str(seconds)]
        path = os.pathsep.join([directory, str(ROOT / "tests")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        return f"| {mutant.name} | - | it does not run: {done.stderr.strip().splitlines()[-1][:100]} | {mutant.title} |"
    found = json.loads(done.stdout.splitlines()[-1])
    if not found["invariant"]:
        return f"| {mutant.name} | - | NOT FOUND in {found['seeds']} seeds | {mutant.title} |"
    why = found["why"].replace("|", "/")[:150]
    return f"| {mutant.name} | {found['seeds']} | {why} | {mutant.title} |"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m simulation.prove", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants; all by default")
    parser.add_argument("--seeds", type=int, default=3000, help="at most so many for each")
    parser.add_argument("--seconds", type=float, default=300, help="at most so long for each")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parsed = parser.parse_args()
    chosen = mutants(parsed.names)
    print("| mutant | seeds until found | failed | defect |\n|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(parsed.processes) as pool:
        rows = list(pool.map(lambda each: _shown(proof(each, parsed.seeds, parsed.seconds)), chosen))
    missed = [row for row in rows if "| - |" in row]
    print(f"{len(rows) - len(missed)} of {len(rows)} found")
    sys.exit(1 if missed else 0)


def _shown(row: str) -> str:
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
