"""Rules of the source tree that no tool checks."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from coxswain.kernel.api.transport import USER_AGENT

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


def test_no_message_of_the_kernel_names_a_workload() -> None:
    """Any workload runs on the kernel, so its messages say "the operator"."""
    texts = [text for path in sorted((ROOT / "operator/coxswain/kernel").rglob("*.py")) for text in _texts(path)]
    assert sum("he operator" in text for text in texts) >= 20
    assert [text for text in texts if re.search(r"coxswain(?!\.dev/)|webapp", text, re.IGNORECASE)] == [USER_AGENT]


def _texts(path: Path) -> Iterator[str]:
    """Return the strings of a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in loose:
            yield node.value
