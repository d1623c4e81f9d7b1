"""docs/faults.md: what was tried, what was survived, and on which broken operator each test was seen to fail.

`python -m faults.render` writes the page anew, from what `make faults` and `make faults-proof` left.
"""

import json
from collections.abc import Sequence
from pathlib import Path

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
        "| fault | tried | runs | judged by | survived | slowest recovery, s | waits, s (as in the table) |",
        "|---|---|---|---|---|---|---|",
        *(_row(together) for together in _grouped(tried)),
        "",
        "### Not tried",
        "",
        *(f"- {fault}: {why}." for fault, why in NOT_TRIED.items()),
        "",
        "### Seen to fail",
        "",
        "Each test ran once more on each operator that lacks what it is about; of many parameters one was taken.",
        "",
        "| fault | test | the operator was broken so | caught | by |",
        "|---|---|---|---|---|",
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
    return f"| {first.fault} | {first.title} | {runs} | {judged} | {survived} | {slowest} | {waits} |"


def _proof(result: Result) -> str:
    known = breaks.known().get(result.broken or "")
    what = known.what if known else result.broken
    caught = "yes" if result.outcome == "xfailed" else "**no**"
    by = result.violations[0].replace("|", "\\|") if result.violations else ""
    short = by if len(by) <= 160 else f"{by[:160]}..."
    return f"| {result.fault} | {result.title} | {what} | {caught} | {short} |"


def main() -> None:
    """Write the page's generated part anew."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    made = render(load(SURVIVED), load(PROVED))
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
