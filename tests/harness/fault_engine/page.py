"""The results of a fault suite as Markdown: the tests, and the broken operators on which they failed."""

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from fault_engine.proof import Break, violated
from fault_engine.results import Result


def load(file: Path) -> list[Result]:
    """Return the results in a file; none if it does not exist."""
    return [Result(**data) for data in json.loads(file.read_text())] if file.exists() else []


def current(results: Sequence[Result], known: Mapping[str, str | None], *, proofs: bool = False) -> list[Result]:
    """Return the results of existing tests. Proofs must also be of the break that the test names now."""
    return [
        result for result in results if result.test in known and not (proofs and known[result.test] != result.broken)
    ]


def render(
    survived: Sequence[Result],
    proved: Sequence[Result],
    breaks: Mapping[str, Break],
    not_tried: Mapping[str, str],
    known: Mapping[str, str | None],
) -> str:
    """Return the generated part of a page.

    Args:
        survived: results of the tests.
        proved: results of the tests on broken operators.
        breaks: the known breaks.
        not_tried: faults without a test, with the reason.
        known: the node ids of all tests, each with its break.
    """
    tried = [result for result in survived if result.outcome in ("passed", "failed")]
    passed = [result for result in tried if result.outcome == "passed"]
    caught = [result for result in proved if result.outcome == "xfailed"]
    runs = sum(result.runs for result in tried)
    scales = ", ".join(sorted({f"{result.scale:g}" for result in tried}))
    lines = [
        f"{len(tried)} of {len(known)} tests, {runs} runs, at a time scale of {scales}:",
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
        *(f"- {fault}: {why}." for fault, why in not_tried.items()),
        *_missing("No result yet", {f"`{_short(test)}`" for test in known.keys() - {each.test for each in tried}}),
        *_missing("No proof of failure yet", _to_prove(known) - _to_prove({each.test: each.broken for each in proved})),
        "",
        "### Proof of failure",
        "",
        "Each test ran once more on each operator without the tested mechanism, with one of its parameters. Before,",
        "this operator survived the script without its faults (or the script named by the break), and its process",
        "stayed alive. *Named* is the oracle that must reject the run; `test` is an assertion of the test itself.",
        "",
        "| fault | test | broken operator | named | caught | found | measured at |",
        "|---|---|---|---|---|---|---|",
        *(_proof(result, breaks) for result in sorted(proved, key=_order)),
    ]
    return "\n".join(lines)


def _missing(what: str, names: Set[str]) -> list[str]:
    return [f"- {what}: {', '.join(sorted(names))}."] if names else []


def _to_prove(breaks: Mapping[str, str | None]) -> set[str]:
    """Return the test functions with their breaks: one parameter of a function proves each."""
    return {f"`{_short(test).partition('[')[0]}` (`{broken}`)" for test, broken in breaks.items() if broken}


def _short(test: str) -> str:
    """Return a node id without its folder."""
    return test.removeprefix("tests/faults/")


def _order(result: Result) -> tuple[int, str]:
    number = result.fault.removeprefix("F")
    return int(number) if number.isdecimal() else 99, result.test


def _grouped(results: Sequence[Result]) -> list[list[Result]]:
    """Return the results, grouped by title."""
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
    """Return the commits and dates of runs."""
    found = {(result.date, result.commit) for result in results if result.commit}
    return ", ".join(f"{commit} ({date})" for date, commit in sorted(found)) or "no known commit"


def _proof(result: Result, breaks: Mapping[str, Break]) -> str:
    known = breaks.get(result.broken or "")
    what = known.what if known else result.broken
    caught = "yes" if result.outcome == "xfailed" else "**no**"
    found = _found(result).replace("|", "\\|")
    short = found if len(found) <= 160 else f"{found[:160]}..."
    said = (result.fault, result.title, what, " or ".join(result.by), caught, short, _measured([result]))
    return f"| {' | '.join(map(str, said))} |"


def _found(result: Result) -> str:
    """Return the failure on the broken operator: the first violation by a named oracle, else the first violation."""
    named = [each for each in result.violations if violated([each]) & set(result.by)]
    for violation in [*named, *result.violations]:
        return violation
    return "an assertion of the test" if result.outcome == "xfailed" else "not detected"
