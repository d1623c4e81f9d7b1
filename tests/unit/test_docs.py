"""docs/architecture.md and CONTRIBUTING.md match the source in both directions."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ROOT / "operator" / "coxswain"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

_TABLES = ("dict", "set", "list", "deque", "defaultdict", "OrderedDict", "Counter", "WeakKeyDictionary")


def section(title: str) -> str:
    """Return a section of the page."""
    return ARCHITECTURE.partition(f"\n## {title}")[2].partition("\n## ")[0]


def modules(text: str) -> set[str]:
    """Return the names of the Python files in backticks."""
    return {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", text)}


def keeps_a_table(path: Path) -> bool:
    """Tell whether objects of a module start with an empty table that others fill."""
    inits = (
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    return any(
        isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute) and _is_empty_table(node.value)
        for init in inits
        for node in ast.walk(init)
    )


def _is_empty_table(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _TABLES


def test_every_table_is_among_what_is_remembered() -> None:
    """K34: the page must list every table that can grow."""
    keeping = {path.name for path in CODE.rglob("*.py") if keeps_a_table(path)}
    assert "store.py" in keeping
    assert keeping - modules(section("What is remembered")) == set()


def test_each_module_that_is_named_exists() -> None:
    there = {path.name for folder in (CODE, ROOT / "tests") for path in folder.rglob("*.py")}
    assert modules(ARCHITECTURE) - there == set()


def test_the_tree_in_contributing_is_that_of_the_repository() -> None:
    """K34: the Dockerfile was listed below crds/. Two more spaces are one level deeper."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The tree")[2].partition("\n## ")[0]
    parents: dict[int, Path] = {0: ROOT}
    missing = []
    for line in text.splitlines():
        found = re.match(r"    (?P<indent> *)(?P<names>\S.*)", line)
        if found is None:
            continue
        depth = len(found["indent"]) // 2
        names = re.findall(r"^[\w.-]+/?|(?<=  )[\w-]+\.py(?=  )|(?<=  )[\w-]+/(?=  )", found["names"])
        for name in names:
            path = parents[depth] / name
            if not path.exists():
                missing.append(str(path.relative_to(ROOT)))
            parents[depth + 1] = path
    assert missing == []
    assert parents[1].name == "docs"
