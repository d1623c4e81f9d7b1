"""docs/faults.md: the tests, their results, and the broken operator on which each test failed.

`python -m faults.render` writes the page from the results of `make faults` and `make faults-proof`. Each row names its
commit and date. Results of deleted tests, and of tests that now name another break, are omitted.
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
    "F18": "requires more than one replica, with a Lease",
    "F21": "requires an earlier release as the start of an upgrade",
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
        f"{len(passed)} passed, {len(tried) - len(passed)} failed.",
        f"On a deliberately broken operator, {len(caught)} of {len(proved)} tests failed as required.",
        "",
        f"Tests measured at {_measured(tried)}; proofs at {_measured(proved)}.",
        "",
        "| fault | test | runs | judged by | passed | slowest recovery, s | waits, s (in the table) | measured at |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(together) for together in _grouped(tried)),
        "",
        "### Not tested",
        "",
        *(f"- {fault}: {why}." for fault, why in NOT_TRIED.items()),
        "",
        "### Proof of failure",
        "",
        "Each test ran once more on each operator without the tested mechanism, with one of its parameters. Before,",
        "this operator survived the script without its faults (or the script named by the break), and its process",
        "stayed alive. *Named* is the oracle that must reject the run; `test` is an assertion of the test itself.",
        "",
        "| fault | test | broken operator | named | caught | found | measured at |",
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
