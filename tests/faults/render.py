"""docs/faults.md: what was tried, what was survived, and on which broken operator each test was seen to fail.

`python -m faults.render` writes the page anew, from what `make faults` and `make faults-proof` left. Each row says at
which commit and on which day it was measured. Results of tests that are no more, or name another break by now, are left
out.
"""

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from faults import breaks
from faults.results import Result

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"
SURVIVED = ROOT / ".faults" / "survived.json"
PROVED = ROOT / ".faults" / "proved.json"
BEGIN = "<!-- results: written by make faults -->"
END = "<!-- end of results -->"

NOT_TRIED = {
    "F18": "it waits for more than one replica, with a Lease",
    "F21": "there is no earlier release to upgrade from",
}
"""Faults of the table that wait for parts that come later; never counted."""


def load(file: Path) -> list[Result]:
    """Return the results that a run kept; none without a file."""
    return [Result(**data) for data in json.loads(file.read_text())] if file.exists() else []


class _Collected:
    """A plugin of pytest's that notes which tests there are."""

    def __init__(self) -> None:
        self.breaks: dict[str, str | None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            marker = item.get_closest_marker("fault")
            if marker is not None:
                self.breaks[item.nodeid] = marker.kwargs.get("broken")


def tests() -> Mapping[str, str | None]:
    """Return the names of all tests of the suite, each with the break that it names.

    Raises:
        RuntimeError: they can't be collected.
    """
    found = _Collected()
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        code = pytest.main([str(Path(__file__).parent), "--collect-only", "-qq", "--no-header"], plugins=[found])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests of the fault suite can't be collected: {told.getvalue()[-1000:]}")
    return found.breaks


def current(results: Sequence[Result], known: Mapping[str, str | None], *, proofs: bool = False) -> list[Result]:
    """Return the results of tests that are still there; of proofs, with the break that they still name."""
    return [
        result for result in results if result.test in known and not (proofs and known[result.test] != result.broken)
    ]


def render(survived: Sequence[Result], proved: Sequence[Result]) -> str:
    """Return the generated part of the page."""
    tried = [result for result in survived if result.outcome in ("passed", "failed")]
    passed = [result for result in tried if result.outcome == "passed"]
    caught = [result for result in proved if result.outcome == "xfailed"]
    runs = sum(result.runs for result in tried)
    scales = ", ".join(sorted({f"{result.scale:g}" for result in tried}))
    lines = [
        f"{len(tried)} tests, {runs} runs, at a time scale of {scales}:",
        f"{len(passed)} survived, {len(tried) - len(passed)} not.",
        f"On an operator broken on purpose {len(caught)} of {len(proved)} failed as they must.",
        "",
        f"Survival was measured at {_measured(tried)}; the proofs at {_measured(proved)}.",
        "",
        "| fault | tried | runs | judged by | survived | slowest recovery, s | waits, s (in the table) | measured at |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(together) for together in _grouped(tried)),
        "",
        "### Not tried",
        "",
        *(f"- {fault}: {why}." for fault, why in NOT_TRIED.items()),
        "",
        "### Seen to fail",
        "",
        "Each test ran once more on each operator that lacks what it is about; of many parameters one was taken. That",
        "operator survived the same script without its faults before (or what the break names in its place), and its",
        "process lived. *Named* is the oracle that had to find it; `test` is an assertion of the test itself.",
        "",
        "| fault | test | the operator was broken so | named | caught | found | measured at |",
        "|---|---|---|---|---|---|---|",
        *(_proof(result) for result in sorted(proved, key=_order)),
    ]
    return "\n".join(lines)


def _order(result: Result) -> tuple[int, str]:
    number = result.fault.removeprefix("F")
    return int(number) if number.isdecimal() else 99, result.test


def _grouped(results: Sequence[Result]) -> list[list[Result]]:
    """Return the results, those of one title together."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in sorted(results, key=_order):
        groups.setdefault((result.fault, result.title), []).append(result)
    return list(groups.values())


def _row(together: Sequence[Result]) -> str:
    recoveries = [seconds for result in together for seconds in result.recoveries]
    slowest = f"{max(recoveries):.1f}" if recoveries else ""
    found = {(table, took) for result in together for table, took in result.waits}
    waits = ", ".join(f"{took:g} ({table:g})" for table, took in sorted(found))
    survived = "yes" if all(result.outcome == "passed" for result in together) else "**no**"
    judged = " ".join(sorted({oracle for result in together for oracle in result.oracles}))
    runs, first = sum(result.runs for result in together), together[0]
    said = (first.fault, first.title, runs, judged, survived, slowest, waits, _measured(together))
    return f"| {' | '.join(map(str, said))} |"


def _measured(results: Sequence[Result]) -> str:
    """Return the commits and days of runs."""
    found = {(result.date, result.commit) for result in results if result.commit}
    return ", ".join(f"{commit} ({date})" for date, commit in sorted(found)) or "no known commit"


def _proof(result: Result) -> str:
    known = breaks.known().get(result.broken or "")
    what = known.what if known else result.broken
    caught = "yes" if result.outcome == "xfailed" else "**no**"
    by = result.violations[0].replace("|", "\\|") if result.violations else "an assertion of the test"
    short = by if len(by) <= 160 else f"{by[:160]}..."
    said = (result.fault, result.title, what, " or ".join(result.by), caught, short, _measured([result]))
    return f"| {' | '.join(map(str, said))} |"


def main() -> None:
    """Write the page's generated part anew."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    known = tests()
    made = render(current(load(SURVIVED), known), current(load(PROVED), known, proofs=True))
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
