"""Rules of the source tree that no tool checks."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_operator_is_a_source_root_and_no_package() -> None:
    """Python has a module `operator`. An __init__.py or a loose module in this folder would shadow it."""
    assert [path.name for path in (ROOT / "operator").glob("*.py")] == []


def test_files_are_short() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in ("operator", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 350
    }
    assert long == {}


def test_make_help_lists_each_target_and_none_of_them_is_a_file() -> None:
    """`docs` is also a folder: without .PHONY, make would consider the target up to date."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    assert {"check", "test", "dev", "docs"} <= targets
    assert set(re.findall(r"^\.PHONY: ([a-z-]+)$", text, re.MULTILINE)) == targets
    assert set(re.findall(r"^([a-z-]+):.* ## \S", text, re.MULTILINE)) == targets
    assert text.index("##@ ") < min(text.index(f"\n{target}:") for target in targets)
