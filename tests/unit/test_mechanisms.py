"""docs/mechanisms.md has all ten rows, and the files named there exist."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXT = (DOCS / "mechanisms.md").read_text(encoding="utf-8")
CODE = ROOT / "operator" / "coxswain"
SUITES = ("unit", "integration", "kind", "faults", "gateway")

ROWS: Mapping[int, Sequence[str]] = {
    int(cells[0]): cells
    for line in TEXT.splitlines()
    if re.match(r"\| \d+ \|", line)
    for cells in [[cell.strip() for cell in line.strip("|").split(" | ")]]
}
"""Number, mechanism, its use in Coxswain, code, proof, state."""


def paths(text: str) -> list[str]:
    """Return the paths in backticks."""
    return [word for word in re.findall(r"`([^` ]+)`", text) if word.endswith((".py", ".yaml", ".md", "/", "/*"))]


def proofs_named(proof: str) -> list[Path]:
    """Return the test files named in a proof, each after the name of its suite and a colon."""
    parts = re.split(rf"\b({'|'.join(SUITES)}): ", proof)
    return [
        ROOT / "tests" / suite / name
        for suite, text in zip(parts[1::2], parts[2::2], strict=True)
        for name in paths(text)
    ]


def code_named(cell: str) -> list[Path]:
    """Return the files named in a cell of code. A file without a folder is in the folder of the previous file."""
    found: list[Path] = []
    for name in paths(cell):
        bare = name.removesuffix("*")
        beside = found[-1].parent / bare if found else CODE / bare
        found.append(next((path for path in (ROOT / bare, CODE / bare) if path.exists()), beside))
    return found


def test_there_are_ten_mechanisms() -> None:
    assert sorted(ROWS) == list(range(1, 11))
    assert {len(cells) for cells in ROWS.values()} == {6}


@pytest.mark.parametrize("number", range(1, 11))
def test_a_row_says_its_state_and_names_code_and_tests_that_exist(number: int) -> None:
    _, mechanism, does, code, proof, state = ROWS[number]
    assert mechanism
    assert does
    assert state == "done" or re.match(r"partly: .+", state), "a partly done row must name the missing part"
    assert code_named(code)
    assert proofs_named(proof)
    named = [*code_named(code), *proofs_named(proof)]
    assert [str(path.relative_to(ROOT)) for path in named if not path.exists()] == []


@pytest.mark.parametrize("number", range(1, 11))
def test_a_row_is_proved_against_a_real_api_server(number: int) -> None:
    assert {path.parent.name for path in proofs_named(ROWS[number][4])} & {"integration", "kind", "faults"}


def test_the_letters_of_the_forms_stand_for_files_that_exist() -> None:
    letters = dict(re.findall(r"\*\*([A-Z])\*\*\s+`(test_\w+\.py)`", TEXT))
    assert len(letters) == 3
    assert [name for name in letters.values() if not (ROOT / "tests" / "integration" / name).exists()] == []
    section = TEXT.partition("## The forms of resourceVersion")[2].partition("\n## ")[0]
    forms = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "| " in line][
        1:
    ]
    used = {letter for cells in forms for letter in cells[-1].rstrip("|").strip().split(", ")}
    assert used == set(letters)
    assert {len(cells) for cells in forms} == {4}


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT) if "://" not in link]
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []
