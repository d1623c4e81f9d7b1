"""Rules of the tree that no tool checks."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_operator_is_a_source_root_and_no_package() -> None:
    """Python has a module of that name: an __init__.py or a loose module there would shadow it."""
    assert [path.name for path in (ROOT / "operator").glob("*.py")] == []


def test_files_are_short() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in ("operator", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 350
    }
    assert long == {}
