"""The packages of tests/harness can be published alone: they import no operator and no tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[1] / "harness"
FORBIDDEN = {"coxswain", "example", "faults", "integration", "unit", "rendered", "simulation", "bench", "demo"}


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level package of each imported module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield str(node.module).partition(".")[0]


@pytest.mark.parametrize("package", sorted(path.name for path in HARNESS.iterdir() if path.is_dir()))
def test_the_harness_imports_no_operator_and_no_tests(package: str) -> None:
    files = list((HARNESS / package).rglob("*.py"))
    found = {str(path.relative_to(HARNESS)): FORBIDDEN & set(imported(path)) for path in files}
    assert {path: names for path, names in found.items() if names} == {}
