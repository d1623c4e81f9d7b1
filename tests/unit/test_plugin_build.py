"""`make plugin`: the same bytes from the same source, a program that starts alone, and a manifest that krew accepts."""

import ast
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.plugin import _MAIN, build, modules
from kubectl_coxswain import VERSION
from kubectl_coxswain.arguments import COMMANDS

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that is built."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


def test_two_builds_are_equal(dist: Path, tmp_path: Path) -> None:
    """The second one is built by another process, with another hash seed, in another folder and time zone."""
    code = f"from pathlib import Path; from demo.plugin import build; build(Path({str(tmp_path)!r}))"
    environment = {**os.environ, "PYTHONHASHSEED": "4", "TZ": "Asia/Tokyo", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, cwd=tmp_path)
    names = sorted(path.name for path in dist.iterdir())
    assert names == ["coxswain.yaml", "kubectl-coxswain", "kubectl-coxswain.tar.gz", "kubectl_complete-coxswain"]
    for name in names:
        assert (dist / name).read_bytes() == (tmp_path / name).read_bytes(), name


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the zipapp by an interpreter without site packages and environment."""
    return subprocess.run(
        [sys.executable, "-S", "-E", str(program), *words], capture_output=True, text=True, check=False, cwd="/"
    )


def test_the_zipapp_runs_alone(dist: Path) -> None:
    program = dist / "kubectl-coxswain"
    assert run(program, "version", "--client").stdout == f"Plugin:  {VERSION}\n"
    assert os.access(program, os.X_OK)
    assert program.read_bytes().startswith(b"#!/usr/bin/env python3\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_imported_from_the_zipapp(dist: Path, command: str) -> None:
    program = str(dist / "kubectl-coxswain")
    code = f"import sys; sys.path.insert(0, {program!r})\nimport kubectl_coxswain.commands.{command}"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_the_zipapp_has_no_part_of_the_operator_that_needs_more(dist: Path) -> None:
    with zipfile.ZipFile(dist / "kubectl-coxswain") as found:
        names = found.namelist()
    assert names == sorted(names)
    assert "coxswain/webapp/children/deployment.py" in names
    assert not [name for name in names if re.match(r"coxswain/(main|kernel/(api|watching|cache|manager))", name)]
    assert {path.name for path in modules()} >= {"__main__.py", "write_plan.py"}


def test_it_works_with_another_version_of_python(dist: Path, tmp_path: Path) -> None:
    """Bytecode of another version is ignored, and the source counts."""
    broken = tmp_path / "kubectl-coxswain"
    with zipfile.ZipFile(dist / "kubectl-coxswain") as found, zipfile.ZipFile(broken, "w") as changed:
        for name in found.namelist():
            content = found.read(name)
            changed.writestr(name, b"\0\0\0\0" + content[4:] if name.endswith(".pyc") else content)
    assert run(broken, "version", "--client").stdout == f"Plugin:  {VERSION}\n"


@pytest.mark.parametrize(("command", "code"), [("status", 1), ("plan", 2)])
def test_an_older_version_of_python_is_an_error_with_a_next_step(dist: Path, command: str, code: int) -> None:
    """`plan` ends with 2 after an error, because 1 reports differences."""
    program = str(dist / "kubectl-coxswain")
    script = (
        f"import runpy, sys; sys.version_info = (3, 9, 18); sys.argv = [{program!r}, {command!r}]\n"
        f"runpy.run_path({program!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-S", "-E", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == (
        "error: kubectl coxswain needs Python 3.11 or later, and python3 is Python 3.9.18\n"
        'next: put a later python3 first in PATH, or run it by hand: python3.11 "$(command -v kubectl-coxswain)"\n'
    )


def test_the_check_of_the_version_is_valid_in_older_versions() -> None:
    ast.parse(_MAIN, feature_version=(3, 5))


def test_without_portable_bytecode_there_is_the_source_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.14 stores constant slices in code objects, and marshal has them only from version 5."""

    def dumps(_: object, version: int) -> bytes:
        raise ValueError(f"unmarshallable object in version {version}")

    monkeypatch.setattr("marshal.dumps", dumps)
    build(tmp_path)
    with zipfile.ZipFile(tmp_path / "kubectl-coxswain") as found:
        assert not [name for name in found.namelist() if name.endswith(".pyc")]
    assert run(tmp_path / "kubectl-coxswain", "version", "--client").stdout == f"Plugin:  {VERSION}\n"


def manifest(dist: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((dist / "coxswain.yaml").read_text(encoding="utf-8"))
    return found


def test_the_krew_manifest(dist: Path) -> None:
    """See https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest for the fields."""
    found = manifest(dist)
    assert (found["apiVersion"], found["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert found["metadata"] == {"name": "coxswain"}
    assert set(found["spec"]) == {"version", "homepage", "shortDescription", "description", "caveats", "platforms"}
    assert re.fullmatch(r"v\d+\.\d+\.\d+", found["spec"]["version"])
    assert len(found["spec"]["shortDescription"]) <= 80
    (platform,) = found["spec"]["platforms"]
    assert platform["sha256"] == hashlib.sha256((dist / "kubectl-coxswain.tar.gz").read_bytes()).hexdigest()
    assert platform["uri"].startswith("https://")
    assert platform["uri"].endswith(f"/v{VERSION}/kubectl-coxswain.tar.gz")
    assert platform["bin"] == "kubectl-coxswain"


def test_the_archive_has_each_file_of_the_manifest(dist: Path) -> None:
    wanted = [each["from"] for each in manifest(dist)["spec"]["platforms"][0]["files"]]
    with tarfile.open(dist / "kubectl-coxswain.tar.gz") as tar:
        members = {member.name: member for member in tar.getmembers()}
        packed = tar.extractfile("kubectl-coxswain")
        assert packed is not None
        assert packed.read() == (dist / "kubectl-coxswain").read_bytes()
    assert sorted(wanted) == sorted(members)
    assert {(member.mtime, member.uid, member.uname) for member in members.values()} == {(0, 0, "")}
    assert members["kubectl-coxswain"].mode == members["kubectl_complete-coxswain"].mode == 0o755


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
    assert project["scripts"]["kubectl-coxswain"] == "kubectl_coxswain.__main__:main"
