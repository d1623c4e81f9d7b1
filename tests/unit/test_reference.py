"""Compare docs/reference.md with the code: each reason, metric, flag and label has a line, and no line is stale."""

import ast
import dataclasses
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coxswain.command_line import settings
from coxswain.kernel.election import lease_client, members
from coxswain.kernel.status.health import HEALTHY, Level
from coxswain.settings import VARIABLES, Settings
from coxswain.webapp import identity
from coxswain.webapp.spec import GROUP
from coxswain.webapp.status import RULES
from coxswain.webapp.workload import WORKLOAD
from kubectl_coxswain import kubectl

ROOT = Path(__file__).parents[2]
CODE = ROOT / "operator" / "coxswain"
TEXT = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")

REASON = re.compile(r"[A-Z][A-Za-z]+")
CONDITIONS = {"ConditionState": 1}
"""Calls with the reason of a condition, and the position of that argument."""
CHILDREN = {"Health": 1, "Cause": 1, "not_written": 0}
EVENTS = {"EventRecord": 0}
FALLBACKS = {"reason": 1, "word": 1}
"""Calls that replace an invalid reason."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A call in the operator's code."""

    module: ModuleType
    function: ast.AST
    """The function around the call, or the module."""
    name: str
    node: ast.Call

    @property
    def place(self) -> str:
        return f"{self.module.__name__}:{self.node.lineno}"


def rows(title: str) -> list[list[str]]:
    """Return the cells of the first table in a section of the page."""
    section = re.split(rf"^## {title}$", TEXT, flags=re.MULTILINE)[1].partition("\n## ")[0]
    lines = re.search(r"(?:^\|.*\|\n)+", section, re.MULTILINE)
    assert lines is not None, title
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()[2:]]


def names(cell: str) -> list[str]:
    """Return the words in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def listed(title: str, column: int = 0) -> set[str]:
    """Return the words in backticks of one column."""
    return {name for row in rows(title) for name in names(row[column])}


@cache
def all_calls() -> list[Call]:
    """Return the calls of functions and classes by their bare names."""
    found: list[Call] = []
    for path in sorted(CODE.rglob("*.py")):
        if path.name not in ("__main__.py", "command_line.py"):
            module = importlib.import_module(".".join(path.relative_to(CODE.parent).with_suffix("").parts))
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += calls_in(module, tree, tree)
    return found


def calls_in(module: ModuleType, function: ast.AST, node: ast.AST) -> Iterator[Call]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
            yield Call(module, function, child.func.id, child)
        inside = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from calls_in(module, inside, child)


def calls(names: Mapping[str, int]) -> list[Call]:
    """Return the calls of some functions or classes."""
    return [call for call in all_calls() if call.name in names]


def argument(call: Call, position: int, name: str = "reason") -> ast.expr | None:
    """Return an argument; None if it has its default."""
    if len(call.node.args) > position:
        return call.node.args[position]
    return next((keyword.value for keyword in call.node.keywords if keyword.arg == name), None)


def constants(call: Call, expression: ast.expr) -> set[str]:
    """Return the CamelCase words that an expression may evaluate to: its constants, and those assigned to its names."""
    found: set[str] = set()
    for node in ast.walk(expression):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name):
            found |= local(call, node.id) or words_of(getattr(call.module, node.id, None))
    return {word for word in found if REASON.fullmatch(word)}


def local(call: Call, name: str) -> set[str]:
    """Return the string constants assigned to a name in the function around a call."""
    assigned = [
        node.value
        for node in ast.walk(call.function)
        if isinstance(node, ast.Assign) and any(isinstance(at, ast.Name) and at.id == name for at in node.targets)
    ]
    return {
        node.value
        for value in assigned
        for node in ast.walk(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def words_of(value: Any) -> set[str]:
    """Return the strings of a constant of a module."""
    if isinstance(value, Mapping):
        return {word for word in value.values() if isinstance(word, str)}
    return {value} if isinstance(value, str) else set()


def is_passed_on(call: Call, expression: ast.expr) -> bool:
    """Tell whether the reason comes from another object, or from an argument of a function that is itself searched."""
    attribute = any(isinstance(node, ast.Attribute) and node.attr == "reason" for node in ast.walk(expression))
    around = call.function
    forwarded = isinstance(around, ast.FunctionDef) and around.name in CHILDREN
    return attribute or (forwarded and isinstance(expression, ast.Name))


def reasons(constructors: Mapping[str, int]) -> set[str]:
    """Return the reasons passed to these constructors in the code."""
    found: set[str] = set()
    for call in calls(constructors):
        if call.name == "Cause" and ".webapp." not in call.module.__name__:
            continue  # the reason of a refusal by the API server
        given = argument(call, constructors[call.name])
        if given is None:
            continue
        words = constants(call, given)
        assert words or is_passed_on(call, given), f"{call.place}: no reason can be read from this call"
        found |= words
    return found


@pytest.mark.thorough
def test_every_constructor_is_found() -> None:
    """A renamed class would make the tests below pass without checking anything."""
    for name, position in {**CONDITIONS, **CHILDREN, **EVENTS, **FALLBACKS}.items():
        assert list(calls({name: position})), name


def test_condition_types() -> None:
    assert listed("Conditions") == {*RULES.types}


def test_no_condition_is_unknown() -> None:
    """The description of `status` in the CRD says so."""
    found = [argument(call, 0, "status") for call in calls(CONDITIONS)]
    statuses = [{node.value for node in ast.walk(each) if isinstance(node, ast.Constant)} for each in found if each]
    assert len(statuses) == len(found) > 10
    assert {status for each in statuses for status in each if status} - {"True", "False"} == set()


def test_reasons_of_conditions() -> None:
    assert listed("Conditions", 2) == reasons(CONDITIONS) | {HEALTHY.reason}


def test_health_levels() -> None:
    assert [names(row[0]) for row in rows("Health of children")] == [[level.text] for level in Level]


def test_reasons_of_children() -> None:
    documented = listed("Reasons of children")
    found = reasons(CHILDREN) | {HEALTHY.reason}
    assert found - documented == set()
    assert documented - found - reasons(FALLBACKS) == set(), "lines without a reason in the code"


def test_the_levels_of_children_are_levels() -> None:
    levels = {level.text for level in Level}
    assert [row for row in rows("Reasons of children") if not {*row[1].split(", ")} <= levels] == []


def test_reasons_of_events() -> None:
    documented = listed("Events")
    found = reasons(EVENTS)
    assert found - documented == set()
    assert documented - found - reasons(FALLBACKS) == set(), "lines without an Event in the code"


def test_a_fallback_is_listed() -> None:
    assert reasons(FALLBACKS) - listed("Reasons of children") - listed("Events") == set()


def test_actions_of_events() -> None:
    found: dict[str, set[str]] = {}
    for call in calls(EVENTS):
        given, action = argument(call, 0), argument(call, 1, "action")
        assert given is not None
        assert action is not None
        for word in constants(call, given):
            found.setdefault(word, set()).update(constants(call, action))
    documented = {name: {*names(row[1])} for row in rows("Events") for name in names(row[0])}
    assert {name: documented.get(name) for name in found} == found


def test_metrics() -> None:
    """test_metrics.py compares the names with /metrics, and the labels with the series there."""
    found = {}
    for call in calls({"Counter": 0, "Gauge": 0, "Histogram": 0, "_gauge": 0}):
        if call.module.__name__ not in ("coxswain.metrics", "coxswain.gauges"):
            continue
        name = ast.literal_eval(call.node.args[0])
        labels = ast.literal_eval(call.node.args[2]) if len(call.node.args) > 2 else []
        found[name + ("_total" if call.name == "Counter" else "")] = (call.name.strip("_").capitalize(), labels)
    assert len(found) == 32
    assert {names(row[0])[0]: (row[1], names(row[2])) for row in rows("Metrics")} == found


def test_every_page_names_existing_metrics() -> None:
    """A query with a wrong name finds nothing, and says so to nobody."""
    kinds = {names(row[0])[0]: row[1] for row in rows("Metrics")}
    series = {name for name, kind in kinds.items() if kind != "Histogram"}
    parts = [
        f"{name}_{part}" for name, kind in kinds.items() if kind == "Histogram" for part in ("bucket", "sum", "count")
    ]
    used = {}
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"\b(?:coxswain|controller_runtime|workqueue|rest_client)_[a-z_]*[a-z]\b(?!\*)", text)
        used[page.name] = set(found) - (set(kinds) if page.name == "reference.md" else set())
    assert len(used["metrics.md"]) >= 20
    assert {page: found - series - set(parts) for page, found in used.items() if found - series - set(parts)} == {}


def test_metrics_are_made_in_one_module() -> None:
    imports = re.compile(r"from prometheus_client import .*\b(Counter|Gauge|Histogram|Summary)\b")
    assert [p.name for p in CODE.rglob("*.py") if imports.search(p.read_text(encoding="utf-8"))] == ["metrics.py"]


def test_flags(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        settings(["--help"], {})
    flags = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert listed("Flags and environment variables") == flags


def test_environment_variables_and_defaults() -> None:
    table = rows("Flags and environment variables")
    documented = {flag.strip("`"): (variable.strip("`"), default.strip("`")) for flag, variable, default, _ in table}
    usual = Settings()
    expected = {flag_of(name): (variable, default_of(getattr(usual, name))) for name, variable in VARIABLES.items()}
    without = dict.fromkeys(documented.keys() - expected.keys(), ("", ""))
    assert documented == {**without, **expected}


def flag_of(setting: str) -> str:
    return "--" + setting.removesuffix("s" if setting == "namespaces" else "").replace("_", "-")


def default_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else value if isinstance(value, str) else ""


def test_timings() -> None:
    """Every setting has a flag, or a line here with its value."""
    documented = {names(row[0])[0]: row[1] for row in rows("Timings and limits")}
    assert documented == {
        name: f"{value:g}" for name, value in fixed(Settings()) if name not in {*VARIABLES, "kubeconfig", "context"}
    }


def fixed(found: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return the settings by name; those of a group as group.name."""
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        if dataclasses.is_dataclass(value):
            yield from fixed(value, f"{field.name}.")
        else:
            yield prefix + field.name, value


def test_labels_and_annotations() -> None:
    policy = (ROOT / "manifests" / "components" / "admission" / "policy.yaml").read_text(encoding="utf-8")
    asked = set(re.findall(rf'\?"({re.escape(GROUP)}/\w+)"', policy))
    own = {value for value in vars(identity).values() if isinstance(value, str) and value.startswith(f"{GROUP}/")}
    leases = {lease_client.SLOT_LABEL, members.ANNOTATION}
    standard = {*identity.standard_labels(""), identity.CHANGE_CAUSE_ANNOTATION}
    assert listed("Labels and annotations") == {*own, *asked, *leases, *standard}


def test_field_managers() -> None:
    found = {WORKLOAD.projector.manager, WORKLOAD.projector.keeper, kubectl.MANAGER}
    assert listed("Field managers") == found
