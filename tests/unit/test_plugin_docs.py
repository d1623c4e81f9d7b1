"""docs/plugin.md has each command, option and field of the plugin, and nothing else."""

import ast
import inspect
import re
from pathlib import Path

from coxswain.kernel.status.health import Level
from coxswain.webapp.kinds import WEBAPP
from kubectl_coxswain import owned, reports
from kubectl_coxswain.arguments import COMMANDS, KUBECTL_OPTIONS
from kubectl_coxswain.commands import drift
from kubectl_coxswain.reports import camel
from kubectl_coxswain.verdict import FINAL

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "plugin.md").read_text(encoding="utf-8")
KINDS = {
    "StatusReport": "Status",
    "TreeReport": "Tree",
    "WhyReport": "Why",
    "DriftReport": "Drift",
    "ConflictsReport": "Conflicts",
    "HistoryReport": "History",
    "PlanReport": "Plan",
    "VersionReport": "Version",
}


def documented() -> dict[str, list[str]]:
    """Return the fields of each table below a heading of the third level."""
    return {name: re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE) for name, body in sections().items()}


def sections() -> dict[str, str]:
    """Return the text below each heading of the third level."""
    parts = re.split(r"^### (\w+)$", TEXT.partition("## Output for programs")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def meaning_of_state(name: str) -> str:
    """Return the meaning of the field `state` in one table."""
    found = re.search(r"^\| `state` \| string \| (.+) \|$", sections()[name], re.MULTILINE)
    assert found is not None, name
    return found[1]


def words(*nodes: ast.AST) -> set[str]:
    """Return the CamelCase constants below some nodes."""
    found = (each.value for node in nodes for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {value for value in found if isinstance(value, str) and re.fullmatch(r"([A-Z][a-z]+)+", value)}


def test_every_field_of_the_output_is_documented() -> None:
    classes = [found for _, found in inspect.getmembers(reports, inspect.isclass) if hasattr(found, "_fields")]
    fields = {KINDS.get(each.__name__, each.__name__): [camel(name) for name in each._fields] for each in classes}
    assert len(fields) > 15
    assert documented() == fields


def test_the_kinds_are_those_of_the_output() -> None:
    commands = (ROOT / "operator" / "kubectl_coxswain" / "commands").glob("*.py")
    shown = {name for path in commands for name in re.findall(r'\.show\("(\w+)"', path.read_text(encoding="utf-8"))}
    assert shown == {*KINDS.values(), "Done"}


def test_every_command_and_option_is_documented() -> None:
    table = TEXT.partition("\n## Install")[0]
    assert [
        name for name in COMMANDS if f"`{name}`" not in table and f"`{name}," not in table and name not in table
    ] == []
    assert [option for option in KUBECTL_OPTIONS if f"`{option}`" not in TEXT] == []


def test_every_state_is_documented() -> None:
    states = TEXT.partition("| state | meaning |")[2].partition("\n\n")[0]
    source = (ROOT / "operator" / "kubectl_coxswain" / "verdict.py").read_text(encoding="utf-8")
    found = {*FINAL, *re.findall(r'"(Degraded|Progressing|Pending|Contested|Paused|Healthy)"', source)}
    assert len(found) == 9
    assert [state for state in found if state not in states] == []


def test_the_states_of_a_node_are_documented() -> None:
    """Those of the WebApp and of children have tables of their own, and those of pods are the kubelet's."""
    elsewhere = {*FINAL, "Pending", *(level.text for level in Level), WEBAPP.kind}
    assert (
        set(re.findall(r"`(\w+)`", meaning_of_state("Node"))) == words(ast.parse(inspect.getsource(owned))) - elsewhere
    )


def test_the_states_of_drift_are_documented() -> None:
    returned = [each for each in ast.walk(ast.parse(inspect.getsource(drift._state))) if isinstance(each, ast.Return)]
    found = words(*returned) | set(drift._STATES.values())
    documented = re.findall(r"[A-Z]\w+", meaning_of_state("ChildDrift"))
    assert sorted(documented) == sorted(found)
