"""The results of the fault tests: printed during the run, and kept for docs/faults.md."""

import dataclasses
import functools
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Result:
    """The result of one test."""

    fault: str
    """F1 to F32, or `mix`."""
    title: str
    test: str
    oracles: tuple[str, ...]
    broken: str | None
    """The break on which it must fail."""
    scale: float
    runs: int = 0
    recoveries: list[float] = field(default_factory=list)
    """Seconds."""
    waits: list[tuple[float, float]] = field(default_factory=list)
    """Of each wait, the duration in the table of faults and the actual duration, in seconds."""
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0
    by: tuple[str, ...] = ()
    """The oracles of which one must detect the break."""
    commit: str = ""
    """The tested commit; with `+` if the working tree had changes."""
    date: str = ""
    """The date of the run, in UTC."""
    outcome: str = ""
    """passed, failed or skipped; with --prove, `xfailed` is the expected one."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data, with times in hundredths of a second."""
        text = json.dumps(dataclasses.asdict(self))
        data: dict[str, Any] = json.loads(text, parse_float=lambda number: round(float(number), 2))
        return data


@functools.cache
def commit() -> str:
    """Return the commit of the working tree, with a `+` if a tracked file differs from it."""
    try:
        head = _git("rev-parse", "--short=7", "HEAD")
        return head + "+" * bool(_git("status", "--porcelain", "--untracked-files=no", "--", ":(top,exclude)docs"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Results:
    """Prints a line after each test, and then writes all results so far, so that an aborted run keeps them."""

    def __init__(self, config: pytest.Config) -> None:
        """Write to the file of --results, if given."""
        self._config = config
        self._found: dict[str, Result] = {}
        self._outcomes: dict[str, str] = {}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Process a report of this process or of a worker."""
        if report.when == "call" or report.outcome != "passed":
            xfailed = report.outcome == "skipped" and hasattr(report, "wasxfail")
            self._outcomes[report.nodeid] = "xfailed" if xfailed else report.outcome
        if report.when != "teardown":
            return
        for name, data in report.user_properties:
            if name == "fault" and isinstance(data, dict):
                self._take(Result(**{**data, "outcome": self._outcomes.get(report.nodeid, "")}))

    def _take(self, result: Result) -> None:
        self._found[result.test] = result
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            slowest = f", slowest recovery {max(result.recoveries):.1f} s" if result.recoveries else ""
            reporter.write_line(
                f"{len(self._found):3}  {result.fault:4} {result.title}: {result.outcome}, {result.runs} runs"
                f"{slowest} ({result.seconds:.0f} s)"
            )
        self._write()

    def _write(self) -> None:
        """Write the results, a line for each test, and keep those of other tests in the file."""
        file: Path | None = self._config.getoption("--results")
        if file is None:
            return
        kept = {} if not file.exists() else {data["test"]: data for data in json.loads(file.read_text())}
        kept |= {test: result.to_json() for test, result in self._found.items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = ",\n".join(json.dumps(kept[test]) for test in sorted(kept))
        file.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
