"""Details of the fault suite: the time scale, the kept results of a test, the page, and settling."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coxswain.settings import Settings
from fault_engine import page as pages
from fault_engine.objects import is_settled
from fault_engine.results import Result, Results
from fault_engine.scale import Scale
from faults import breaks
from faults.scaled_settings import FIXED_SECONDS, LEAST_SECONDS, scaled

PASSED = Result(
    fault="F7",
    title="ERROR 410 in the stream",
    test="tests/faults/test_watches.py::test_error_410",
    oracles=("O1", "O3"),
    broken="never-retries",
    scale=0.1,
    runs=3,
    recoveries=[1.25, 0.5],
    waits=[(30.0, 3.0)],
    seconds=12.0,
    by=("O1",),
    commit="911eee3",
    date="2026-11-22",
    outcome="passed",
)
FAILED = dataclasses.replace(PASSED, fault="F10", title="compaction", test="t::compaction", outcome="failed")
CAUGHT = dataclasses.replace(PASSED, outcome="xfailed", violations=["step 3: after 40 s O1: a | b"])


@given(st.floats(0, 1e5), st.floats(0.001, 1), st.floats(0, 1e3))
def test_a_scaled_wait_is_between_its_least_and_what_the_table_says(table: float, factor: float, least: float) -> None:
    seconds = Scale(factor).seconds(table, least)
    assert seconds <= table
    assert seconds >= min(table, least)
    assert Scale(1).seconds(table, least) == table


def _flat(settings: Any, place: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in dataclasses.fields(settings):
        value = getattr(settings, each.name)
        if dataclasses.is_dataclass(value):
            found |= _flat(value, f"{place}{each.name}.")
        else:
            found[place + each.name] = value
    return found


def test_scaled_settings_are_shorter_and_nothing_else() -> None:
    before, after = _flat(Settings()), _flat(scaled(Settings(), Scale(0.1)))
    assert before.keys() == after.keys()
    changed = {name.rpartition(".")[2] for name in before if before[name] != after[name]}
    assert changed <= LEAST_SECONDS.keys() | FIXED_SECONDS.keys()
    for name, value in after.items():
        assert type(value) is type(before[name]), name
        if name.rpartition(".")[2] in LEAST_SECONDS:
            assert min(before[name], LEAST_SECONDS[name.rpartition(".")[2]]) <= value <= before[name], name


def test_without_a_scale_only_progress_is_told_sooner() -> None:
    before, after = _flat(Settings()), _flat(scaled(Settings(), Scale(1.0)))
    changed = {name.rpartition(".")[2] for name in before if before[name] != after[name]}
    assert changed == FIXED_SECONDS.keys()


def test_the_names_that_are_scaled_exist() -> None:
    names = {name.rpartition(".")[2] for name in _flat(Settings())}
    assert names >= LEAST_SECONDS.keys() | FIXED_SECONDS.keys()


def test_a_result_is_read_again() -> None:
    again = Result(**json.loads(json.dumps(PASSED.to_json())))
    assert again.to_json() == PASSED.to_json()


class _Plugins:
    def get_plugin(self, _name: str) -> None:
        return None


class _Config:
    """The part of pytest's Config that results need."""

    pluginmanager = _Plugins()

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def getoption(self, _name: str) -> Path | None:
        return self._file


def _reports(result: Result, outcome: str, *, xfailed: bool = False) -> list[pytest.TestReport]:
    made = []
    for when in ("setup", "call", "teardown"):
        report = pytest.TestReport(
            result.test, ("", 0, ""), {}, outcome if when == "call" else "passed", None, when  # type: ignore[arg-type]
        )  # fmt: skip
        report.user_properties = [("fault", result.to_json())]
        if xfailed and when == "call":
            report.wasxfail = "broken on purpose"
        made.append(report)
    return made


def _kept(file: Path) -> dict[str, str]:
    return {data["test"]: data["outcome"] for data in json.loads(file.read_text())}


def test_results_are_kept_beside_those_of_other_tests(tmp_path: Path) -> None:
    file = tmp_path / "deeper" / "results.json"
    for result, outcome in ((PASSED, "passed"), (FAILED, "failed"), (PASSED, "failed")):
        results = Results(_Config(file))  # type: ignore[arg-type]
        for report in _reports(result, outcome):
            results.pytest_runtest_logreport(report)
    assert _kept(file) == {PASSED.test: "failed", FAILED.test: "failed"}


def test_what_must_fail_and_does_is_called_xfailed(tmp_path: Path) -> None:
    results = Results(_Config(tmp_path / "results.json"))  # type: ignore[arg-type]
    for report in _reports(PASSED, "skipped", xfailed=True):
        results.pytest_runtest_logreport(report)
    assert _kept(tmp_path / "results.json") == {PASSED.test: "xfailed"}


def test_nothing_is_written_without_a_file() -> None:
    results = Results(_Config(None))  # type: ignore[arg-type]
    for report in _reports(PASSED, "passed"):
        results.pytest_runtest_logreport(report)


def _page(survived: list[Result], proved: list[Result]) -> str:
    known = {each.test: None for each in (*survived, *proved)}
    return pages.render(survived, proved, breaks.known(), {"F18": "requires more than one replica"}, known)


def test_the_page_counts_what_was_survived_and_what_not() -> None:
    skipped = dataclasses.replace(PASSED, test="t::skipped", outcome="skipped")
    page = " ".join(
        _page([FAILED, skipped, PASSED], [CAUGHT, dataclasses.replace(CAUGHT, test="t::caught"), FAILED]).split()
    )
    assert "2 of 4 tests, 6 runs, at a time scale of 0.1: 1 passed, 1 failed" in page
    assert "2 of 3 tests failed as required" in page
    assert page.index("| F7 |") < page.index("| F10 |"), "the rows are in the order of the numbers"
    assert "| F7 | ERROR 410 in the stream | 3 | O1 O3 | yes | 1.2 | 3 (30) | 911eee3 (2026-11-22) |" in page
    assert "| F10 | compaction | 3 | O1 O3 | **no** |" in page


def test_the_page_says_how_a_test_was_seen_to_fail() -> None:
    page = _page([], [CAUGHT])
    what = breaks.known()["never-retries"].what
    row = (
        f"| F7 | ERROR 410 in the stream | {what} | O1 | yes | step 3: after 40 s O1: a \\| b | 911eee3 (2026-11-22) |"
    )
    assert row in page
    assert "proofs at 911eee3 (2026-11-22)" in page


@pytest.mark.parametrize(
    ("outcome", "violations", "found"),
    [
        ("xfailed", ["O4: too late", "after 40 s O1: a"], "after 40 s O1: a"),
        ("failed", ["O4: too late"], "O4: too late"),
        ("xfailed", [], "an assertion of the test"),
        ("failed", [], "not detected"),
    ],
)
def test_a_proof_shows_the_violation_of_the_named_oracle(outcome: str, violations: list[str], found: str) -> None:
    page = _page([], [dataclasses.replace(CAUGHT, outcome=outcome, violations=violations)])
    assert f"| {found} | 911eee3" in page


def test_results_of_tests_that_are_no_more_are_left_out() -> None:
    gone = dataclasses.replace(CAUGHT, test="t::gone")
    other = dataclasses.replace(CAUGHT, test="t::other", broken="reopens-watches-at-once")
    known = {CAUGHT.test: CAUGHT.broken, "t::other": "writes-events-forever"}
    assert pages.current([CAUGHT, gone, other], known, proofs=True) == [CAUGHT]
    assert pages.current([CAUGHT, gone, other], known) == [CAUGHT, other]


def test_the_page_says_at_which_commit_each_row_was_measured() -> None:
    later = dataclasses.replace(PASSED, test="t::later", commit="abc1234", date="2026-11-23")
    page = _page([PASSED, later], [])
    assert "Tests measured at 911eee3 (2026-11-22), abc1234 (2026-11-23); proofs at no known commit" in page


def test_the_mix_comes_last_on_the_page() -> None:
    mix = dataclasses.replace(PASSED, fault="mix", title="mixed", test="t::mix")
    page = _page([mix, FAILED], [])
    assert page.index("| F10 |") < page.index("| mix |")


def _webapp(observed: int | None, **conditions: str) -> dict[str, Any]:
    status = {"conditions": [{"type": kind, "status": said} for kind, said in conditions.items()]}
    return {
        "metadata": {"generation": 2},
        "status": status if observed is None else {**status, "observedGeneration": observed},
    }


@pytest.mark.parametrize(
    ("webapp", "final"),
    [
        (_webapp(2, Ready="True", Progressing="False"), True),
        (_webapp(2, Ready="False", Progressing="False"), True),
        (_webapp(2, Ready="True"), True),
        (_webapp(2, Ready="False", Progressing="True"), False),
        (_webapp(1, Ready="True", Progressing="False"), False),
        (_webapp(None, Ready="True"), False),
        (_webapp(2), False),
        ({"metadata": {"generation": 1}}, False),
    ],
)
def test_what_has_settled(webapp: dict[str, Any], final: bool) -> None:
    assert is_settled(webapp) is final
