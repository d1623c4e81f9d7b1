"""T11: the documents claim only facts. Figures have their command, commit and date; no sentence speaks of each test."""

import re
from pathlib import Path

import pytest

from coxswain.settings import Settings
from simulation.conditions import Conditions
from simulation.run import play
from simulation.script import Script, Step

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")} | {"README.md": README}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
MEASURED = ("benchmarks.md", "conflicts.md", "costs.md", "faults.md", "kind.md", "sequence.md", "simulation.md")
"""The pages with figures of a run."""

_TESTS = r"(?:tests?|runs?|oracles?|mutants?|breaks?)"
_EACH = rf"(?:\b(?:each|every|all)\b(?: \w+){{0,2}} {_TESTS}\b)"
SWEEPING = (
    re.compile(rf"{_EACH} (?:is|are|was|were|has been|have been) (?:seen|shown|proved)", re.IGNORECASE),
    re.compile(r"\bcompar\w+ [^.]*\b(?:every|each|all) status", re.IGNORECASE),
)
"""Claims that no report of a run can support."""


def claims(text: str) -> list[str]:
    """Return the sweeping claims of a page."""
    sentence = " ".join(text.split())
    return [found[0] for pattern in SWEEPING for found in pattern.finditer(sentence)]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_claims_more_than_a_run_shows(page: str) -> None:
    assert claims(PAGES[page]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Each test was seen to fail.",
        "each run is compared with a run without faults: every status",
        "It compares the log with every status.",
        "All the fault tests have been seen to fail",
    ],
)
def test_the_claims_of_the_first_readme_are_found(text: str) -> None:
    assert claims(text)


@pytest.mark.parametrize("page", MEASURED)
def test_figures_name_a_command_a_commit_and_a_date(page: str) -> None:
    text = " ".join(PAGES[page].split())
    commands = set(re.findall(r"`make ([a-z-]+)", text))
    assert commands & TARGETS, "no command prints them"
    assert commands <= TARGETS
    near = re.search(r"\b[0-9a-f]{7}\b.{0,40}\b20\d\d-\d\d-\d\d\b|\b20\d\d-\d\d-\d\d\b.{0,40}\b[0-9a-f]{7}\b", text)
    assert near, "neither commit nor date"


def test_the_writes_that_the_readme_counts() -> None:
    """On the model cluster, with a Deployment controller and a kubelet: minutes pass after Ready."""
    claim = re.search(r"costs (\d+) child writes and (\d+) status writes until it is Ready, and none while", README)
    assert claim is not None
    made = {"at": "a", "name": "web-0", "size": 2, "image": "app:1", "replicas": 1}
    outcome = play(Script(1, "readme", Conditions(), (Step(1.0, "create", made),)), keep=10_000)
    assert outcome.why == ""
    assert outcome.seconds > 200
    writes = [line for line in outcome.lines if " coxswain: PATCH " in line]
    statuses = [line for line in writes if "/webapps/web-0/status " in line]
    assert (len(writes) - len(statuses), len(statuses)) == (int(claim[1]), int(claim[2]))


def test_the_interval_that_the_readme_names() -> None:
    [minutes] = re.findall(r"every (\d+) min \(resync\)", README)
    assert float(minutes) * 60 == Settings().resync_interval
