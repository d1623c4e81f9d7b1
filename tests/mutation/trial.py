"""One trial: the selected tests on the operator with one change."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mutation.mutants import Mutant
from mutation.source import SOURCE, changed_source

ROOT = SOURCE.parent
BYTECODE = ROOT / "build" / "pycache"
SECONDS = 120.0
"""Time limit for all tests of one mutant. It detects mutants with a hanging test."""
_TEST_SECONDS = 30

_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - (.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """The result of the tests on one source."""

    killed: bool
    by: str = ""
    """The first failed test and its error; the end of the output if the run itself failed."""
    broken: bool = False
    """Whether no test could run, so that the trial proves nothing."""


def trial(mutant: Mutant) -> Verdict:
    """Run the tests of a mutant on the changed operator."""
    with changed_source(mutant.change) as source:
        return run(source, mutant.tests)


def run(source: Path, tests: tuple[str, ...]) -> Verdict:
    """Run tests on an operator's source until the first failure."""
    command = [
        *(sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"),
        *("-p", "no:xdist", "--timeout", str(_TEST_SECONDS), "-o", f"pythonpath={source} tests"),
        *(f"tests/{test}" for test in tests),
    ]
    environment = {**os.environ, "PYTHONPATH": f"{source}:tests/harness:tests", "PYTHONPYCACHEPREFIX": str(BYTECODE)}
    # The unchanged source comes first. Later trials read the bytecode of the tests, and write none of their own source.
    environment["PYTHONDONTWRITEBYTECODE"] = "" if source == SOURCE else "1"
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Verdict(killed=True, by=f"the tests did not finish within {SECONDS:.0f} s")
    if done.returncode == 0:
        return Verdict(killed=False)
    failed = _FAILED.search(done.stdout)
    if done.returncode == 1 and failed is not None and not done.stdout.count("error during collection"):
        return Verdict(killed=True, by=f"{failed[1].removeprefix('tests/')}: {(failed[2] or '')[:100]}")
    if "Timeout" in done.stdout + done.stderr:
        return Verdict(killed=True, by=f"a test did not finish within {_TEST_SECONDS} s")
    return Verdict(killed=False, broken=True, by=(done.stdout + done.stderr)[-600:])
