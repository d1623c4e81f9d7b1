"""The generated part of docs/faults.md names the tests without a result and the tests without a proof."""

import re
from dataclasses import replace
from pathlib import Path

from fault_engine.page import load, render
from fault_engine.results import Result
from faults.render import NOT_TRIED

DOCS = Path(__file__).parents[2] / "docs"

RESULT = Result("F13", "edits", "tests/faults/test_x.py::test_edit[a]", ("O1",), "sees-no-drift", 0.1, outcome="passed")
KNOWN = {RESULT.test: "sees-no-drift"}


def page(survived: list[Result], proved: list[Result], known: dict[str, str | None]) -> str:
    return render(survived, proved, {}, {}, known)


def test_the_page_names_a_test_without_a_result() -> None:
    proved = [replace(RESULT, outcome="xfailed")]
    assert "No result yet" not in page([RESULT], proved, {**KNOWN})
    found = page([RESULT], proved, {**KNOWN, "tests/faults/test_x.py::test_edit[b]": "sees-no-drift"})
    assert "- No result yet: `test_x.py::test_edit[b]`." in found


def test_the_page_names_a_test_without_a_proof() -> None:
    """One parameter of a test function proves each break."""
    other = "tests/faults/test_x.py::test_edit[b]"
    survived = [RESULT, replace(RESULT, test=other)]
    known: dict[str, str | None] = {**KNOWN, other: "sees-no-drift", "tests/faults/test_x.py::test_kept": None}
    assert "- No proof of failure yet: `test_x.py::test_edit` (`sees-no-drift`)." in page(survived, [], known)
    assert "No proof of failure yet" not in page(survived, [replace(RESULT, outcome="xfailed")], known)


def test_the_table_of_faults_explains_each_fault_of_the_results() -> None:
    text = (DOCS / "faults.md").read_text(encoding="utf-8")
    table = text.partition("\n## Faults\n")[2].partition("\n## ")[0]
    known = {each.fault for each in load(DOCS / "faults-survived.json")} | set(NOT_TRIED)
    assert known - set(re.findall(r"^\| (F\d+) \|", table, re.MULTILINE)) == {"mix", "none"}
