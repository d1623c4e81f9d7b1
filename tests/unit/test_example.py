"""The example operator: its manifests, and the tutorial with quotations from it."""

import ast
import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coxswain.kernel.conflicts.managed_fields import ANOTHER_OPERATOR
from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.child.dependencies import awaited
from coxswain.kernel.status.conflict_report import Conflict
from coxswain.kernel.status.health import Child, Health, Level
from coxswain.kernel.workload import ChildReport, Observations, Removal
from coxswain.webapp.pod_security import violations
from example.scheduled_task import CONFIG_MAP, CRON_JOB, WORKLOAD, Task, cron_job_health
from rendered import Empty, observed_as
from yaml_files import document, documents

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "operator" / "example"
COPIED_TEST = ROOT / "tests" / "integration" / "test_example.py"
TUTORIAL = (ROOT / "docs" / "your-own-operator.md").read_text(encoding="utf-8")
SPEC: dict[str, Any] = document(EXAMPLE / "backup.yaml")["spec"]


def task(**spec: Any) -> Task:
    return Task("tasks", "backup", "uid-1", 1, {**SPEC, **spec})


def desired(parent: Task) -> list[Manifest]:
    return [each.manifest for kind in WORKLOAD.children for each in kind.all_desired(parent, Empty())]


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL))
def test_the_tutorial_quotes_the_example(block: str) -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in EXAMPLE.glob("*.py"))
    assert block in code


def test_the_blocks_and_what_the_tutorial_says_to_take_are_a_module() -> None:
    result = ast.parse((EXAMPLE / "scheduled_task.py").read_text(encoding="utf-8"))
    said = TUTORIAL.partition("Take from the result: the imports, ")[2].partition("\n\n")[0]
    names = set(re.findall(r"`(\w+)`", said))
    # A block that begins with a space is a part of a function.
    blocks = [ast.parse(block).body for block in re.findall(r"```python\n(\S.*?)```", TUTORIAL, re.DOTALL)]
    children = next(number for number, block in enumerate(blocks) if "CHILDREN" in _defined(block[0]))
    blocks.insert(children, [node for node in result.body if names & {*_defined(node)}])
    blocks.insert(0, [node for node in result.body if isinstance(node, ast.ImportFrom)])
    module = ast.Module([node for block in blocks for node in block], [])
    shown, whole = (_class(each, "ScheduledTasks") for each in (module, result))
    shown.body += [node for node in whole.body if names & {*_defined(node)}]
    made: dict[str, Any] = {"__name__": "assembled"}
    exec(compile(module, "assembled", "exec"), made)  # noqa: S102
    assert {name for name in dir(WORKLOAD) if not name.startswith("_")} <= {*dir(made["ScheduledTasks"]())}


def _class(module: ast.Module, name: str) -> ast.ClassDef:
    return next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [statement.name] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else []


def test_the_tutorial_has_a_complete_conftest() -> None:
    blocks = re.findall(r"`tests/conftest.py`:\n\n((?:    .*\n|\n)+)", TUTORIAL)
    assert len(blocks) == 1
    made: dict[str, Any] = {}
    exec(textwrap.dedent(blocks[0]), made)  # noqa: S102
    assert made["eventually"](lambda: "there", "an object", timeout=0.0) == "there"
    with pytest.raises(AssertionError, match=r"an object: not within 0\.0 s; the last result was None"):
        made["eventually"](lambda: None, "an object", timeout=0.0)
    assert {"cluster", "ControlPlane"} <= made.keys()
    lines: list[str] = []
    made["pytest_configure"](SimpleNamespace(addinivalue_line=lambda _, line: lines.append(line)))
    used = set(re.findall(r"@pytest\.mark\.(\w+)", COPIED_TEST.read_text(encoding="utf-8")))
    assert {line.partition(":")[0] for line in lines} == used, "the markers of the copied test"


def test_its_rights_have_the_role_that_a_refused_scrape_names() -> None:
    _, reader = documents(EXAMPLE / "rights.yaml")
    assert reader["metadata"]["name"] == f"{WORKLOAD.projector.manager}-metrics-reader"
    assert reader["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_it_may_delete_the_children_that_it_removes_and_no_others() -> None:
    role, _ = documents(EXAMPLE / "rights.yaml")
    may = {resource for rule in role["rules"] if "delete" in rule["verbs"] for resource in rule["resources"]}
    assert may == {kind.kind.plural for kind in WORKLOAD.children if kind.removal is not Removal.NEVER}


def test_it_stays_small() -> None:
    lines = (EXAMPLE / "scheduled_task.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 160


def test_its_children() -> None:
    config_map, cron_job = desired(task())
    assert config_map["data"] == {"GREETING": "hello"}
    assert cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"] == SPEC["args"]
    assert {manifest["metadata"]["labels"]["example.coxswain.dev/task"] for manifest in (config_map, cron_job)} == {
        "backup"
    }


def test_its_pods_run_one_after_the_other_and_are_restricted() -> None:
    spec = desired(task())[1]["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert violations(spec["jobTemplate"]["spec"]["template"]) == []


def test_its_pods_need_their_config() -> None:
    config_map, cron_job = WORKLOAD.children
    assert awaited(cron_job, None, {CONFIG_MAP: "ConfigMap backup"}) == "ConfigMap backup"
    assert config_map.removal is Removal.AT_ONCE
    assert cron_job.removal is Removal.NEVER


def test_a_child_that_is_retried_is_reported_as_one() -> None:
    for retried in (True, False):
        child = Child(CRON_JOB.kind, "backup", Health(Level.PROGRESSING, "Retrying", "x", retried=retried))
        assert WORKLOAD.pace(task(), Observations([ChildReport(child, None)])).retried is retried


def test_without_config_there_is_no_config_map() -> None:
    (cron_job,) = desired(task(config={}))
    container = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    assert "envFrom" not in container


def test_every_field_of_the_schema_has_an_effect_or_is_the_kernels() -> None:
    crd = document(EXAMPLE / "crd.yaml")
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    changed = {"schedule": "0 * * * *", "image": "other", "args": ["x"], "config": {"A": "b"}}
    for name, value in changed.items():
        assert desired(task(**{name: value})) != desired(task()), name
    assert fields.keys() - changed.keys() == {"paused", "conflicts"}


def test_its_status() -> None:
    made = WORKLOAD.status(task(), Observations([]), {}, "2026-01-01T00:00:00Z")
    assert {found["type"]: found["status"] for found in made["conditions"]}["Ready"] == "True"
    paused = WORKLOAD.status(task(paused=True), Observations([]), made, "2026-01-02T00:00:00Z")
    assert [found["reason"] for found in paused["conditions"] if found["type"] == "Progressing"] == ["Paused"]


def test_its_messages_name_its_own_operator() -> None:
    contested = Conflict(
        "CronJob/backup", "spec.schedule", ANOTHER_OPERATOR, Policy.ENFORCE, differs=True, contested=True
    )
    made = WORKLOAD.status(task(), Observations([], [contested]), {}, "2026-01-01T00:00:00Z")
    [message] = [found["message"] for found in made["conditions"] if found["type"] == "Contested"]
    assert "a second operator with the field manager scheduled-tasks serves this namespace" in message
    assert message.endswith("kubectl get deployments --all-namespaces -l app.kubernetes.io/name=scheduled-tasks")
    assert "each time scheduled-tasks enforces it" in message


def test_the_last_run_is_reported() -> None:
    assert cron_job_health(observed_as(CRON_JOB, {})).message == ""
    ran = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
    assert "2026-01-01" in cron_job_health(observed_as(CRON_JOB, ran)).message
