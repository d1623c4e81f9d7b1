"""CI on GitHub: pinned actions, minimal rights, and only make targets."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.catalog import KIND

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
NODE_IMAGE = re.compile(r"kindest/node:v(\d+\.\d+)\.\d+@sha256:[0-9a-f]{64}")


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def workflow(path: Path) -> dict[str, Any]:
    # BaseLoader keeps the key `on` as a string. In YAML 1.1 it is a boolean.
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506
    return found


def test_every_action_is_pinned_by_its_commit_and_names_its_version(path: Path) -> None:
    lines = [line.strip(" -") for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    assert [line for line in lines if not PINNED.fullmatch(line)] == []


def test_one_action_has_one_commit() -> None:
    """Holds across all workflows: pins updated separately would diverge."""
    pins = {pin for path in WORKFLOWS for pin in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


def test_what_runs_are_make_targets(workflow: dict[str, Any]) -> None:
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        assert command.split()[0] == "make"
        assert _targets(command) <= TARGETS, f"no such target: {command}"


def test_the_workflow_tries_all_that_ci_run_tries(workflow: dict[str, Any]) -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    parts = re.findall(r"^ *(?:nice -n \d+ )?(make [^>\n]*)", script, re.MULTILINE)
    tried = set().union(*map(_targets, parts))
    assert {"check", "test", "slow", "simulate", "semantics", "faults-ci", "gateway-test", "kind-ci"} <= tried
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    there = set().union(*map(_targets, commands))
    assert "kind-test" in there, "it includes the tests of kind-ci"
    # Ubuntu 24.04 forbids network namespaces to users without privileges, and GitHub's jobs run as such a user.
    assert tried - there == {"gateway-test", "kind-ci"}


def test_the_oldest_version_that_is_promised_is_one_that_is_tried() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tried = min(re.findall(r'kubernetes: "(\d+\.\d+)"', text))
    for page in ("README.md", "docs/install.md"):
        promise = re.search(r"needs\s+Kubernetes\s+(\d+\.\d+) or later", (ROOT / page).read_text(encoding="utf-8"))
        assert promise is not None
        assert promise[1] == tried, page


def _targets(command: str) -> set[str]:
    """Return the targets of a make command, without its variables."""
    return {word for word in command.split()[1:] if "=" not in word}


def test_rights_time_and_number_are_limited(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for name, job in workflow["jobs"].items():
        assert "permissions" not in job, name
        assert int(job["timeout-minutes"]) <= 60, name


def test_the_images_of_the_nodes_are_those_of_the_kind_that_is_used() -> None:
    """Three minors with the digests from kind's release notes: a node image belongs to one release of kind."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert f"The images of kind {KIND.version}," in text
    include = yaml.safe_load(text)["jobs"]["kind"]["strategy"]["matrix"]["include"]
    found = [(one["kubernetes"], NODE_IMAGE.fullmatch(one["image"])) for one in include]
    assert len({minor for minor, _ in found}) == 3
    assert all(image is not None and image[1] == minor for minor, image in found)
