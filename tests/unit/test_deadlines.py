"""T13: no test waits about as long as a delay of the product: which of the two ends first would be a race.

`make test` failed in this way on other machines: a status appeared after at most 30 s, and the test waited 30 s.
"""

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coxswain.settings import Settings

SUITE = Path(__file__).parents[1] / "integration"
WITHOUT_AN_OPERATOR = {"test_control_plane.py", "collection.py"}
MARGIN = 1.2
"""The minimum ratio between a deadline and a delay."""
_SHORTEST = 5.0
"""Seconds: shorter delays pass within each deadline."""


def delays(settings: Any = None, path: str = "settings") -> dict[str, float]:
    """Return the delays of the product in seconds, by setting."""
    found: dict[str, float] = {}
    settings = Settings() if settings is None else settings
    for field in dataclasses.fields(settings):
        value, name = getattr(settings, field.name), f"{path}.{field.name}"
        if dataclasses.is_dataclass(value):
            found |= delays(value, name)
        elif isinstance(value, float) and value >= _SHORTEST:
            found[name] = value
    return found


def deadlines(source: str) -> Iterator[tuple[int, float]]:
    """Yield the line and the seconds of each wait for the operator in a test module."""
    for number, line in enumerate(source.splitlines(), start=1):
        for seconds in re.findall(r"--timeout=(\d+)s", line):
            yield number, float(seconds)
    for node in ast.walk(ast.parse(source)):
        for value in _timeouts(node):
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                yield value.lineno, float(value.value)


def _timeouts(node: ast.AST) -> list[ast.expr]:
    """Return the timeouts of a call, of a function's default, or of a constant."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):  # not the timeout of a socket or a process
        return [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
    if isinstance(node, ast.FunctionDef):
        names = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        return [value for name, value in zip(names, node.args.defaults, strict=True) if name.arg == "timeout"]
    if isinstance(node, ast.Assign):
        targets = [each.id for each in node.targets if isinstance(each, ast.Name)]
        return [node.value] if set(targets) & {"DEADLINE_SECONDS", "PATIENCE_SECONDS"} else []
    return []


def races(source: str) -> list[str]:
    """Return the deadlines near a delay of the product."""
    return [
        f"line {line}: {seconds:.0f} s is near {name} = {delay:.0f} s"
        for line, seconds in deadlines(source)
        for name, delay in delays().items()
        if delay / MARGIN < seconds < delay * MARGIN
    ]


@pytest.mark.parametrize("name", sorted({path.name for path in SUITE.glob("*.py")} - WITHOUT_AN_OPERATOR))
def test_no_deadline_equals_a_delay_of_the_product(name: str) -> None:
    assert races((SUITE / name).read_text(encoding="utf-8")) == []


def test_the_race_of_the_first_release_is_found() -> None:
    assert delays()["settings.status.stale_interval"] == 30
    assert any("stale_interval" in race for race in races("DEADLINE_SECONDS = 30.0"))
    assert any("drift_interval" in race for race in races("eventually(check, 'it is told', timeout=60)"))
    assert races("def wait(timeout: float = 31): pass")
    assert races("eventually(check, 'it is told', timeout=40)") == []


def test_there_are_deadlines() -> None:
    found = [each for path in SUITE.glob("*.py") for each in deadlines(path.read_text(encoding="utf-8"))]
    assert len(found) >= 20
